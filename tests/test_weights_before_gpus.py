"""No GPU node can be bought before the weights are there: asked of the registered resources of every EKS stack.

A component waits for what it depends on before its children are registered, and is deleted after them. So a resource
comes after whatever it, or any component around it, depends on.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from graphs.names import DOWNLOAD_JOB
from ops.evaluate import Evaluation, Resource, evaluate
from ops.stack_file import StackFile, stacks
from ops.synth import masked
from stacks.sections.cluster import AwsCluster
from stacks.settings import Settings, from_text

PROJECT = Path(__file__).resolve().parents[1]
BUYS = {"aws:eks/nodeGroup:NodeGroup", "aws:autoscaling/group:Group", "aws:ec2/instance:Instance"}
"""Resource types that make instances run."""
POOL = "dynamo-gpt-oss:index:GpuNodePool"


@cache
def settings_of(stack: str) -> Settings:
    stack_file = StackFile.load(PROJECT, stack)
    return from_text(stack_file.config, set(stack_file.secret_keys))


@cache
def evaluation_of(stack: str) -> Evaluation:
    return evaluate(PROJECT, StackFile.load(PROJECT, stack))


EKS = [stack for stack in stacks(PROJECT) if isinstance(settings_of(stack).cluster, AwsCluster)]
PREPAID = [stack for stack in EKS if settings_of(stack).pool.capacity.kind.prepaid]
BOUGHT_LATE = [stack for stack in EKS if stack not in PREPAID]


def by_urn(stack: str) -> dict[str, Resource]:
    return {resource.urn: resource for resource in evaluation_of(stack).resources}


def before(resource: Resource, resources: Mapping[str, Resource]) -> set[str]:
    """URNs of everything that is complete before the resource is made."""
    done: set[str] = set()
    todo = [*resource.dependencies, resource.parent]
    while todo:
        urn = todo.pop()
        if urn in done or urn not in resources:
            continue
        done.add(urn)
        todo += [*resources[urn].dependencies, resources[urn].parent]
    return done


def gpu_purchases(resources: Mapping[str, Resource]) -> list[Resource]:
    """What makes GPU instances run: whatever buys instances inside a GPU pool."""
    return [
        resource
        for resource in resources.values()
        if resource.type in BUYS
        and any(resources[urn].type == POOL for urn in ancestors(resource, resources))
    ]


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


def test_there_are_stacks_of_both_kinds() -> None:
    assert BOUGHT_LATE
    assert PREPAID


@pytest.mark.parametrize("stack", EKS)
def test_only_pools_name_the_gpu_instance(stack: str) -> None:
    """Whatever could buy it (a node group, a launch template) is inside a pool, and each pool buys."""
    resources = by_urn(stack)
    instance = settings_of(stack).gpu_pool().instance.name
    naming = [
        resource
        for resource in resources.values()
        if resource.type.startswith("aws:") and instance in json.dumps(masked(resource.inputs))
    ]
    assert naming
    for resource in naming:
        assert POOL in [resources[urn].type for urn in ancestors(resource, resources)]
    assert len(gpu_purchases(resources)) == sum(resource.type == POOL for resource in resources.values())


@pytest.mark.parametrize("stack", BOUGHT_LATE)
def test_gpus_come_after_weights_and_platform(stack: str) -> None:
    resources = by_urn(stack)
    platform = {urn for urn, resource in resources.items() if resource.name == "dynamo-platform"}
    assert len(platform) == 2, "the component and its release"
    for purchase in gpu_purchases(resources):
        earlier = before(purchase, resources)
        assert download(resources).urn in earlier
        assert platform <= earlier


@pytest.mark.parametrize("stack", PREPAID)
def test_prepaid_gpus_wait_for_no_weights(stack: str) -> None:
    resources = by_urn(stack)
    for purchase in gpu_purchases(resources):
        assert download(resources).urn not in before(purchase, resources)


@pytest.mark.parametrize("stack", EKS)
def test_graphs_come_after_weights_and_gpus(stack: str) -> None:
    resources = by_urn(stack)
    needed = {download(resources).urn, *(purchase.urn for purchase in gpu_purchases(resources))}
    graphs = [resource for resource in resources.values() if resource.type.endswith(":DynamoGraphDeployment")]
    assert bool(graphs) == any(plan.pool.runs for plan in settings_of(stack).plans())
    for graph in graphs:
        assert needed <= before(graph, resources)


@pytest.mark.parametrize("stack", EKS)
def test_image_pulls_start_with_the_node(stack: str) -> None:
    """What pulls is there before GPU nodes are bought; prepaid ones may be earlier, for they wait for nothing."""
    resources = by_urn(stack)
    (puller,) = [resource for resource in resources.values() if resource.type.endswith(":DaemonSet")]
    earlier = {urn for purchase in gpu_purchases(resources) for urn in before(purchase, resources)}
    assert (puller.urn in earlier) == (stack in BOUGHT_LATE)
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
    stack = BOUGHT_LATE[0]
    resources = by_urn(stack)
    (purchase, *_) = gpu_purchases(resources)
    unguarded = {
        urn: Resource(**{**vars(resource), "dependencies": ()}) if resource.type == POOL else resource
        for urn, resource in resources.items()
    }
    assert download(resources).urn not in before(purchase, unguarded)
