"""`ops leftovers`: what carries the stack's tags, or its cluster's, and is there."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import boto3
import pytest
import typer
from botocore.exceptions import ClientError
from moto import mock_aws
from typer.testing import CliRunner

from ops.aws import leftovers
from ops.aws.leftovers import LeftoversError, check, find
from ops.aws.own import Own
from ops.aws.still_there import is_there
from ops.deploy import deploy
from ops.pulumi.stack_file import StackFile
from ops.stack.stack import Stack
from stacks.load import parse
from stacks.plan import StackPlan

REGION, CLUSTER = "us-east-2", "dynamo-mine"
TAGS = {"project": "dynamo-gpt-oss", "stack": "mine"}
LIST = [{"Key": key, "Value": value} for key, value in TAGS.items()]


@pytest.fixture
def session() -> Iterator[Any]:
    with mock_aws():
        yield boto3.Session(region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test")


def specification(kind: str, tags: list[dict[str, str]]) -> list[dict[str, Any]]:
    return [{"ResourceType": kind, "Tags": tags}]


def volume(session: Any, tags: list[dict[str, str]]) -> str:
    made = session.client("ec2").create_volume(
        AvailabilityZone=f"{REGION}a", Size=1, TagSpecifications=specification("volume", tags)
    )
    return str(made["VolumeId"])


def of_a_claim(cluster: str, namespace: str) -> list[dict[str, str]]:
    """Tags that a cluster's EBS driver gives a volume."""
    said = {
        f"kubernetes.io/cluster/{cluster}": "owned",
        "kubernetes.io/created-for/pvc/namespace": namespace,
    }
    return [*LIST, *({"Key": key, "Value": value} for key, value in said.items())]


def names(session: Any) -> list[str]:
    return [arn.rpartition("/")[2] for arn in find(session, TAGS, CLUSTER)]


def test_an_account_without_the_stack_has_nothing_of_it(session: Any) -> None:
    volume(session, [{"Key": "project", "Value": "dynamo-gpt-oss"}, {"Key": "stack", "Value": "other"}])
    volume(session, [{"Key": f"kubernetes.io/cluster/{CLUSTER}-eu-1a2b3c4", "Value": "owned"}])
    assert find(session, TAGS, CLUSTER) == []


@pytest.mark.parametrize(
    "tags",
    [
        LIST,
        [{"Key": f"kubernetes.io/cluster/{CLUSTER}", "Value": "owned"}],
        [{"Key": f"kubernetes.io/cluster/{CLUSTER}-1a2b3c4", "Value": "owned"}],
        [{"Key": "KubernetesCluster", "Value": CLUSTER}],
        [{"Key": "KubernetesCluster", "Value": f"{CLUSTER}-1a2b3c4"}],
    ],
    ids=["the stack's", "its CSI driver's", "of a name chosen once", "an older driver's", "the same"],
)
def test_a_volume_is_left_until_it_is_deleted(session: Any, tags: list[dict[str, str]]) -> None:
    left = volume(session, tags)
    assert names(session) == [left]
    session.client("ec2").delete_volume(VolumeId=left)
    assert names(session) == []


def test_an_instance_that_is_terminated_is_not_left(session: Any) -> None:
    ec2 = session.client("ec2")
    image = ec2.register_image(Name="image")["ImageId"]
    made = ec2.run_instances(
        ImageId=image, InstanceType="m7i.4xlarge", MinCount=1, MaxCount=1,
        TagSpecifications=specification("instance", LIST),
    )["Instances"][0]["InstanceId"]  # fmt: skip
    assert made in names(session)
    ec2.terminate_instances(InstanceIds=[made])
    assert made not in names(session)


def test_a_key_that_waits_for_its_deletion_is_not_left(session: Any) -> None:
    kms = session.client("kms")
    made = kms.create_key(Tags=[{"TagKey": key, "TagValue": value} for key, value in TAGS.items()])[
        "KeyMetadata"
    ]
    assert names(session) == [made["KeyId"]]
    kms.schedule_key_deletion(KeyId=made["KeyId"], PendingWindowInDays=7)
    assert names(session) == []


def test_a_file_system_and_a_log_group_are_left(session: Any) -> None:
    efs, logs = session.client("efs"), session.client("logs")
    system = efs.create_file_system(CreationToken="t", Tags=LIST)["FileSystemId"]
    logs.create_log_group(logGroupName="/aws/eks/dynamo-mine/cluster", tags=TAGS)
    found = find(session, TAGS, CLUSTER)
    assert [arn.split(":")[2] for arn in found] == ["elasticfilesystem", "logs"]
    assert found[0].endswith(system)


def test_a_log_group_that_eks_made_again_without_a_tag_is_left(session: Any) -> None:
    logs = session.client("logs")
    for name in (f"{CLUSTER}-1a2b3c4", f"{CLUSTER}-other-1a2b3c4"):
        logs.create_log_group(logGroupName=f"/aws/eks/{name}/cluster")
    (found,) = find(session, TAGS, CLUSTER)
    assert found.endswith(f":log-group:/aws/eks/{CLUSTER}-1a2b3c4/cluster")


def test_the_tagging_service_is_not_believed_of_what_is_gone() -> None:
    with mock_aws():
        aws = boto3.Session(region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test")
        system = aws.client("efs").create_file_system(CreationToken="t")["FileSystemId"]
        point = aws.client("efs").create_access_point(ClientToken="t", FileSystemId=system)
        arn = point["AccessPointArn"]
        assert is_there(aws, arn)
        aws.client("efs").delete_access_point(AccessPointId=point["AccessPointId"])
        assert not is_there(aws, arn)
        gone = f"arn:aws:elasticloadbalancing:{REGION}:123456789012:loadbalancer/net/k8s/0123456789abcdef"
        assert not is_there(aws, gone)


def test_a_bucket_is_left_until_it_is_deleted(session: Any) -> None:
    s3 = session.client("s3")
    s3.create_bucket(Bucket="models", CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_bucket_tagging(Bucket="models", Tagging={"TagSet": LIST})
    assert find(session, TAGS, CLUSTER) == ["arn:aws:s3:::models"]
    s3.delete_bucket(Bucket="models")
    assert find(session, TAGS, CLUSTER) == []
    assert not is_there(session, "arn:aws:s3:::models"), "whatever the tagging service says"


def settings(**cluster: Any) -> tuple[StackFile, StackPlan]:
    said = {
        "target": "trtllm-disagg-b200",
        "cluster": {"kind": "eks", "region": REGION, **cluster},
        "cache": {"kind": "efs", "retain": True},
    }
    file = StackFile(project="dynamo-gpt-oss", stack="mine", config={}, secret_keys=frozenset())
    return file, parse(said, set())


def test_what_a_teardown_left_is_named_and_fails(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "aws_session", lambda *_: session)
    system = session.client("efs").create_file_system(CreationToken="t", Tags=LIST)["FileSystemId"]
    said: list[str] = []
    mine = Own(frozenset({system}), f"{CLUSTER}-1a2b3c4")
    check(*settings(), mine, said.append)
    assert [line.split()[0] for line in said] == ["kept"], "it is retained"
    assert said[0].endswith(system)
    left = volume(session, [{"Key": "KubernetesCluster", "Value": f"{CLUSTER}-1a2b3c4"}])
    with pytest.raises(
        LeftoversError, match=f"1 things with its tags are left.*{left}.*make leftovers STACK=mine"
    ):
        check(*settings(), mine, said.append)


def test_another_s_stack_of_the_same_name_is_not_left_of_this_one(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "aws_session", lambda *_: session)
    system = session.client("efs").create_file_system(CreationToken="theirs", Tags=LIST)["FileSystemId"]
    theirs = [
        volume(session, [*LIST, {"Key": f"kubernetes.io/cluster/{CLUSTER}-9f8e7d6", "Value": "owned"}]),
        volume(session, [{"Key": "KubernetesCluster", "Value": f"{CLUSTER}-9f8e7d6"}]),
    ]
    session.client("logs").create_log_group(logGroupName=f"/aws/eks/{CLUSTER}-9f8e7d6/cluster")
    said: list[str] = []
    check(*settings(), Own(cluster=f"{CLUSTER}-1a2b3c4"), said.append)
    assert [line.split()[0] for line in said] == ["other", "other"]
    assert any(theirs[0] in line for line in said)
    assert any(system in line for line in said)
    there = [each["VolumeId"] for each in session.client("ec2").describe_volumes()["Volumes"]]
    assert set(theirs) <= set(there)
    assert session.client("logs").describe_log_groups()["logGroups"]


@pytest.mark.parametrize("kind", ["s3", "efs"])
def test_what_the_stack_file_names_is_kept(session: Any, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """It has the stack's tags from an earlier life, and is in no state."""
    monkeypatch.setattr(leftovers, "aws_session", lambda *_: session)
    efs, s3 = session.client("efs"), session.client("s3")
    named = {"s3": "models", "efs": efs.create_file_system(CreationToken="t", Tags=LIST)["FileSystemId"]}
    s3.create_bucket(Bucket="models", CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_bucket_tagging(Bucket="models", Tagging={"TagSet": LIST})
    key = {"s3": "bucket", "efs": "fileSystem"}[kind]
    file, _ = settings()
    cluster = {"kind": "eks", "region": REGION}
    said_to_be = parse(
        {"target": "trtllm-disagg-b200", "cluster": cluster, "cache": {"kind": kind, key: named.pop(kind)}},
        set(),
    )
    said: list[str] = []
    check(file, said_to_be, Own(cluster=f"{CLUSTER}-1a2b3c4"), said.append)
    assert sorted(line.split()[0] for line in said) == ["kept", "other"]
    (other,) = [line for line in said if line.startswith("other")]
    (not_named,) = named.values()
    assert not_named in other
    assert other.endswith("not in this state: of an earlier life, or of another's stack of that name")


def test_what_is_made_again_behind_the_cluster_s_back_is_swept_up(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "aws_session", lambda *_: session)
    name = f"{CLUSTER}-1a2b3c4"
    made = volume(session, of_a_claim(name, "platform"))
    session.client("logs").create_log_group(logGroupName=f"/aws/eks/{name}/cluster")
    said: list[str] = []
    check(*settings(), Own(cluster=name, namespaces=frozenset({"platform"})), said.append)
    assert said == [
        f"deleted  log group /aws/eks/{name}/cluster, to which EKS had written once more",
        f"deleted  volume {made}, whose claim went with the cluster {name}",
    ]
    assert session.client("logs").describe_log_groups()["logGroups"] == []
    assert session.client("ec2").describe_volumes()["Volumes"] == []


def test_an_account_that_may_not_ask_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetResources")

    monkeypatch.setattr(leftovers, "find", refused)
    said: list[str] = []
    check(*settings(), Own(), said.append)
    (line,) = said
    assert line.startswith("AWS does not say what is left of mine: An error occurred (AccessDenied)")


@pytest.mark.parametrize("left", [[], ["arn:aws:ec2:us-east-2:123456789012:volume/vol-1"]])
def test_down_looks_once_the_stack_is_destroyed(monkeypatch: pytest.MonkeyPatch, left: list[str]) -> None:
    steps: list[str] = []
    file, said = settings()
    stack = Stack(file=file, full_name="mine", plan=said, embedded=False, own_nodes=False)

    def look(*_: Any) -> list[str]:
        steps.append("look")
        return left

    monkeypatch.setattr(leftovers, "find", look)
    monkeypatch.setattr(deploy, "require_pulumi", lambda _: None)
    monkeypatch.setattr("ops.doctor.check_account", lambda *_: None)
    monkeypatch.setattr("ops.pulumi.pending.mend", lambda *_, **__: None)
    monkeypatch.setattr("ops.pulumi.automation.open_stack", lambda *_, **__: None)
    monkeypatch.setattr("ops.pulumi.automation.export", lambda *_, **__: {})
    monkeypatch.setattr("ops.pulumi.automation.down", lambda *_: steps.append("destroy"))
    with pytest.raises(LeftoversError, match="volume/vol-1") if left else nullcontext():
        deploy.down(stack, lambda _: None)
    assert steps == ["destroy", "look"]


@pytest.mark.parametrize("stack, region", [("dev", None), ("smoke", "us-east-2")])
def test_for_programs_it_is_data(stack: str, region: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    left = ["arn:aws:ec2:us-east-2:123456789012:volume/vol-1"] if region else []
    monkeypatch.setattr(leftovers, "_left", lambda *_: left)
    app = typer.Typer()
    app.command()(leftovers.leftovers)
    done = CliRunner().invoke(app, ["--stack", stack, "--json"])
    assert json.loads(done.stdout) == {"stack": stack, "region": region, "left": left}
    assert done.exit_code == bool(left)
