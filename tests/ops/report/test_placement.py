"""Workers find the GPUs that the rules of their graph let them have."""

from collections import Counter
from itertools import groupby

import pytest

from facts.engines import Role
from ops.report.placement import Node, placed
from stacks.plan import StackPlan
from tests.ops.report.projects import CROWDED, MANY, SCALED
from tests.plans import stack


def nodes(plan: StackPlan, pool: int = 0) -> list[Node]:
    mine = plan.pools[pool].pool
    found, waiting = placed(mine, [graph for graph in plan.graphs if graph.pool == mine])
    assert waiting == []
    return found


def shares(node: Node) -> list[tuple[str, Role, int]]:
    return [(share.graph, share.role, share.gpus) for share in node.shares]


def test_workers_of_one_pod_are_on_one_node() -> None:
    [node] = nodes(stack("trtllm-disagg-b200"))
    assert shares(node) == [("gpt-oss-disagg", Role.PREFILL, 4), ("gpt-oss-disagg", Role.DECODE, 4)]
    assert node.free == 0


def test_gpus_that_no_worker_takes_are_free() -> None:
    [node] = nodes(stack("trtllm-disagg-8k"))
    assert (node.gpus, node.free) == (8, 3)


def test_graphs_of_one_pool_have_nodes_of_their_own_where_one_is_full() -> None:
    first, second = nodes(stack(**MANY))
    assert {share.graph for share in first.shares} == {"gpt-oss-disagg"}
    assert {share.graph for share in second.shares} == {"second"}


def test_over_efa_prefill_and_decode_keep_off_each_others_nodes() -> None:
    found = nodes(stack(**SCALED))
    roles = [{share.role for share in node.shares} for node in found if node.shares]
    assert all(len(each) == 1 for each in roles)
    assert Counter(share.role for node in found for share in node.shares) == {Role.PREFILL: 1, Role.DECODE: 5}


def test_a_worker_that_spans_nodes_has_a_part_on_each() -> None:
    plan = stack(
        "trtllm-agg-gb200",
        pool={"nodes": 3},
        graph={"worker": {"nodes": 2, "tensorParallel": 8, "expertParallel": 8}},
    )
    one, two, three = nodes(plan)
    assert [(share.part, share.parts, share.gpus) for node in (one, two) for share in node.shares] == [
        (1, 2, 4),
        (2, 2, 4),
    ]
    assert three.shares == []


@pytest.mark.parametrize("config", [MANY, SCALED, CROWDED])
def test_no_node_has_more_than_its_gpus_and_no_worker_is_lost(config: dict[str, object]) -> None:
    plan = stack(**config)  # type: ignore[arg-type]
    everywhere = [node for pool in range(len(plan.pools)) for node in nodes(plan, pool)]
    assert min(node.free for node in everywhere) >= 0
    taken = sum(share.gpus for node in everywhere for share in node.shares)
    assert taken == sum(graph.gpus for graph in plan.graphs)


def test_what_finds_no_room_waits() -> None:
    plan = stack("trtllm-disagg-b200")
    [node], waiting = placed(plan.main_pool, [plan.main, plan.main])
    assert len(node.shares) == 2
    assert [share.role for share in waiting] == [Role.PREFILL, Role.DECODE]


def test_parts_of_one_worker_are_on_different_nodes() -> None:
    plan = stack(
        "trtllm-agg-gb200",
        pool={"nodes": 4},
        graph={"worker": {"replicas": 2, "nodes": 2, "tensorParallel": 8, "expertParallel": 8}},
    )
    by_worker = groupby(
        sorted((share.number, node.number) for node in nodes(plan) for share in node.shares),
        lambda each: each[0],
    )
    assert [len({node for _, node in each}) for _, each in by_worker] == [2, 2]
