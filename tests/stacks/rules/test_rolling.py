"""New workers beside the old ones: where that cannot work it is refused."""

from typing import Any

import pytest

from stacks.plan import StackPlan
from stacks.rules.rolling import rolling_problems
from stacks.settings import ConfigError
from tests.plans import stack

NO_GROVE = {"install": False, "grove": "none"}


def found(target: str, nodes: int = 2, **config: Any) -> list[str]:
    """The problems, without their stack's name."""
    given = {"platform": NO_GROVE, "pool": {"nodes": nodes}, **config}
    graph = {"surge": True, **given.pop("graph", {})}
    try:
        plan: StackPlan = stack(target, **given, graph=graph)
    except ConfigError as refused:
        return [line.partition(":")[2] for line in str(refused).splitlines()]
    assert not list(rolling_problems(plan.graphs, plan.platform.wanted))
    return []


def test_a_worker_has_room_for_its_successor() -> None:
    assert found("trtllm-agg-gb200", 2) == []
    (problem,) = found("trtllm-agg-gb200", 1)
    assert problem.startswith("graph.surge: true needs room for every worker twice, 8 GPUs")
    assert problem.endswith("raise pool.nodes, or leave it out")


def test_workers_of_two_roles_would_find_no_partner() -> None:
    (problem,) = found("vllm-disagg-h100", graph={"transport": "node"})
    assert "requests find no partner" in problem


def test_workers_of_one_pod_have_no_second() -> None:
    (problem,) = found("vllm-disagg-h100", graph={"transport": "pod"})
    assert "are one pod" in problem


@pytest.mark.parametrize("grove", ["bundled", "external"])
def test_grove_adds_none(grove: str) -> None:
    install = {"install": grove == "bundled", "grove": grove}
    (problem,) = found("trtllm-agg-gb200", platform=install)
    assert f"with platform.grove {grove!r} Grove replaces one worker after the other" in problem


def test_other_graphs_of_the_pool_keep_their_room() -> None:
    second = [{"name": "second"}]
    assert found("trtllm-agg-gb200", 3, graphs=second) == []
    assert len(found("trtllm-agg-gb200", 2, graphs=second)) == 1
