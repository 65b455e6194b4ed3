"""Graphs that cannot be beside each other are refused, and the nearest that can are not."""

from facts.hardware import INSTANCE_TYPES
from stacks.rules.sharing import sharing_problems
from targets.plan import GraphPlan
from targets.pool import Pool
from tests.plans import resolved

B200 = "p6-b200.48xlarge"
GUIDE, LONG = "trtllm-disagg-b200", "trtllm-disagg-8k"
OLD_GUIDE = "trtllm-disagg-b200-0.4"


def test_graphs_of_0_4_that_would_see_each_other_are_refused() -> None:
    other = resolved(OLD_GUIDE, B200, 2, key="graphs[0]", name="other")
    assert list(sharing_problems([resolved(OLD_GUIDE, B200, 2), other])) == [
        "graphs[0].dynamoVersion: 0.4.1, as gpt-oss-disagg has: workers of 0.4 register in one namespace, and the "
        "frontend of either graph would send requests to the other's; give one of them a stack with a platform of its "
        "own"
    ]
    assert not list(sharing_problems([resolved(GUIDE, B200, 2), other]))


def test_graphs_with_one_name_are_refused() -> None:
    assert list(sharing_problems([resolved(GUIDE, B200, 2), resolved(GUIDE, B200, 2, key="graphs[0]")])) == [
        "graphs[0].name: 'gpt-oss-disagg' is the name of more than one graph of the stack; choose another"
    ]


def test_graphs_that_do_not_fit_beside_each_other_are_refused() -> None:
    # 15 of 16 GPUs, but five at a time on one node.
    graphs = [
        resolved(LONG, B200, 2, name=name, key=f"graphs[{name}]", transport="node")
        for name in ("a", "b", "c")
    ]
    assert list(sharing_problems(graphs)) == [
        "pool: its graphs together need 15 GPUs (a 5 + b 5 + c 5), a and b and c alone on a node, but it has 16 "
        "(2 × p6-b200.48xlarge (8 × B200 each)); raise pool.nodes"
    ]
    assert not list(
        sharing_problems([resolved(LONG, B200, 3, name=name, transport="node") for name in ("a", "b", "c")])
    )
    in_one_pod = [resolved(LONG, B200, 2, name=name) for name in ("a", "b", "c")]
    (problem,) = sharing_problems(in_one_pod)
    assert "need 15 GPUs (a 5 + b 5 + c 5), whole workers on nodes, but" in problem
    assert not list(sharing_problems(in_one_pod[:2]))


def test_beside_a_graph_that_fills_a_node_there_is_no_room_for_a_small_one() -> None:
    half = {"tensorParallel": 1, "expertParallel": 1}
    small = [resolved(GUIDE, B200, 2, name=name, prefill=half, decode=half) for name in ("b", "c")]
    apart = resolved(LONG, B200, name="a", transport="node")
    assert not list(sharing_problems([resolved(LONG, B200, 2, name="a", transport="node"), *small]))
    (problem,) = sharing_problems([apart, resolved(GUIDE, B200, name="b", prefill=half, decode=half)])
    assert "need 7 GPUs (a 5 + b 2), a alone on a node, but it has 8" in problem


def test_a_graph_in_one_pod_leaves_the_rest_of_its_node_to_others() -> None:
    half = {"tensorParallel": 1, "expertParallel": 1}
    assert not list(
        sharing_problems(
            [resolved(LONG, B200, name="a"), resolved(GUIDE, B200, name="b", prefill=half, decode=half)]
        )
    )


def test_each_pool_holds_its_own_graphs_alone() -> None:
    here, there = (
        Pool(instance=INSTANCE_TYPES[B200], nodes=1),
        Pool(instance=INSTANCE_TYPES[B200], nodes=1, key="pools[0]", name="second"),
    )

    def on(pool: Pool, name: str) -> GraphPlan:
        return resolved(GUIDE, pool=pool, name=name, transport="node")

    assert not list(sharing_problems([on(here, "a"), on(there, "b")]))
    assert list(sharing_problems([on(here, "a"), on(there, "b"), on(there, "c")])) == [
        "pools[0]: its graphs together need 16 GPUs (b 8 + c 8), b and c alone on a node, but it has 8 "
        "(1 × p6-b200.48xlarge (8 × B200 each)); raise pools[0].nodes"
    ]
