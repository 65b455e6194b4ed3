"""Every Planner configuration of ours is taken by the Planner of its release, each key as it was meant."""

from dataclasses import replace

import pytest

from facts.releases import LATEST_PATCH
from targets.parts import Planner
from tests.manifests.services.test_autoscaling import plan, planner_of
from tests.parsers.harness import run_child

RELEASE = LATEST_PATCH["1.6"]
GRAPHS = (
    plan(kind="planner"),
    plan("vllm-disagg-h100", "planner", decode={"maxReplicas": 2}),
    plan("sglang-disagg-h100", "planner", prefill={"maxReplicas": 2}, transport="efa"),
    plan("vllm-agg-agentic-b200", "planner", worker={"replicas": 2, "maxReplicas": 8}),
)
SLA = Planner(optimization="sla", ttft=2.0, itl=0.03, advisory=True)


def test_the_planner_takes_every_configuration() -> None:
    graphs = [*GRAPHS, *(replace(graph, operation=replace(graph.operation, planner=SLA)) for graph in GRAPHS)]
    configs = [planner_of(graph)[1] for graph in graphs]
    for config, (kept, unknown) in zip(configs, run_child("planner_child", RELEASE, configs), strict=True):
        assert unknown == []
        assert kept == config


def test_the_planner_refuses_what_it_does_not_mean() -> None:
    _, config = planner_of(GRAPHS[0])
    with pytest.raises(RuntimeError, match="max_gpu_budget"):
        run_child("planner_child", RELEASE, [config | {"max_gpu_budget": "many"}])
