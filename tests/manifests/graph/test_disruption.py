"""PodDisruptionBudgets keep some of a graph's pods, and never a node from draining."""

from typing import Any

import pytest

from components.graph.graph import Graph
from components.graph.inference_graph import InferenceGraph, InferenceGraphArgs
from manifests.graph.disruption import budgets
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from tests.components.recording import deploy
from tests.plans import apart

SPREAD = {"pool": {"nodes": 2}, "graph": {"worker": {"replicas": 16}, "frontend": {"replicas": 2}}}


def kept(graph: GraphPlan) -> dict[str, int]:
    return {
        budget["spec"]["selector"]["matchLabels"]["nvidia.com/dynamo-component"]: budget["spec"][
            "maxUnavailable"
        ]
        for budget in budgets(graph, "dynamo")
    }


@pytest.mark.parametrize(
    ("target", "said", "expected"),
    [
        ("trtllm-disagg-b200", {}, {}),
        ("trtllm-disagg-b200", {"graph": {"frontend": {"replicas": 3}}}, {"Frontend": 1}),
        ("vllm-agg-agentic-b200", {}, {}),
        ("vllm-agg-agentic-b200", SPREAD, {"Frontend": 1, "VllmWorker": 8}),
        (
            "trtllm-agg-gb200",
            {"pool": {"nodes": 2}, "graph": {"worker": {"replicas": 2}}},
            {"TrtllmWorker": 1},
        ),
        (
            "vllm-disagg-h100",
            {"pool": {"nodes": 2}, "graph": {"dynamoVersion": "1.4.2", "transport": "efa"}},
            {},
        ),
    ],
)
def test_as_many_go_at_once_as_one_node_holds(
    target: str, said: dict[str, Any], expected: dict[str, int]
) -> None:
    assert kept(apart(target, **said)) == expected


@pytest.mark.parametrize("target", TARGETS)
def test_a_node_can_always_be_drained_at_once(target: str) -> None:
    """The Eviction API would refuse a node's last pods if a budget were below what the node holds."""
    graph = apart(target, pool={"nodes": 4}, graph={"frontend": {"replicas": 2}})
    for budget in budgets(graph, "dynamo"):
        component = budget["spec"]["selector"]["matchLabels"]["nvidia.com/dynamo-component"]
        if component != "Frontend":
            per_node = graph.pool.instance.gpus // graph.workers[0].worker.gpus
            assert budget["spec"]["maxUnavailable"] >= per_node
        assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_they_come_with_the_graph() -> None:
    graph = apart("vllm-agg-agentic-b200", **SPREAD)

    def program() -> None:
        InferenceGraph("graph", InferenceGraphArgs(graph=Graph.of(graph), namespace="dynamo"))

    made = [each for each in deploy(program).recorded if each.type.endswith(":PodDisruptionBudget")]
    assert {each.inputs["metadata"]["name"] for each in made} == {
        f"{graph.name}-frontend",
        f"{graph.name}-vllmworker",
    }
