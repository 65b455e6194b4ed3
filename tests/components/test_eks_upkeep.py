"""What an EKS cluster of the stack's own costs over time: versions, nodes' updates, tags, and what outlives what."""

import json
import re
from typing import Any

import pulumi
import pytest

from ops.diff.compare import resource_changes
from ops.evaluate import Evaluation, Resource, evaluate
from ops.pulumi.stack_file import StackFile
from ops.synth import describe
from stacks.settings import ConfigError
from stacks.wiring import eks as wiring_eks
from targets.timeline import Setting
from tests import plans
from tests.project import PROJECT

B200 = {"target": "trtllm-disagg-b200", "cluster": {"kind": "eks", "region": "us-east-2"}}
SETTINGS = {"gpu-nodes": Setting(gpus=8)}
OF_NODES = {"aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/nodeGroup:NodeGroup"}


def synth(config: dict[str, Any]) -> Evaluation:
    return plans.evaluated("s", **config)


def cluster(**said: Any) -> dict[str, Any]:
    return {**B200, "cluster": {**B200["cluster"], **said}}  # type: ignore[dict-item]


def of_type(evaluation: Evaluation, token: str) -> dict[str, Resource]:
    return {r.name: r for r in evaluation.resources if r.type == token}


@pytest.fixture(scope="module")
def plain() -> Evaluation:
    return synth(B200)


@pytest.mark.parametrize("change", [
    {"tags": {"owner": "somebody", "ttl": "72h", "more": {"team": "a"}}},
    {"target": "trtllm-disagg-8k"},
])  # fmt: skip
def test_another_owner_end_or_target_touches_no_node(plain: Evaluation, change: dict[str, Any]) -> None:
    changed = resource_changes(describe(plain), describe(synth(B200 | change)), SETTINGS)
    assert changed, "the change does something"
    assert not [f"{each.action} {each.name}" for each in changed if each.type in OF_NODES]


def test_gpu_nodes_are_updated_in_place_of_themselves(plain: Evaluation) -> None:
    group = of_type(plain, "aws:eks/nodeGroup:NodeGroup")["gpu-nodes"]
    assert group.inputs["updateConfig"] == {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}


def test_the_way_out_is_there_until_the_cluster_is_gone(plain: Evaluation) -> None:
    way_out = {
        r.urn
        for r in plain.resources
        if r.type.rpartition(":")[2] in ("Route", "RouteTableAssociation", "VpcEndpoint", "NatGateway")
    }
    assert len(way_out) == 2 + 6 + 1 + 1
    (component,) = [r for r in plain.resources if r.type == "dynamo-gpt-oss:index:EksCluster"]
    assert way_out <= set(component.dependencies)


def test_every_zone_of_a_volume_has_a_node(plain: Evaluation) -> None:
    group = of_type(plain, "aws:eks/nodeGroup:NodeGroup")["dynamo-s-cpu"]
    assert group.inputs["scalingConfig"]["desiredSize"] == len(group.inputs["subnetIds"]) == 3
    few = of_type(synth(cluster(cpuNodes=2)), "aws:eks/nodeGroup:NodeGroup")["dynamo-s-cpu"]
    assert few.inputs["scalingConfig"]["desiredSize"] == len(few.property_dependencies["subnetIds"]) == 2


def test_aws_never_charges_for_an_old_release_unless_it_may(plain: Evaluation) -> None:
    def made(evaluation: Evaluation) -> dict[str, Any]:
        return dict(of_type(evaluation, "aws:eks/cluster:Cluster")["dynamo-s"].inputs)

    assert made(plain)["upgradePolicy"] == {"supportType": "STANDARD"}
    assert made(synth(cluster(extendedSupport=True)))["upgradePolicy"] == {"supportType": "EXTENDED"}


def versions_held(evaluation: Evaluation) -> dict[str, Resource]:
    """What AWS answered once, but for the name that the stack had then."""
    found = of_type(evaluation, "pulumi:index:Stash")
    return {name: each for name, each in found.items() if name != "named-after"}


def test_only_a_stack_whose_cluster_bears_its_name_holds_it() -> None:
    assert "named-after" in of_type(synth(cluster()), "pulumi:index:Stash")
    assert "named-after" not in of_type(synth(cluster(name="ours")), "pulumi:index:Stash")


def test_another_name_of_the_stack_is_refused() -> None:
    wiring_eks._refuse_rename("s", "s")
    with pytest.raises(pulumi.RunError, match="called first, first; as s it would make all of them anew"):
        wiring_eks._refuse_rename("s", "first")


def test_nodes_and_addons_have_versions_that_move_by_one_key(plain: Evaluation) -> None:
    groups, addons = (of_type(plain, f"aws:eks/{kind}") for kind in ("nodeGroup:NodeGroup", "addon:Addon"))
    assert {group.inputs["version"] for group in groups.values()} == {"1.35"}
    held = versions_held(plain)
    assert len(held) == len(groups) + len(addons) == 2 + 6
    for resource, field in [
        *((group, "releaseVersion") for group in groups.values()),
        *((addon, "addonVersion") for addon in addons.values()),
    ]:
        (source,) = resource.property_dependencies[field]
        assert source in {each.urn for each in held.values()}, resource.name
    moved = versions_held(synth(cluster(updated="2026-12-01")))
    assert not moved.keys() & held.keys(), "another key asks AWS again"
    assert len(moved) == len(held)


def test_volumes_and_interfaces_can_be_found_by_the_stacks_tag(plain: Evaluation) -> None:
    addons = of_type(plain, "aws:eks/addon:Addon")
    tags = {"project": "dynamo-gpt-oss", "stack": "s"}
    volumes = json.loads(addons["dynamo-s-aws-ebs-csi-driver"].inputs["configurationValues"])
    assert volumes == {"controller": {"extraVolumeTags": tags}}
    interfaces = json.loads(addons["dynamo-s-vpc-cni"].inputs["configurationValues"])
    assert json.loads(interfaces["env"]["ADDITIONAL_ENI_TAGS"]) == tags


def test_broken_nodes_are_replaced(plain: Evaluation) -> None:
    assert "dynamo-s-eks-node-monitoring-agent" in of_type(plain, "aws:eks/addon:Addon")
    for group in of_type(plain, "aws:eks/nodeGroup:NodeGroup").values():
        assert group.inputs["nodeRepairConfig"] == {"enabled": True}, group.name


def test_what_is_protected_is_refused_before_anything_goes(plain: Evaluation) -> None:
    kept = of_type(synth(cluster(deletionProtection=True)), "aws:eks/cluster:Cluster")["dynamo-s"]
    assert (kept.protect, kept.inputs["deletionProtection"]) == (True, True)
    free = of_type(plain, "aws:eks/cluster:Cluster")["dynamo-s"]
    assert (free.protect, free.inputs["deletionProtection"]) == (False, False)


@pytest.mark.parametrize("said", [False, True])
def test_session_manager_reaches_nodes_where_it_may(said: bool) -> None:
    attached = of_type(synth(cluster(ssm=said)), "aws:iam/rolePolicyAttachment:RolePolicyAttachment").values()
    holders = {r.name for r in attached if r.inputs["policyArn"].endswith("/AmazonSSMManagedInstanceCore")}
    assert len(holders) == (2 if said else 0)


def test_disks_that_hold_images_are_fast(plain: Evaluation) -> None:
    (cpu,), (gpu,) = (
        of_type(plain, "aws:ec2/launchTemplate:LaunchTemplate")[name].inputs["blockDeviceMappings"]
        for name in ("dynamo-s-cpu", "gpu-nodes")
    )
    assert (cpu["ebs"]["iops"], cpu["ebs"]["throughput"]) == (6000, 600)
    assert not {"iops", "throughput"} & gpu["ebs"].keys(), "its images are on NVMe"


def test_a_local_zones_subnet_is_none_for_load_balancers() -> None:
    evaluation = evaluate(PROJECT, StackFile.load(PROJECT, "agg-gb200"))
    private = {
        name: r.inputs["tags"].keys()
        for name, r in of_type(evaluation, "aws:ec2/subnet:Subnet").items()
        if "-private-" in name
    }
    tagged = {name for name, tags in private.items() if "kubernetes.io/role/internal-elb" in tags}
    assert private.keys() - tagged == {"dynamo-agg-gb200-private-us-east-1-dfw-2a"}


def test_the_vpcs_default_group_lets_nothing_through(plain: Evaluation) -> None:
    (group,) = of_type(plain, "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup").values()
    assert not {"ingress", "egress"} & group.inputs.keys()


@pytest.mark.parametrize(("region", "partition"), [("us-east-2", "aws"), ("us-gov-west-1", "aws-us-gov")])
def test_policies_are_of_the_regions_partition(region: str, partition: str) -> None:
    config = {**cluster(region=region), "target": "mocker-disagg-cpu"}
    policies = of_type(synth(config), "aws:iam/rolePolicyAttachment:RolePolicyAttachment").values()
    assert {r.inputs["policyArn"].split(":")[1] for r in policies} == {partition}


def test_a_budget_counts_the_stacks_tag_and_writes_in_time(plain: Evaluation) -> None:
    assert not of_type(plain, "aws:budgets/budget:Budget"), "an option"
    said = {"usdPerMonth": 1500, "notify": ["ml@example.com"]}
    evaluation = synth(cluster(budget=said))
    (budget,) = of_type(evaluation, "aws:budgets/budget:Budget").values()
    assert (budget.inputs["limitAmount"], budget.inputs["timeUnit"]) == ("1500.00", "MONTHLY")
    # The provider's name for the tag that everything of the stack has.
    (provider,) = of_type(evaluation, "pulumi:providers:aws").values()
    tagged = json.loads(provider.inputs["defaultTags"])["tags"]["stack"]
    assert budget.inputs["costFilters"] == [{"name": "TagKeyValue", "values": [f"user:stack${tagged}"]}]
    written = {
        each["notificationType"]: (each["threshold"], each["subscriberEmailAddresses"])
        for each in budget.inputs["notifications"]
    }
    assert written == {"ACTUAL": (80, said["notify"]), "FORECASTED": (100, said["notify"])}


@pytest.mark.parametrize(("said", "key"), [
    ({"usdPerMonth": 0, "notify": ["ml@example.com"]}, "cluster.budget.usdPerMonth"),
    ({"usdPerMonth": 9, "notify": ["nobody"]}, "cluster.budget.notify"),
    ({"usdPerMonth": 9, "notify": []}, "cluster.budget.notify"),
])  # fmt: skip
def test_a_budget_that_aws_would_refuse_is_refused(said: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"dynamo-gpt-oss:{key}")):
        synth(cluster(budget=said))


def test_a_large_limit_is_not_written_as_a_power_of_ten() -> None:
    (budget,) = of_type(
        synth(cluster(budget={"usdPerMonth": 1234567.5, "notify": ["ml@example.com"]})),
        "aws:budgets/budget:Budget",
    ).values()
    assert float(budget.inputs["limitAmount"]) == 1234567.5
    assert "e" not in budget.inputs["limitAmount"]


@pytest.mark.parametrize("stack", ["a.b", "l" * 31])
def test_a_stack_whose_name_no_cluster_can_bear_is_asked_for_another(stack: str) -> None:
    with pytest.raises(pulumi.RunError, match=r"^dynamo-gpt-oss:cluster\.name: missing, and"):
        wiring_eks._default_name(stack)
    assert wiring_eks._default_name("l" * 30) == "dynamo-" + "l" * 30
