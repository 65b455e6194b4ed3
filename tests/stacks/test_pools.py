"""GPU pools, with what a config leaves out: paid nodes are never more than somebody asked for."""

from typing import Any

import pytest

from stacks.plan import StackPlan
from stacks.pools import PoolPlan
from tests.plans import stack

EKS = {"kind": "eks", "region": "us-east-2"}


def on_eks(target: str = "trtllm-disagg-b200", **config: Any) -> StackPlan:
    return stack(target, **{"cluster": EKS, "platform": {}, **config})


def only(plan: StackPlan) -> PoolPlan:
    (pool,) = plan.pools
    return pool


@pytest.mark.parametrize(
    ("target", "instance", "nodes"),
    [
        ("trtllm-disagg-b200", "p6-b200.48xlarge", 1),
        ("vllm-disagg-h100", "p5.48xlarge", 1),
        ("mocker-disagg-cpu", "m7i.4xlarge", 1),
    ],
)
def test_a_pool_that_says_nothing_is_the_published_systems(target: str, instance: str, nodes: int) -> None:
    pool = only(on_eks(target)).pool
    assert (pool.instance.name, pool.nodes, pool.key) == (instance, nodes, "pool")


def test_more_replicas_never_add_nodes() -> None:
    asked = on_eks(graph={"decode": {"tensorParallel": 1, "expertParallel": 1, "replicas": 4}})
    assert only(asked).pool.nodes == 1


def test_an_ultraserver_is_as_many_nodes_as_it_has() -> None:
    block = {
        "kind": "capacity-block",
        "reservationId": "cr-0123456789abcdef0",
        "ultraserver": "u-p6e-gb200x36",
    }
    plan = on_eks(
        "trtllm-agg-gb200",
        cluster={"kind": "eks", "region": "us-east-1"},
        pool={"zones": ["us-east-1-dfw-2a"], "capacity": block},
    )
    assert only(plan).pool.nodes == 9


def test_several_nodes_are_in_one_zone_and_a_single_one_in_whichever_has_it() -> None:
    """EFA and placement groups do not cross zones."""
    one, two = only(on_eks()), only(on_eks(pool={"nodes": 2}))
    assert len(one.zones) > 1
    assert two.zones == one.zones[:1]
    named = only(on_eks(pool={"zones": ["us-east-2c"]}))
    assert (named.zones, named.zones_named, one.zones_named) == (("us-east-2c",), True, False)


def test_a_cluster_that_is_there_has_its_nodes_its_zones_and_its_network() -> None:
    there = only(stack("trtllm-disagg-b200", cluster={"kind": "existing"}))
    assert (there.zones, there.pool.runs, there.pool.efa) == ((), True, False)
    assert only(stack("trtllm-disagg-b200", cluster={"kind": "existing", "efa": True})).pool.efa


def test_pools_of_one_gpu_model_know_each_other() -> None:
    """Their nodes' GPU label does not tell them apart; another model's does."""
    plan = on_eks(
        graphs=[
            {"name": "b", "pool": "second"},
            {"name": "c", "pool": "third", "target": "vllm-disagg-h100"},
        ],
        pools=[{"name": "second"}, {"name": "third"}],
    )
    main, second, third = (each.pool for each in plan.pools)
    assert (main.alike, second.alike, third.alike) == (("second",), (main.name,), ())
    assert third.instance.name == "p5.48xlarge", "its graph's target, not the main one's"
    assert [pool.key for pool in (main, second, third)] == ["pool", "pools[0]", "pools[1]"]
