"""A copy of the weights needs room on a node's own disks."""

from dataclasses import replace
from typing import Any

import pytest

from facts.hardware import INSTANCE_TYPES, InstanceType
from facts.weights import CacheUse
from stacks.rules.local_copy import compiled_problems, local_copy_problems
from targets.plan import GraphPlan
from tests.plans import resolved

H100, B200 = "p5.48xlarge", "p6-b200.48xlarge"
GUIDE = "trtllm-disagg-b200"
VLLM, MOCKER = "vllm-disagg-h100", "mocker-disagg-cpu"


def copying(target: str, instance: InstanceType, nodes: int = 1, **knobs: Any) -> GraphPlan:
    return resolved(target, instance, nodes, weights=CacheUse(local_copy=True), **knobs)


def test_copies_need_room_on_the_nodes_that_the_stack_makes() -> None:
    """67 GiB are 71.9 GB; of a disk nine tenths are for pods."""
    b200 = INSTANCE_TYPES[B200]
    two = replace(b200, nvme_gb=(1, 159))
    assert list(local_copy_problems([copying(GUIDE, two)], own_nodes=True)) == [
        "cache.localCopy: true needs 144 GB on a node (2 × 67 GiB), but the local NVMe of p6-b200.48xlarge has room "
        "for 143 GB; leave it out"
    ]
    assert not list(local_copy_problems([copying(GUIDE, replace(two, nvme_gb=(1, 160)))], own_nodes=True))
    assert not list(local_copy_problems([copying(GUIDE, two)], own_nodes=False))
    assert not list(local_copy_problems([replace(copying(GUIDE, two), cache=CacheUse())], own_nodes=True))
    (problem,) = local_copy_problems([copying(GUIDE, replace(b200, nvme_gb=(0, 0)))], own_nodes=True)
    assert problem.endswith("has room for 0 GB; leave it out")


@pytest.mark.parametrize(
    ("decode", "workers"),
    [
        # One prefill worker has 4 GPUs; decode workers of 1 or 2 fill a whole node, if there are that many.
        ({"tensorParallel": 2, "expertParallel": 2, "replicas": 2}, 3),
        ({"tensorParallel": 1, "expertParallel": 1, "replicas": 12}, 8),
    ],
)
def test_the_smallest_workers_decide_how_many_copies_a_node_has(decode: dict[str, Any], workers: int) -> None:
    without = replace(INSTANCE_TYPES[B200], nvme_gb=(0, 0))
    (problem,) = local_copy_problems([copying(GUIDE, without, nodes=2, decode=decode)], own_nodes=True)
    assert f"on a node ({workers} × 67 GiB)" in problem


def test_each_pools_disks_hold_the_copies_of_its_own_graphs() -> None:
    roomy = copying(GUIDE, INSTANCE_TYPES[B200])
    cramped = copying(VLLM, replace(INSTANCE_TYPES[H100], nvme_gb=(1, 100)))
    (problem,) = local_copy_problems([roomy, cramped], own_nodes=True)
    assert "on a node (2 × 67 GiB), but the local NVMe of p5.48xlarge" in problem


def test_nothing_is_copied_for_workers_that_load_no_weights() -> None:
    assert list(local_copy_problems([copying(MOCKER, INSTANCE_TYPES["m7i.4xlarge"])], own_nodes=False)) == [
        "cache.localCopy: true, but no graph of the stack loads weights; leave it out"
    ]


@pytest.mark.parametrize("instance", [i for i in INSTANCE_TYPES.values() if i.gpus], ids=lambda i: i.name)
def test_every_gpu_type_has_room_for_a_copy_for_each_gpu(instance: InstanceType) -> None:
    disks, each = instance.nvme_gb
    largest = copying("vllm-agg-agentic-b200", instance).copy_gib
    assert instance.gpus * largest * 2**30 < 0.9 * disks * each * 1e9


def test_a_copy_of_the_node_has_room_once() -> None:
    two = INSTANCE_TYPES["p6-b200.48xlarge"]
    two = replace(two, nvme_gb=(1, 100))
    plan = copying(GUIDE, two)
    assert list(local_copy_problems([plan], own_nodes=True))
    shared = replace(plan, cache=replace(plan.cache, node_folder="/models"))
    assert not list(local_copy_problems([shared], own_nodes=True))
    cramped = replace(shared, pool=replace(plan.pool, instance=replace(two, nvme_gb=(1, 70))))
    (problem,) = local_copy_problems([cramped], own_nodes=True)
    assert problem.startswith(
        "cache.localCopy: node needs 72 GB on a node (1 × 67 GiB), but the local NVMe of "
    )


def test_nothing_is_kept_of_workers_that_compile_nothing() -> None:
    use = CacheUse(compiled_folder="/compiled")
    simulated = resolved(MOCKER, "m7i.4xlarge", weights=use)
    assert list(compiled_problems([simulated])) == [
        "cache.node.compiled: true, but no graph of the stack compiles anything; leave it out"
    ]
    assert not list(compiled_problems([simulated, resolved(GUIDE, B200, weights=use)]))
    assert not list(compiled_problems([resolved(MOCKER, "m7i.4xlarge")]))
