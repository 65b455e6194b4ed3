"""Graphs whose number of workers an autoscaler decides: what the graph says, and what the autoscaler is told."""

import json
from typing import Any

import promql_parser
import pytest

from manifests.graph.deployment import graph_deployment
from manifests.graph.topology import topology
from manifests.services.autoscaling import scaled_objects
from stacks.load import parse
from targets.plan import GraphPlan
from tests import plans
from tests.manifests.graphs import components
from tests.manifests.monitoring.watched import known_series, selectors
from tests.plans import SCALING

VERSIONS = ("1.2.1", "1.6.1")


def plan(
    target: str = "trtllm-disagg-b200", kind: str = "keda", *, nodes: int = 3, **graph: Any
) -> GraphPlan:
    graph = graph or {"prefill": {"maxReplicas": 2}, "decode": {"replicas": 2, "maxReplicas": 4}}
    return plans.graph(
        target,
        platform={"install": False},
        pool={"nodes": nodes},
        monitoring={"kind": "install"},
        autoscaling={"kind": kind},
        graph={"dynamoVersion": "1.6.1", **graph},
    )


def scaled(version: str) -> GraphPlan:
    return plan(dynamoVersion=version, prefill={"maxReplicas": 2}, decode={"replicas": 2, "maxReplicas": 4})


@pytest.mark.parametrize("version", VERSIONS)
def test_the_graph_leaves_the_number_to_an_adapter(version: str) -> None:
    asked = {"enabled": True} if version == "1.2.1" else {}
    parts = components(graph_deployment(scaled(version), "dynamo"))
    for name, (component, _, _) in parts.items():
        if name == "Frontend":
            assert component["replicas"] == 1
            assert "scalingAdapter" not in component
        else:
            assert component["scalingAdapter"] == asked
            assert "replicas" not in component, "sent again, it would undo what the autoscaler decided"


def test_a_role_without_a_most_keeps_its_number() -> None:
    parts = components(graph_deployment(plan(decode={"maxReplicas": 4}), "dynamo"))
    assert parts["TrtllmPrefillWorker"][0]["replicas"] == 1
    assert "scalingAdapter" not in parts["TrtllmPrefillWorker"][0]


def test_adapters_change_a_graph_in_place() -> None:
    stack = {"target": "trtllm-disagg-b200", "cluster": {"kind": "existing"}}
    fixed = parse({**stack, "graph": {"transport": "node"}}, set()).main
    assert topology(graph_deployment(fixed, "dynamo")) == topology(
        graph_deployment(scaled("1.2.1"), "dynamo")
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_each_role_has_its_bounds_and_goes_by_what_it_is_slow_at(version: str) -> None:
    prefill, decode = scaled_objects(scaled(version), "dynamo", SCALING)
    for scaled_object, name, least, most in (
        (prefill, "gpt-oss-disagg-trtllmprefillworker", 1, 2),
        (decode, "gpt-oss-disagg-trtllmdecodeworker", 2, 4),
    ):
        spec = scaled_object["spec"]
        assert scaled_object["metadata"]["name"] == spec["scaleTargetRef"]["name"] == name
        assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (least, most)
    assert [trigger["name"] for trigger in prefill["spec"]["triggers"]] == [
        "pending-requests",
        "time-to-first-token",
    ]
    assert [trigger["name"] for trigger in decode["spec"]["triggers"]] == ["inter-token-latency"]


def test_an_aggregated_worker_is_slow_at_both() -> None:
    graph = plan("vllm-agg-agentic-b200", nodes=1, worker={"replicas": 1, "maxReplicas": 8})
    (worker,) = scaled_objects(graph, "dynamo", SCALING)
    assert {trigger["name"]: trigger["metadata"]["threshold"] for trigger in worker["spec"]["triggers"]} == {
        "pending-requests": "10",
        "time-to-first-token": "2.0",
        "inter-token-latency": "0.03",
    }


def test_latencies_are_no_sums_to_be_shared() -> None:
    kinds = {
        trigger["name"]: trigger["metricType"]
        for scaled_object in scaled_objects(scaled("1.6.1"), "dynamo", SCALING)
        for trigger in scaled_object["spec"]["triggers"]
    }
    assert kinds == {
        "pending-requests": "AverageValue",
        "time-to-first-token": "Value",
        "inter-token-latency": "Value",
    }


def test_one_worker_at_a_time_and_no_faster_than_it_loads() -> None:
    for scaled_object in scaled_objects(scaled("1.6.1"), "dynamo", SCALING):
        behavior = scaled_object["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
        (up,) = behavior["scaleUp"]["policies"]
        (down,) = behavior["scaleDown"]["policies"]
        assert (up["type"], up["value"], up["periodSeconds"]) == ("Pods", 1, 1200)
        assert (down["type"], down["value"]) == ("Pods", 1)
        assert behavior["scaleDown"]["stabilizationWindowSeconds"] == 1800


def test_every_query_parses_names_known_series_and_has_an_answer_without_load() -> None:
    known = known_series()
    for scaled_object in scaled_objects(scaled("1.6.1"), "dynamo", SCALING):
        for trigger in scaled_object["spec"]["triggers"]:
            query = promql_parser.parse(trigger["metadata"]["query"])
            found = {selector.name for selector in selectors(query)}
            assert found <= known
            assert "up" in found
            assert trigger["metadata"]["ignoreNullValues"] == "false"


def planner_of(graph: GraphPlan) -> tuple[dict[str, Any], dict[str, Any]]:
    """The Planner's container and its configuration."""
    _, _, main = components(graph_deployment(graph, "dynamo"))["Planner"]
    assert main["args"][0] == "--config"
    return main, json.loads(main["args"][1])


def test_a_planner_is_a_component_that_moves_workers_within_the_gpus_there_are() -> None:
    graph = plan(kind="planner")
    main, config = planner_of(graph)
    assert main["image"] == "nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.6.1"
    assert main["command"] == ["python3", "-m", "dynamo.planner"]
    assert (config["mode"], config["backend"]) == ("disagg", "trtllm")
    assert config["max_gpu_budget"] == 2 * 4 + 4 * 4 <= graph.pool.gpus
    assert (config["prefill_min_endpoint"], config["decode_min_endpoint"]) == (1, 2)
    assert "ttft_ms" not in config, "only optimization sla has latencies to hold"


def test_workers_tell_a_planner_what_it_reads() -> None:
    for kind, told in (("planner", True), ("keda", False)):
        for name, (_, _, main) in components(graph_deployment(plan(kind=kind), "dynamo")).items():
            names = {entry["name"] for entry in main["env"]}
            assert ("DYN_FORWARDPASS_METRIC_PORT" in names) is (told and name.startswith("Trtllm"))


def test_a_planner_comes_and_goes_with_the_graph() -> None:
    with_one, without = plan(kind="planner"), plan(kind="keda")
    assert topology(graph_deployment(with_one, "dynamo")) != topology(graph_deployment(without, "dynamo"))
    assert "Planner" not in components(graph_deployment(without, "dynamo"))


@pytest.mark.parametrize(
    ("target", "graph", "mode"),
    [
        ("trtllm-disagg-b200", {"decode": {"maxReplicas": 3}}, "decode"),
        ("trtllm-disagg-b200", {"prefill": {"maxReplicas": 3}}, "prefill"),
        ("vllm-agg-agentic-b200", {"worker": {"replicas": 2, "maxReplicas": 8}}, "agg"),
    ],
)
def test_a_planner_scales_the_roles_that_may_grow_alone(target: str, graph: Any, mode: str) -> None:
    _, config = planner_of(plan(target, "planner", **graph))
    assert config["mode"] == mode
