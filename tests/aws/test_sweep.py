"""What `ops down` deletes behind a destroyed cluster, and what it leaves to whoever it belongs to."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from ops.aws import leftovers
from ops.aws.leftovers import LeftoversError, check
from ops.aws.own import Own, find_own
from ops.deploy import deploy
from ops.doctor import DoctorError
from ops.stack.stack import Stack as FoundStack
from tests.aws.adapters import snapshot
from tests.aws.engine import CLUSTER as CLUSTER_TYPE
from tests.aws.engine import Key, Stack
from tests.aws.lifecycle import account_of, config_of, left, take_down
from tests.aws.refusals import Refusal
from tests.aws.test_leftovers import CLUSTER, LIST, REGION, of_a_claim, settings, volume

NAME = f"{CLUSTER}-1a2b3c4"
GROUP = f"/aws/eks/{NAME}/cluster"
MINE = Own(cluster=NAME, region=REGION, namespaces=frozenset({"dynamo", "platform"}))
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with mock_aws():
        made = boto3.Session(region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test")
        monkeypatch.setattr(leftovers, "aws_session", lambda *_: made)
        made.client("logs").create_log_group(logGroupName=GROUP)
        yield made


def volumes(session: Any) -> list[str]:
    return [each["VolumeId"] for each in session.client("ec2").describe_volumes()["Volumes"]]


def groups(session: Any) -> list[str]:
    return [each["logGroupName"] for each in session.client("logs").describe_log_groups()["logGroups"]]


@pytest.mark.parametrize(
    "tags",
    [
        of_a_claim(NAME, "databases"),
        of_a_claim(NAME, "platform")[2:],
        of_a_claim(NAME, "platform")[:-1],
    ],
    ids=["in a namespace of their own", "of another driver", "whose claim is not known"],
)
def test_a_volume_that_somebody_else_keeps_is_named_and_stays(
    session: Any, tags: list[dict[str, str]]
) -> None:
    theirs, ours = volume(session, tags), volume(session, of_a_claim(NAME, "platform"))
    said: list[str] = []
    with pytest.raises(LeftoversError, match=f"1 things with its tags are left.*volume/{theirs}"):
        check(*settings(), MINE, said.append)
    assert volumes(session) == [theirs]
    assert any(line.startswith(f"deleted  volume {ours}") for line in said)


def test_a_name_that_is_said_may_have_been_another_cluster_s(session: Any) -> None:
    earlier = volume(session, of_a_claim("ours", "platform"))
    with pytest.raises(LeftoversError, match=f"volume/{earlier}"):
        check(*settings(name="ours"), Own(cluster="ours", namespaces=MINE.namespaces), lambda _: None)
    assert volumes(session) == [earlier]


def test_another_region_than_the_state_s_is_refused_first(monkeypatch: pytest.MonkeyPatch) -> None:
    file, said = settings(region="eu-west-3", publicAccessFrom=["198.51.100.7/32"])
    stack = FoundStack(file=file, full_name="mine", plan=said, embedded=False, own_nodes=False)
    arn = f"arn:aws:eks:{REGION}:123456789012:cluster/{NAME}"
    state = [
        {"type": "aws:ecr/repository:Repository", "outputs": {"arn": "arn:aws:ecr:eu-west-3:123456789012:r"}},
        {"type": CLUSTER_TYPE, "id": NAME, "outputs": {"arn": arn, "name": NAME}},
    ]
    monkeypatch.setattr(deploy, "require_pulumi", lambda _: None)
    monkeypatch.setattr("ops.pulumi.automation.open_stack", lambda *_, **__: None)
    exported = {"deployment": {"resources": state}}
    monkeypatch.setattr("ops.pulumi.automation.export", lambda *_, **__: exported)
    with pytest.raises(
        DoctorError, match=r"cluster\.region: eu-west-3, but the stack is in us-east-2; set it to us-east-2"
    ):
        deploy.down(stack, lambda _: None)


@pytest.mark.parametrize("there", [True, False])
def test_nothing_is_swept_up_unless_aws_says_that_the_cluster_is_gone(session: Any, there: bool) -> None:
    ours = volume(session, of_a_claim(NAME, "platform"))
    if there:
        session.client("eks").create_cluster(
            name=NAME, roleArn="arn:aws:iam::123456789012:role/r", resourcesVpcConfig={}
        )
    else:
        refuse(session, "eks.DescribeCluster", "AccessDeniedException")
    said: list[str] = []
    with pytest.raises(LeftoversError, match=f"volume/{ours}"):
        check(*settings(), MINE, said.append)
    assert said[0].startswith("nothing is swept up: ")
    assert volumes(session) == [ours]
    assert groups(session) == [GROUP]


def refuse(session: Any, operation: str, code: str) -> None:
    """AWS says no to the operation from here on."""

    def no(**_: Any) -> None:
        raise ClientError({"Error": {"Code": code, "Message": "no"}}, operation)

    session.events.register(f"provide-client-params.{operation}", no)


@pytest.mark.parametrize(
    ("operation", "code", "stays"),
    [
        ("ec2.DeleteVolume", "UnauthorizedOperation", "volume/vol-"),
        ("ec2.DescribeVolumes", "UnauthorizedOperation", None),
        ("logs.DeleteLogGroup", "AccessDeniedException", f"log-group:{GROUP}"),
    ],
)
def test_what_may_not_be_deleted_is_told_and_left(
    session: Any, operation: str, code: str, stays: str | None
) -> None:
    volume(session, of_a_claim(NAME, "platform"))
    refuse(session, operation, code)
    said: list[str] = []
    if stays:
        with pytest.raises(LeftoversError, match=stays):
            check(*settings(), MINE, said.append)
    else:
        check(*settings(), MINE, said.append)
        assert said[-1].startswith("AWS does not say what is left of mine")
    assert any(line.startswith("not swept up  ") and code in line for line in said)
    swept = "volume" if operation.startswith("logs") else "log group"
    assert any(line.startswith(f"deleted  {swept}") for line in said), "the others go on"


def test_a_volume_that_vanishes_meanwhile_is_no_error(session: Any) -> None:
    volume(session, of_a_claim(NAME, "platform"))
    refuse(session, "ec2.DeleteVolume", "InvalidVolume.NotFound")
    said: list[str] = []
    with pytest.raises(LeftoversError):  # in truth it is there
        check(*settings(), MINE, said.append)
    assert not any(line.startswith("not swept up") for line in said)


def test_a_cluster_s_name_outlives_it_in_the_state() -> None:
    outputs = {"cluster": NAME, "namespaces": ["dynamo", "kept"]}
    stack = {"type": "pulumi:pulumi:Stack", "outputs": outputs}
    assert find_own([stack]).cluster == NAME
    group = {"type": LOG_GROUP, "id": GROUP, "outputs": {"name": GROUP}}
    assert find_own([group]).cluster == NAME, "of an up that never came to its outputs"
    kept = {
        "type": "kubernetes:core/v1:Namespace",
        "inputs": {"metadata": {"name": "kept"}},
        "retainOnDelete": True,
    }
    assert find_own([stack, kept]).namespaces == {"dynamo"}


def test_where_no_name_is_known_nothing_is_another_s(session: Any) -> None:
    whose = volume(session, LIST)
    with pytest.raises(LeftoversError, match=f"2 things.*volume/{whose}"):
        check(*settings(), Own(), lambda _: None)


@pytest.mark.xdist_group("lifecycle")
def test_a_destroy_that_breaks_off_after_the_cluster_went_is_swept_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = config_of("disagg-b200")
    with account_of(config) as account:
        empty, stack = snapshot(account.account), Stack(account, "disagg-b200")
        stack.up(config)
        seen: list[Key] = []

        def break_off(what: str, key: Key) -> None:
            if key[0] == LOG_GROUP and key not in seen:
                seen.append(key)
                assert not any(token == CLUSTER_TYPE for token, _ in stack.state)
                raise account.no("broken off", f"{what} {key}: RequestLimitExceeded")

        monkeypatch.setattr(stack, "_break_off", break_off)
        with pytest.raises(Refusal):
            stack.down()
        take_down(stack)
        assert left(account, empty) == {}
