"""What of a state is a stack's own: another person may have things of the same name and tags."""

from typing import Any

from ops.aws.own import Own, find_own, tags_of

ACCOUNT = "123456789012"


def made(kind: str, arn: str = "", id_: str = "", **outputs: Any) -> dict[str, Any]:
    return {"type": kind, "id": id_, "outputs": {"arn": arn, **outputs}}


VPC = made("aws:ec2/vpc:Vpc", f"arn:aws:ec2:us-east-2:{ACCOUNT}:vpc/vpc-1", "vpc-1")
LOGS = made(
    "aws:cloudwatch/logGroup:LogGroup",
    f"arn:aws:logs:us-east-2:{ACCOUNT}:log-group:/aws/eks/ours/cluster",
    name="/aws/eks/ours/cluster",
)
CLUSTER = made(
    "aws:eks/cluster:Cluster", f"arn:aws:eks:us-east-2:{ACCOUNT}:cluster/ours", "ours", name="ours"
)


def namespace(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "kubernetes:core/v1:Namespace", "inputs": {"metadata": {"name": name}}, **more}


def test_what_is_in_the_state_is_found_by_its_arn_its_id_and_the_end_of_its_arn() -> None:
    own = find_own([VPC, CLUSTER])
    assert own.holds(VPC["outputs"]["arn"])
    assert own.holds(f"arn:aws:ec2:us-east-2:{ACCOUNT}:other/vpc-1")
    assert own.holds("arn:aws:something:::ours")
    assert not own.holds(f"arn:aws:ec2:us-east-2:{ACCOUNT}:vpc/vpc-2")


def test_what_a_stack_only_looks_up_is_not_its_own() -> None:
    own = find_own([{**VPC, "external": True}, {**CLUSTER, "external": True}])
    assert own == Own()


def test_a_destroy_that_was_broken_off_still_tells_its_cluster() -> None:
    """The cluster goes before its log group, and the stack's outputs last of all."""
    stack = {
        "type": "pulumi:pulumi:Stack",
        "outputs": {"cluster": "ours", "namespaces": ["dynamo", "monitoring"]},
    }
    assert find_own([CLUSTER, VPC]).cluster == "ours"
    assert find_own([LOGS, VPC]).cluster == "ours"
    assert find_own([VPC, stack]).cluster == "ours"
    assert find_own([stack]).namespaces == {"dynamo", "monitoring"}
    assert find_own([VPC]).cluster is None


def test_a_log_group_of_something_else_names_no_cluster() -> None:
    assert find_own([made("aws:cloudwatch/logGroup:LogGroup", name="/aws/codebuild/ours")]).cluster is None


def test_a_repository_in_another_region_does_not_move_the_stack() -> None:
    image = made("aws:ecr/repository:Repository", f"arn:aws:ecr:us-east-1:{ACCOUNT}:repository/dynamo")
    assert find_own([image, VPC]).region == "us-east-2"
    assert find_own([image]).region is None


def test_namespaces_that_outlive_the_stack_are_not_swept_with_it() -> None:
    """Volumes of claims in them are kept, too."""
    release = {
        "type": "kubernetes:helm.sh/v3:Release",
        "inputs": {"createNamespace": True, "namespace": "gpu-operator"},
    }
    beside = {"type": "kubernetes:helm.sh/v3:Release", "inputs": {"namespace": "kube-system"}}
    own = find_own([namespace("dynamo"), namespace("kept", retainOnDelete=True), release, beside])
    assert own.namespaces == {"dynamo", "gpu-operator"}


def test_a_name_that_begins_like_the_clusters_is_not_the_clusters() -> None:
    own = Own(cluster="ours")
    assert own.has_cluster_name({"kubernetes.io/cluster/ours": "owned"})
    assert own.has_cluster_name({"eks:cluster-name": "ours"})
    assert not own.has_cluster_name(
        {"eks:cluster-name": "ours-too", "kubernetes.io/cluster/ours-too": "owned"}
    )
    assert not Own().has_cluster_name({"eks:cluster-name": "ours"})


def test_tags_are_by_key() -> None:
    assert tags_of([{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]) == {"a": "1", "b": "2"}
