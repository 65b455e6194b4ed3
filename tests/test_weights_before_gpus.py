"""No GPU node can be bought before the weights are there: asked of the registered resources of every EKS stack, and of
stacks with several GPU pools.

A component waits for what it depends on before its children are registered, and is deleted after them. So a resource
comes after whatever it, or any component around it, depends on.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from manifests.names import DOWNLOAD_JOB
from ops.evaluate import Evaluation, Resource, evaluate
from ops.pulumi.stack_file import StackFile, stacks
from ops.synth import mask
from stacks.load import from_text
from stacks.plan import StackPlan
from stacks.pools import PoolPlan
from stacks.sections.cluster import AwsCluster
from targets.pool import Pool
from tests import plans
from tests.dependencies import before
from tests.project import PROJECT

BUYS = {"aws:eks/nodeGroup:NodeGroup", "aws:autoscaling/group:Group", "aws:ec2/instance:Instance"}
"""Resource types that make instances run."""
POOL = "dynamo-gpt-oss:index:GpuNodePool"


BLOCK = {"kind": "capacity-block", "reservationId": "cr-0123456789abcdef0"}
SEVERAL_POOLS: dict[str, dict[str, Any]] = {
    "block-and-others": {
        "target": "trtllm-disagg-b200",
        "cluster": {"kind": "eks", "region": "us-east-2"},
        "pool": {"zones": ["us-east-2a"], "capacity": BLOCK, "active": True},
        "pools": [{"name": "h100"}, {"name": "next-block", "zones": ["us-east-2b"], "capacity": BLOCK}],
        "graphs": [
            {"name": "vllm", "target": "vllm-disagg-h100", "pool": "h100"},
            {"name": "copy", "pool": "next-block"},
        ],
    },
    "main-pool-inactive": {
        "target": "vllm-disagg-h100",
        "cluster": {"kind": "eks", "region": "us-east-2"},
        "pool": {"active": False},
        "pools": [{"name": "b200", "zones": ["us-east-2c"], "capacity": BLOCK, "active": True}],
        "graphs": [{"name": "trtllm", "target": "trtllm-disagg-b200", "pool": "b200"}],
    },
}
"""Stacks beside those of the project, each with pools that wait for different things."""


def stack_file(stack: str) -> StackFile:
    if stack not in SEVERAL_POOLS:
        return StackFile.load(PROJECT, stack)
    return plans.stack_file(stack, **SEVERAL_POOLS[stack])


@cache
def plan_of(stack: str) -> StackPlan:
    file = stack_file(stack)
    return from_text(file.config, set(file.secret_keys))


@cache
def evaluation_of(stack: str) -> Evaluation:
    return evaluate(PROJECT, stack_file(stack))


def buys_gpus(stack: str) -> bool:
    checked = plan_of(stack)
    return isinstance(checked.cluster, AwsCluster) and bool(checked.main_pool.instance.gpus)


EKS = [*filter(buys_gpus, stacks(PROJECT)), *SEVERAL_POOLS]
POOLS = [(stack, each) for stack in EKS for each in plan_of(stack).pools]
PREPAID = [(stack, each) for stack, each in POOLS if each.capacity.kind.prepaid]
BOUGHT_LATE = [(stack, each) for stack, each in POOLS if (stack, each) not in PREPAID]


def each_pool(pools: list[tuple[str, PoolPlan]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("stack", "pool"), pools, ids=[f"{stack}-{each.pool.name}" for stack, each in pools]
    )


def by_urn(stack: str) -> dict[str, Resource]:
    return {resource.urn: resource for resource in evaluation_of(stack).resources}


def gpu_purchases(resources: Mapping[str, Resource]) -> list[Resource]:
    """What makes GPU instances run: whatever buys instances inside a GPU pool."""
    return [
        resource
        for resource in resources.values()
        if resource.type in BUYS
        and any(resources[urn].type == POOL for urn in ancestors(resource, resources))
    ]


def purchase(pool: Pool, resources: Mapping[str, Resource]) -> Resource:
    """What buys the pool's instances."""
    name = "gpu-nodes" if pool.key == "pool" else f"gpu-nodes-{pool.name}"
    (found,) = [
        bought
        for bought in gpu_purchases(resources)
        if name in [resources[urn].name for urn in ancestors(bought, resources)]
    ]
    return found


def ancestors(resource: Resource, resources: Mapping[str, Resource]) -> list[str]:
    found = []
    while resource.parent in resources:
        found.append(resource.parent)
        resource = resources[resource.parent]
    return found


def download(resources: Mapping[str, Resource]) -> Resource:
    (job,) = [
        resource
        for resource in resources.values()
        if resource.type.endswith(":Job") and resource.inputs["metadata"]["name"] == DOWNLOAD_JOB
    ]
    return job


def test_there_are_pools_of_both_kinds() -> None:
    assert BOUGHT_LATE
    assert PREPAID


@pytest.mark.parametrize("stack", EKS)
def test_only_pools_name_the_gpu_instance(stack: str) -> None:
    """Whatever could buy it (a node group, a launch template) is inside a pool, and each pool buys."""
    resources = by_urn(stack)
    for instance in {each.pool.instance.name for each in plan_of(stack).pools}:
        naming = [
            resource
            for resource in resources.values()
            if resource.type.startswith("aws:") and instance in json.dumps(mask(resource.inputs))
        ]
        assert naming
        for resource in naming:
            assert POOL in [resources[urn].type for urn in ancestors(resource, resources)]
    pools = sum(resource.type == POOL for resource in resources.values())
    assert len(gpu_purchases(resources)) == pools == len(plan_of(stack).pools)


@each_pool(BOUGHT_LATE)
def test_gpus_come_after_weights_and_platform(stack: str, pool: PoolPlan) -> None:
    resources = by_urn(stack)
    platform = {urn for urn, resource in resources.items() if resource.name == "dynamo-platform"}
    assert len(platform) == 2, "the component and its release"
    earlier = before(purchase(pool.pool, resources), resources)
    assert download(resources).urn in earlier
    assert platform <= earlier


@each_pool(PREPAID)
def test_prepaid_gpus_wait_for_no_weights(stack: str, pool: PoolPlan) -> None:
    resources = by_urn(stack)
    assert download(resources).urn not in before(purchase(pool.pool, resources), resources)


@each_pool(POOLS)
def test_no_pool_waits_for_another(stack: str, pool: PoolPlan) -> None:
    resources = by_urn(stack)
    bought = {resource.urn for resource in gpu_purchases(resources)}
    assert bought.isdisjoint(before(purchase(pool.pool, resources), resources))


@pytest.mark.parametrize("stack", EKS)
def test_graphs_come_after_weights_and_the_gpus_of_their_own_pool(stack: str) -> None:
    resources, plans = by_urn(stack), plan_of(stack).graphs
    graphs = {
        resource.inputs["metadata"]["name"]: resource
        for resource in resources.values()
        if resource.type.endswith(":DynamoGraphDeployment")
    }
    assert graphs.keys() == {plan.name for plan in plans if plan.pool.runs}
    bought = {resource.urn for resource in gpu_purchases(resources)}
    for plan in plans:
        if plan.name in graphs:
            earlier = before(graphs[plan.name], resources)
            assert download(resources).urn in earlier
            assert bought & earlier == {purchase(plan.pool, resources).urn}


@each_pool(POOLS)
def test_image_pulls_start_with_the_node(stack: str, pool: PoolPlan) -> None:
    """What pulls is there before GPU nodes are bought; prepaid ones may be earlier, for they wait for nothing."""
    resources = by_urn(stack)
    (puller,) = [
        resource
        for resource in resources.values()
        if resource.type.endswith(":DaemonSet")
        and pool.pool.instance.name in resource.inputs["spec"]["template"]["spec"]["nodeSelector"].values()
    ]
    earlier = before(purchase(pool.pool, resources), resources)
    assert (puller.urn in earlier) == ((stack, pool) in BOUGHT_LATE)
    assert download(resources).urn not in before(puller, resources)


@pytest.mark.parametrize("stack", EKS)
def test_weights_need_no_gpu(stack: str) -> None:
    """The download runs on CPU nodes: it asks for no GPU and tolerates no GPU node's taint."""
    pod = download(by_urn(stack)).inputs["spec"]["template"]["spec"]
    assert "tolerations" not in pod
    for container in (*pod["containers"], *pod.get("initContainers", ())):
        assert "nvidia.com/gpu" not in str(container.get("resources"))


def test_an_unguarded_pool_is_noticed() -> None:
    """The test's own check: take the waiting away, and the answer changes."""
    stack, pool = BOUGHT_LATE[0]
    resources = by_urn(stack)
    unguarded = {
        urn: Resource(**{**vars(resource), "dependencies": ()}) if resource.type == POOL else resource
        for urn, resource in resources.items()
    }
    assert download(resources).urn not in before(purchase(pool.pool, resources), unguarded)
