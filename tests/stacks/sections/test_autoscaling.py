"""Autoscaling of a stack: what is refused, in one sentence each, and what room it must have."""

from collections.abc import Mapping
from typing import Any

import pytest

from stacks.load import parse
from stacks.plan import StackPlan
from stacks.settings import PROJECT, ConfigError

STACK: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "existing", "efa": True},
    "platform": {"install": False},
}
TWO_NODES = {"pool": {"nodes": 2}}
MONITORED = {"monitoring": {"kind": "install"}}


def settings(more: Mapping[str, Any]) -> StackPlan:
    return parse(STACK | dict(more), set())


def scaled(kind: str, *, decode: Mapping[str, Any] | None = None, **graph: Any) -> dict[str, Any]:
    return {
        **TWO_NODES,
        "autoscaling": {"kind": kind},
        "graph": {**graph, "decode": {"maxReplicas": 2, **(decode or {})}},
    }


REFUSED: dict[str, tuple[Mapping[str, Any], str]] = {
    "a most that nothing uses": (
        {**TWO_NODES, "graph": {"decode": {"maxReplicas": 2}}},
        "graph.decode.maxReplicas: 2, but nothing scales the graph; set autoscaling.kind to keda, planner or external, "
        "or leave it out",
    ),
    "an autoscaler with nothing to scale": (
        {"autoscaling": {"kind": "keda"}, **MONITORED},
        "autoscaling.kind: 'keda' has nothing to scale; set maxReplicas below a role of a graph, for example "
        "graph.decode.maxReplicas",
    ),
    "a most below the least": (
        scaled("external", decode={"replicas": 3}),
        "graph.decode.maxReplicas: 2 is below 3, the workers that are always there; raise it, or lower replicas",
    ),
    "no room for the most": (
        {**scaled("external"), "pool": {"nodes": 1}},
        "graph: gpt-oss-disagg needs 12 GPUs (prefill 1×4 + decode 2×4), but the pool has 8 (1 × p6-b200.48xlarge "
        "(8 × B200 each)); lower tensorParallel or maxReplicas, or raise pool.nodes",
    ),
    "the most on one node": (
        scaled("external", transport="node"),
        "graph.transport: 'node' keeps all workers on one node, but gpt-oss-disagg needs 12 GPUs and p6-b200.48xlarge "
        "has 8; choose efa",
    ),
    "KEDA without figures": (
        scaled("keda"),
        "autoscaling.kind: 'keda' asks Prometheus for series that the stack's own PodMonitors label; set "
        "monitoring.kind to install, or to existing with its endpoint, and leave podMonitors on",
    ),
    "KEDA and a Prometheus without our labels": (
        {**scaled("keda"), "monitoring": {"kind": "install", "podMonitors": False}},
        "autoscaling.kind: 'keda' asks Prometheus for series that the stack's own PodMonitors label; set "
        "monitoring.kind to install, or to existing with its endpoint, and leave podMonitors on",
    ),
    "a frontend that counts nothing": (
        {**scaled("external", dynamoVersion="1.0.2", decode={"maxReplicas": 1})},
        "autoscaling.kind: 'external' needs a release whose frontends count waiting requests, and graph.dynamoVersion "
        "is 1.0.2; use 1.2.1 or newer",
    ),
    "Grove that rolls the gang": (
        {**scaled("external", dynamoVersion="1.2.1"), "platform": {"install": False, "grove": "external"}},
        "autoscaling.kind: 'external' with Grove restarts every pod of a graph of Dynamo 1.2.1 at each change (known "
        "issue); use graph.dynamoVersion 1.3.1 or newer, or platform.grove none",
    ),
    "a Planner without what it reads": (
        scaled("planner", dynamoVersion="1.4.2"),
        "autoscaling.kind: 'planner' needs workers that send forward-pass metrics, and graph.dynamoVersion is 1.4.2; "
        "use 1.6.1 or newer",
    ),
    "KEDA and workers of several pods": (
        {
            **MONITORED,
            "target": "trtllm-agg-gb200",
            "pool": {"nodes": 4},
            "platform": {"install": False, "grove": "external"},
            "autoscaling": {"kind": "keda"},
            "graph": {
                "dynamoVersion": "1.6.1",
                "worker": {"tensorParallel": 8, "nodes": 2, "maxReplicas": 2},
            },
        },
        "autoscaling.kind: 'keda' counts pods, and one worker of graph.worker is 2 of them (nodes); choose planner or "
        "external",
    ),
    "latencies from nowhere": (
        scaled("planner", dynamoVersion="1.6.1")
        | {"autoscaling": {"kind": "planner", "optimization": "sla"}},
        "autoscaling.optimization: 'sla' reads latencies from Prometheus; set monitoring.kind or "
        "platform.prometheusEndpoint, or choose throughput or latency",
    ),
    "a least that nobody holds": (
        scaled("external", decode={"replicas": 2}),
        "graph.decode.replicas: 2, but a graph that something of yours scales begins with one worker; leave it out and "
        "give that something its own minimum",
    ),
    "a key of another kind": (
        scaled("external") | {"autoscaling": {"kind": "external", "pendingRequests": 5}},
        "autoscaling: {kind, pendingRequests}: pendingRequests is for kind keda, not external",
    ),
    "no such kind": (
        scaled("hpa"),
        "autoscaling.kind: 'hpa': input should be 'none', 'keda', 'planner' or 'external'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_is_refused_with_this_message(case: str) -> None:
    values, message = REFUSED[case]
    with pytest.raises(ConfigError) as refused:
        settings(values)
    assert str(refused.value) == f"{PROJECT}:{message}"


def test_a_mocker_has_no_gpus_for_a_planner_to_count() -> None:
    values = scaled("planner", dynamoVersion="1.6.1") | {"target": "mocker-disagg-cpu"}
    with pytest.raises(ConfigError, match="'planner' counts GPUs, and target mocker-disagg-cpu has none"):
        settings(values)


def test_graphs_beside_each_other_need_room_for_all_they_may_become() -> None:
    fits = scaled("external") | {"pool": {"nodes": 3}}
    both = fits | {"graphs": [{"name": "other", "transport": "node"}]}
    assert [plan.at_most.gpus for plan in settings(both).graphs] == [12, 8]
    with pytest.raises(ConfigError, match="pool: its graphs together need 20 GPUs"):
        settings(both | {"pool": {"nodes": 2}})


def test_workers_that_may_outgrow_a_node_are_spread_from_the_start() -> None:
    assert settings(TWO_NODES).main.transport == "pod"
    assert settings(scaled("external")).main.transport == "efa"
