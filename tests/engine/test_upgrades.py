"""The real engine and the hook that keeps running nodes of a Capacity Block from being upgraded.

Simulated: the aws plugin echoes what it is asked for (echo_provider.py).
"""

from collections.abc import Mapping
from pathlib import Path

import pulumi
import pulumi_aws as aws
import pytest
from pulumi import automation

from components.nodes.gpu_node_pool import GpuNodePool
from components.nodes.gpu_node_pool_args import Capacity, GpuNodePoolArgs, JoinedCluster
from targets.capacity import CapacityKind
from tests.engine.conftest import Engine

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("engine")]
BLOCK = "cr-0123456789abcdef0"


def declare(*, running: bool, tags: Mapping[str, str]) -> None:
    provider = aws.Provider("aws", region="us-east-2")
    GpuNodePool(
        "gpu-nodes",
        GpuNodePoolArgs(
            cluster=JoinedCluster(
                name="there", vpc_id="vpc-0123456789abcdef0", security_group_id="sg-0123456789abcdef0"
            ),
            subnets={"us-east-2a": "subnet-0123456789abcdef0"},
            instance_type="p6-b200.48xlarge",
            nodes=2,
            active=running,
            capacity=Capacity(kind=CapacityKind.CAPACITY_BLOCK, reservation_id=BLOCK),
            tags=tags,
        ),
        pulumi.ResourceOptions(providers=[provider]),
    )


def node_group(stack: automation.Stack) -> tuple[str, float]:
    """Version of the launch template, and size."""
    resources = (stack.export_stack().deployment or {})["resources"]
    (inputs,) = [each["inputs"] for each in resources if each["type"] == "aws:eks/nodeGroup:NodeGroup"]
    return inputs["launchTemplate"]["version"], inputs["scalingConfig"]["desiredSize"]


def test_a_template_change_waits_until_the_pool_has_no_nodes(engine: Engine, tmp_path: Path) -> None:
    stack = automation.create_or_select_stack(
        "upgrades",
        project_name="pools",
        program=lambda: None,
        opts=automation.LocalWorkspaceOptions(work_dir=str(tmp_path), env_vars=engine.environment),
    )

    def up(*, running: bool, tags: Mapping[str, str]) -> tuple[str, float]:
        stack.up(program=lambda: declare(running=running, tags=tags))
        return node_group(stack)

    old, new = {"owner": "one"}, {"owner": "another"}
    assert up(running=True, tags=old) == ("1", 2)
    with pytest.raises(automation.CommandError, match=r"set gpu-nodes\.active to false and run"):
        up(running=True, tags=new)
    assert node_group(stack) == ("1", 2)
    assert up(running=False, tags=new) == ("1", 0)
    assert up(running=True, tags=new) == ("2", 2)
    stack.destroy()
