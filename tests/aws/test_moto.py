"""Whole EKS stacks on moto: every reference exists, every parameter is AWS's, and nothing is left behind."""

import json
from typing import Any

import pytest
import yaml

from tests.aws.adapters import ADAPTERS, BOTOCORE, MOTO, snapshot
from tests.aws.deployment import Deployment, deploy, moto_account
from tests.project import PROJECT

BLOCK = "cr-0123456789abcdef0"
LIVE_BLOCK = {
    "availabilityZone": "us-east-2b",
    "instanceType": "p6-b200.48xlarge",
    "instanceCount": 1,
    "startDate": "2026-12-01T11:30:00Z",
    "endDate": "2026-12-08T11:30:00Z",
    "state": "active",
}


def stack_config(stack: str) -> dict[str, Any]:
    content = yaml.safe_load((PROJECT / f"Pulumi.{stack}.yaml").read_text())
    return {key.removeprefix("dynamo-gpt-oss:"): value for key, value in content["config"].items()}


def test_prod_comes_up_on_moto_and_leaves_nothing_but_what_it_retains() -> None:
    with moto_account("us-east-2", blocks={BLOCK: LIVE_BLOCK}) as account:
        empty = snapshot(account)
        deployment = deploy(account, stack_config("prod"), "prod")
        (name,) = snapshot(account)["cluster"]
        assert name == deployment.outputs["cluster"]
        pools = account.call("eks", "ListNodegroups", clusterName=name)["nodegroups"]
        assert sorted(pools) == ["dynamo-prod-cpu", "gpu-nodes"]
        deployment.destroy()
        left = snapshot(account)
        kept = [state for key, (_, state) in deployment.state.items() if key in deployment.retained]
        assert len(left.pop("file system")) == len(kept)
        assert left == {key: value for key, value in empty.items() if key != "file system"}


def test_everything_else_that_a_cluster_can_have() -> None:
    """Access entries, a public endpoint for named ranges, nodes in a placement group, Lustre, an end, a budget."""
    config = {
        "target": "trtllm-disagg-b200",
        "cluster": {
            "kind": "eks",
            "region": "us-east-2",
            "zones": ["us-east-2a", "us-east-2c"],
            "publicAccessFrom": ["203.0.113.0/24"],
            "admins": ["arn:aws:iam::123456789012:role/ml-platform"],
            "budget": {"usdPerMonth": 500, "notify": ["ml@example.com", "finance@example.com"]},
        },
        "pool": {"nodes": 2, "zones": ["us-east-2b"]},
        "cache": {"kind": "fsx", "size": "1200Gi"},
        "tags": {"ttl": "72h"},
    }
    with moto_account("us-east-2") as account:
        empty = snapshot(account)
        deployment = deploy(account, config)
        zones = {subnet["AvailabilityZone"] for subnet in account.subnets(*_cluster(deployment)["subnetIds"])}
        assert zones == {"us-east-2a", "us-east-2c"}
        assert _cluster(deployment)["publicAccessCidrs"] == ["203.0.113.0/24"]
        (rights,) = deployment.of_type("aws:iam/rolePolicy:RolePolicy").values()
        arn = _arn(deployment)
        assert {statement["Resource"] for statement in json.loads(rights["policy"])["Statement"]} == {
            arn,
            f"{arn.replace(':cluster/', ':nodegroup/')}/*",
        }, "a stack of the same name in another cluster is none of its business"
        assert snapshot(account)["budget"] == ["budget"]
        kept = {kind for kind, _ in account.beside}
        assert kept == {"addon", "access-entry", "access-policy", "placement-group", "pod-identity"}
        pool = deployment.of_type("aws:eks/nodeGroup:NodeGroup")["gpu-nodes"]
        (subnet,) = account.subnets(*pool["subnetIds"])
        assert subnet["AvailabilityZone"] == "us-east-2b", "the pool's zone is guaranteed a subnet"
        deployment.destroy()
        assert snapshot(account) == empty


def _cluster(deployment: Deployment) -> dict[str, Any]:
    (cluster,) = deployment.of_type("aws:eks/cluster:Cluster").values()
    network: dict[str, Any] = cluster["vpcConfig"]
    return network


def _arn(deployment: Deployment) -> str:
    (cluster,) = deployment.of_type("aws:eks/cluster:Cluster").values()
    return str(cluster["arn"])


@pytest.fixture(scope="module")
def prod() -> Any:
    with moto_account("us-east-2", blocks={BLOCK: LIVE_BLOCK}) as account:
        yield deploy(account, stack_config("prod"), "prod")


def test_every_aws_type_says_how_it_was_checked(prod: Deployment) -> None:
    used = {resource.type for resource in prod.resources if resource.type.startswith("aws:")}
    assert {token: ADAPTERS[token].check for token in used if ADAPTERS[token].check == BOTOCORE} == {
        "aws:eks/addon:Addon": BOTOCORE,
        "aws:eks/podIdentityAssociation:PodIdentityAssociation": BOTOCORE,
    }
    assert {ADAPTERS[token].check for token in used} == {MOTO, BOTOCORE}


def test_the_kubeconfig_holds_no_credential(prod: Deployment) -> None:
    (user,) = json.loads(prod.outputs["kubeconfig"])["users"]
    assert set(user["user"]) == {"exec"}
    name = prod.outputs["cluster"]
    assert user["user"]["exec"]["args"][:4] == ["eks", "get-token", "--cluster-name", name]


def test_the_blocks_window_is_shown(prod: Deployment) -> None:
    assert prod.outputs["capacityBlock"] == {
        "start": LIVE_BLOCK["startDate"], "end": LIVE_BLOCK["endDate"], "state": "active"
    }  # fmt: skip


def test_the_pool_is_in_the_reservations_zone_alone(prod: Deployment) -> None:
    pool = prod.of_type("aws:eks/nodeGroup:NodeGroup")["gpu-nodes"]
    (subnet,) = prod.account.subnets(*pool["subnetIds"])
    assert subnet["AvailabilityZone"] == "us-east-2b"


def test_nodes_reach_the_control_plane_and_each_other(prod: Deployment) -> None:
    cluster = prod.of_type("aws:eks/cluster:Cluster")["dynamo-prod"]["vpcConfig"]["clusterSecurityGroupId"]
    made, _ = prod.state["aws:ec2/securityGroup:SecurityGroup", "gpu-nodes-efa"]
    data = prod.of_type("aws:ec2/launchTemplate:LaunchTemplate")["gpu-nodes"]["data"]
    groups = [interface["Groups"] for interface in data["NetworkInterfaces"]]
    assert groups == [[cluster, made]] + [[made]] * 8
    group = prod.account.call("ec2", "DescribeSecurityGroups", GroupIds=[made])["SecurityGroups"][0]
    for direction in ("IpPermissions", "IpPermissionsEgress"):
        everything = [p for p in group[direction] if p["IpProtocol"] == "-1"]
        assert [pair["GroupId"] for p in everything for pair in p["UserIdGroupPairs"]] == [made]
    assert not [p for p in group["IpPermissions"] if p["IpRanges"]]
