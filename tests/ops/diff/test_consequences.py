"""What `ops diff` tells that only providers and hooks would know: replacements on AWS, and what follows."""

from collections.abc import Mapping
from typing import Any

import pytest

from ops.diff.changes import Action, DiffFormat, ResourceChange
from ops.diff.compare import resource_changes
from ops.diff.diff import StackDiff, render
from ops.diff.price_change import price_change
from ops.diff.replacements import AWS
from ops.evaluate import UNKNOWN, evaluate
from ops.pulumi.stack_file import StackFile, stacks
from targets.timeline import Copy, Setting, our_order
from tests.project import PROJECT

SETTINGS = {"gpu-nodes": Setting(gpus=8)}
GROUP, TEMPLATE, SUBNET = "eks/nodeGroup:NodeGroup", "ec2/launchTemplate:LaunchTemplate", "ec2/subnet:Subnet"


def resource(
    kind: str, name: str, inputs: Mapping[str, Any], needs: Mapping[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    """On AWS. needs: resource by the property that is its output."""
    return {
        "urn": f"urn:pulumi:s::p::aws:{kind}::{name}",
        "type": f"aws:{kind}",
        "name": name,
        "parent": "",
        "inputs": dict(inputs),
        "propertyDependencies": {key: [f"urn:pulumi:s::p::aws:{urn}"] for key, urn in (needs or {}).items()},
        "options": {},
        **more,
    }


def pool(
    *,
    nodes: int = 2,
    subnet: str = "a",
    disk: int = 200,
    tags: str = "x",
    guarded: bool = False,
    cidr: str = "10.0.0.0/24",
) -> dict[str, Any]:
    """A GPU pool with what it hangs on, as a synth has them."""
    group = resource(
        GROUP,
        "gpu-nodes",
        {
            "labels": {"nvidia.com/gpu.present": "true"},
            "scalingConfig": {"desiredSize": nodes},
            "launchTemplate": {"id": UNKNOWN, "version": UNKNOWN},
            "subnetIds": [UNKNOWN],
        },
        {"launchTemplate": f"{TEMPLATE}::t", "subnetIds": f"{SUBNET}::{subnet}"},
        options={"hooks": {"before_update": ["gpu-nodes-upgrade"]}} if guarded else {},
    )
    return {
        "resources": [
            resource(SUBNET, "a", {"cidrBlock": cidr}),
            resource(SUBNET, "b", {"cidrBlock": "10.0.1.0/24"}),
            resource(TEMPLATE, "t", {"disk": disk, "tags": {"owner": tags}}),
            group,
        ]
    }


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, ResourceChange]:
    return {change.name: change for change in resource_changes(before, after, SETTINGS)}


def test_every_type_of_aws_in_every_stack_is_in_the_table() -> None:
    used = {
        each.type.removeprefix("aws:")
        for stack in stacks(PROJECT)
        for each in evaluate(PROJECT, StackFile.load(PROJECT, stack)).resources
        if each.type.startswith("aws:") and not each.read
    }
    assert {"eks/nodeGroup:NodeGroup", "efs/mountTarget:MountTarget"} <= used
    assert used <= AWS.keys()


def test_a_new_version_of_a_template_restarts_the_pool() -> None:
    found = changed(pool(), pool(disk=300))
    assert found["t"].action is found["gpu-nodes"].action is Action.UPDATE
    message = "restarts 2 GPU nodes, ~46 min without its graphs (by the timeline's assumptions)"
    assert found["gpu-nodes"].downtime == message
    assert found["gpu-nodes"].refused == ""
    shown = StackDiff(stack="prod", state="changed", resources=tuple(found.values()))
    assert f"        {message}\n" in render([shown], "main", DiffFormat.TEXT)
    assert f"  - **{message}**\n" in render([shown], "main", DiffFormat.MD)


def test_new_nodes_are_silent_as_long_as_their_pool_s_timeline_says() -> None:
    quick = Setting(gpus=8, cache="s3", copy=Copy.NODE, parallel_pull=True)
    (change,) = (
        each
        for each in resource_changes(pool(), pool(subnet="b"), {"gpu-nodes": quick})
        if each.name == "gpu-nodes"
    )
    minutes = our_order(quick.assumptions(), quick).paid_minutes
    assert f"makes 2 GPU nodes anew, ~{minutes:.0f} min without" in change.downtime


def test_a_block_s_running_nodes_are_refused_as_their_hook_would() -> None:
    change = changed(pool(guarded=True), pool(guarded=True, disk=300))["gpu-nodes"]
    assert change.refused == (
        "dynamo-gpt-oss:pool: the change needs new nodes, but 2 run in a Capacity Block that has no others; set "
        "pool.active to false and run `pulumi up`, then set it to true and run it again"
    )
    shown = render([StackDiff(stack="s", state="changed", resources=(change,))], "main", DiffFormat.MD)
    assert f"  - **`up` refuses this as things are: {change.refused}**\n" in shown
    assert "gpu-nodes" not in changed(pool(guarded=True, nodes=0), pool(guarded=True, nodes=0, tags="y"))


def test_a_template_s_own_tags_are_none_of_its_nodes() -> None:
    assert changed(pool(), pool(tags="y")).keys() == {"t"}


@pytest.mark.parametrize(
    ("after", "path"),
    [(pool(subnet="b"), "[computed] of b"), (pool(cidr="10.0.2.0/24"), "[computed] of a, made anew")],
)
def test_other_subnets_make_the_pool_anew(after: Mapping[str, Any], path: str) -> None:
    change = changed(pool(), after)["gpu-nodes"]
    assert (change.action, change.replaced_for) == (Action.REPLACE, ("subnetIds",))
    assert change.downtime == (
        "makes 2 GPU nodes anew, ~34 min without its graphs (by the timeline's assumptions)"
    )
    assert [field.after for field in change.fields] == [path]


def test_a_pool_of_size_0_costs_no_time() -> None:
    assert changed(pool(nodes=0), pool(nodes=0, disk=300))["gpu-nodes"].downtime == ""


def test_what_is_to_be_ignored_is_no_change() -> None:
    after = pool(subnet="b")
    after["resources"][-1]["options"] = {"ignoreChanges": ["subnetIds"]}
    (change,) = changed(pool(), after).values()
    assert change.action is Action.HANDLE
    assert [(field.path, field.after) for field in change.fields] == [("options.ignoreChanges", "subnetIds")]


def test_options_of_an_earlier_revision_are_unknown() -> None:
    base, head = pool(), pool()
    head["resources"][0]["options"] = {"retainOnDelete": True}
    assert changed(base, head)["a"].action is Action.HANDLE
    for each in base["resources"]:
        del each["options"]
    assert not changed(base, head)


def test_a_renamed_stack_and_an_alias_are_the_same_resource() -> None:
    base = {"resources": [resource(SUBNET, "0", {"cidrBlock": "10.0.0.0/24"})]}
    head = {"resources": [resource(SUBNET, "a", {"cidrBlock": "10.0.0.0/24"})]}
    assert {change.action for change in resource_changes(base, head, {})} == {Action.CREATE, Action.DELETE}
    (new,) = head["resources"]
    new["aliases"] = ["urn:pulumi:other::p::aws:ec2/subnet:Subnet::0"]
    new["urn"] = new["urn"].replace(":s::", ":other::")
    assert not resource_changes(base, head, {})


def test_children_of_a_renamed_component_are_found_again() -> None:
    def synth(name: str, **aliases: Any) -> dict[str, Any]:
        parent = f"urn:pulumi:s::p::x:Net::{name}"
        component = {"urn": parent, "type": "x:Net", "name": name, "parent": "", "inputs": {}} | aliases
        child = resource(
            SUBNET, "a", {}, urn="urn:pulumi:s::p::x:Net$aws:ec2/subnet:Subnet::a", parent=parent
        )
        return {"resources": [component, child]}

    assert not resource_changes(synth("old"), synth("new", aliases=["urn:pulumi:s::p::x:Net::old"]), {})


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ({"a": 1.5}, {"a": 1.5, "b": 113.9}, "costs 1.50 → 115.40 USD/h"),
        ({"a": 1.5}, {"a": 1.5, "b": "unknown"}, "costs 1.50 → 1.50 + unknown USD/h"),
        ({}, {"a": 1.5}, "costs nothing → 1.50 USD/h"),
        ({"a": 1.5}, {"a": 1.5}, ""),
    ],
)
def test_the_price_before_and_after(before: Any, after: Any, message: str) -> None:
    outputs = [{"cost": {"perHourByPart": parts}} if parts else {} for parts in (before, after)]
    assert price_change(*outputs) == message
