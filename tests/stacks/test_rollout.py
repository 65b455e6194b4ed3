"""What of a stack decides its rollout."""

from typing import Any

import pytest

from stacks.rollout import setting, settings
from targets.capacity import CapacityKind
from targets.timeline import Copy, Setting
from tests import plans

EKS = {"kind": "eks", "region": "us-east-2", "publicAccessFrom": ["auto"]}


@pytest.mark.parametrize(
    ("cache", "kind", "copy", "rate"),
    [
        ({}, "class", None, None),
        ({"kind": "efs", "localCopy": "node"}, "efs", Copy.NODE, None),
        ({"kind": "efs", "localCopy": True}, "efs", Copy.POD, None),
        ({"kind": "s3"}, "s3", Copy.POD, None),
        ({"kind": "fsx"}, "fsx", None, 250 * 1200 / 1024),
        ({"kind": "fsx", "throughput": 1000, "size": "2000Gi"}, "fsx", None, 1000 * 2400 / 1024),
    ],
)
def test_the_cache_decides_copy_and_rate(
    cache: dict[str, Any], kind: str, copy: Copy | None, rate: float | None
) -> None:
    decided = setting(plans.stack("trtllm-disagg-b200", cluster=EKS, cache=cache))
    assert (decided.cache, decided.copy, decided.cache_rate) == (kind, copy, rate)
    assert decided.gpus == 8


@pytest.mark.parametrize("parallel", [True, False])
def test_the_main_pool_decides_how_images_are_pulled(parallel: bool) -> None:
    stack = plans.stack("trtllm-disagg-b200", cluster=EKS, pool={"parallelPull": parallel})
    assert setting(stack).parallel_pull is parallel


def test_a_mirror_makes_parallel_pulls_faster() -> None:
    near = {"image": {"mirror": {"region": "us-east-2"}}}
    decided = setting(plans.stack("trtllm-disagg-b200", cluster=EKS, graph=near))
    assert decided.mirror
    assert decided.assumptions().parallel_pull < Setting(gpus=8).assumptions().parallel_pull


def test_each_pool_has_its_own_pull() -> None:
    further = {
        "pools": [{"name": "more", "parallelPull": True}],
        "graphs": [{"name": "second", "pool": "more"}],
    }
    decided = settings(
        plans.stack("trtllm-disagg-b200", cluster=EKS, pool={"parallelPull": False}, **further)
    )
    assert {name: each.parallel_pull for name, each in decided.items()} == {
        "gpu-nodes": False,
        "gpu-nodes-more": True,
    }


def test_the_main_pool_decides_how_gpus_are_bought() -> None:
    block = {"kind": "capacity-block", "reservationId": "cr-0123456789abcdef0"}
    pool = {"capacity": block, "zones": ["us-east-2b"]}
    assert (
        setting(plans.stack("trtllm-disagg-b200", cluster=EKS, pool=pool)).capacity
        is CapacityKind.CAPACITY_BLOCK
    )
