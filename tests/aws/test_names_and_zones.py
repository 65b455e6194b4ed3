"""Names that nobody had before, and zones that the account has: chosen once, then kept."""

from typing import Any

import pulumi
import pytest

from ops.evaluate import evaluate
from ops.pulumi.stack_file import StackFile
from targets.capacity import placed_zones
from tests.aws.adapters import Account
from tests.aws.deployment import Deployment, deploy, moto_account
from tests.project import PROJECT

CLUSTER, LOGS = "aws:eks/cluster:Cluster", "aws:cloudwatch/logGroup:LogGroup"
SUBNET = "aws:ec2/subnet:Subnet"
CREATOR = "accessConfig.bootstrapClusterCreatorAdminPermissions"


def stack(region: str, **cluster: Any) -> dict[str, Any]:
    return {
        "target": "vllm-disagg-h100",
        "cluster": {"kind": "eks", "region": region, "publicAccessFrom": ["203.0.113.0/24"], **cluster},
        "tags": {"ttl": "24h"},
    }


def zones(deployment: Deployment) -> list[str]:
    private = {name: state for name, state in deployment.of_type(SUBNET).items() if "-private-" in name}
    return sorted(state["availabilityZone"] for state in private.values())


def deployed(region: str, account: Account, **cluster: Any) -> Deployment:
    account.also_offered = {"p5.48xlarge": tuple(f"{region}{letter}" for letter in "abcd")}
    return deploy(account, stack(region, **cluster))


def test_a_second_life_meets_nothing_of_the_first() -> None:
    """EKS writes late logs after its cluster's end, and so makes the deleted log group again."""
    with moto_account("us-east-2") as account:
        first = deployed("us-east-2", account)
        (logs,) = first.of_type(LOGS).values()
        (made,) = first.of_type(CLUSTER).values()
        assert logs["name"] == f"/aws/eks/{made['name']}/cluster"
        first.destroy()
        account.call("logs", "CreateLogGroup", logGroupName=logs["name"])
        second = deployed("us-east-2", account)
        (again,) = second.of_type(CLUSTER).values()
        assert again["name"] != made["name"]
        assert again["name"].startswith("dynamo-test-")
        second.destroy()


def test_a_name_is_chosen_once() -> None:
    with moto_account("us-east-2") as account:
        made = deployed("us-east-2", account)
        kept = {key[0]: names for key, names in made.ignored.items() if key[0] in (CLUSTER, LOGS)}
        assert kept == {CLUSTER: ["name", CREATOR], LOGS: ["name"]}
        made.destroy()
        said = deployed("us-east-2", account, name="mine")
        assert said.of_type(CLUSTER)["mine"]["name"] == "mine"
        kept = {key[0]: names for key, names in said.ignored.items() if key[0] in (CLUSTER, LOGS)}
        assert kept == {CLUSTER: [CREATOR], LOGS: []}


def test_zones_that_the_account_lacks_are_others_and_stay_those() -> None:
    with moto_account("ap-northeast-1") as account:
        account.lacks = ("ap-northeast-1b",)
        made = deployed("ap-northeast-1", account)
        assert zones(made) == ["ap-northeast-1a", "ap-northeast-1c", "ap-northeast-1d"]
        private = [names for (type_, name), names in made.ignored.items() if type_ == SUBNET]
        assert private == [["cidrBlock", "availabilityZone"]] * 6
        pool = made.of_type("aws:eks/nodeGroup:NodeGroup")["gpu-nodes"]
        assert len(pool["subnetIds"]) == 1, "one zone, next to nothing crosses zones"
        assert made.ignored["aws:eks/nodeGroup:NodeGroup", "gpu-nodes"] == ["subnetIds"]


def test_an_account_with_too_few_zones_is_told_to_name_them() -> None:
    with moto_account("us-east-2") as account:
        account.lacks = ("us-east-2b",)
        with pytest.raises(pulumi.RunError) as refused:
            deployed("us-east-2", account)
        assert str(refused.value) == (
            "zones: missing, and this account has no 3 zones that EKS takes, only us-east-2a, "
            "us-east-2c; name two or more of them"
        )
        assert zones(deployed("us-east-2", account, zones=["us-east-2a", "us-east-2c"])) == [
            "us-east-2a", "us-east-2c"
        ]  # fmt: skip


@pytest.mark.parametrize(("offered", "placed"), [
    ("abc", {"a": "a", "b": "b", "c": "c"}),
    ("acd", {"a": "a", "b": "d", "c": "c"}),
    ("def", {"a": "d", "b": "e", "c": "f"}),
    ("ad", {"a": "a", "b": "d"}),
])  # fmt: skip
def test_a_zone_that_is_there_is_taken_for_itself(offered: str, placed: dict[str, str]) -> None:
    assert placed_zones("abc", offered) == placed


def test_a_local_zone_is_opened_before_anything_is_put_there() -> None:
    resources = evaluate(PROJECT, StackFile.load(PROJECT, "agg-gb200")).resources
    (group,) = [r for r in resources if r.type.endswith(":AvailabilityZoneGroup")]
    (subnet,) = [r for r in resources if r.type == SUBNET and r.name.endswith("-dfw-2a")]
    assert group.inputs == {"groupName": "us-east-1-dfw-2", "optInStatus": "opted-in"}
    assert group.urn in subnet.dependencies
