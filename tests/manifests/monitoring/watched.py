"""Graphs that tests watch, and what is read off alerts, dashboards and queries."""

import json
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
import yaml

from facts.releases import LATEST_PATCH
from manifests.monitoring.alerts import Objectives, prometheus_rule
from manifests.services.charts import Prometheus
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from tests import plans
from tests.project import PROJECT

OBJECTIVES = Objectives(ttft=2.0, itl=0.03, idle_minutes=30, ttl="72h")
LABELS = {"release": "prometheus"}
PROMETHEUS = Prometheus(retention_days=15, storage="50Gi", storage_class="gp3")


def known_series() -> set[str]:
    """Series that the sources of tests/manifests/data/metrics.yaml name."""
    families = yaml.safe_load((PROJECT / "tests" / "manifests" / "data" / "metrics.yaml").read_text())
    series: set[str] = set()
    for family in families:
        series |= {*family.get("counters", ()), *family.get("gauges", ())}
        series |= {
            f"{name}_{part}" for name in family.get("histograms", ()) for part in ("bucket", "sum", "count")
        }
    return series


def plan_of(target: str, **graph: Any) -> GraphPlan:
    return plans.graph(target, cluster={"kind": "existing"}, graph=graph)


ONE_GPU: dict[str, Any] = {"prefill": {"tensorParallel": 1}, "decode": {"tensorParallel": 1}}
"""Workers whose pod has one NIXL agent, so that its telemetry is on."""


def efa(target: str, version: str, **graph: Any) -> GraphPlan:
    """The target with its workers apart, on more nodes than it needs."""
    return plans.graph(
        target, pool={"nodes": 2}, graph={"transport": "efa", "dynamoVersion": version, **graph}
    )


PLANS = [
    *(plan_of(name) for name in TARGETS),
    efa("sglang-disagg-h100", LATEST_PATCH["1.4"]),
    efa("vllm-disagg-h100", LATEST_PATCH["1.4"]),
    plan_of("trtllm-disagg-b200", decode={"extraArgs": ["--publish-events-and-metrics"]}),
    plan_of("trtllm-disagg-b200", transport="node"),
]
"""Every target, those whose KV transfer is counted in each of the three ways, and one with a pod a worker."""


by_plan = pytest.mark.parametrize(
    "plan", PLANS, ids=lambda plan: f"{plan.target.name}-{plan.transport}-{plan.version}"
)


def rules(plan: GraphPlan, objectives: Objectives = OBJECTIVES) -> list[dict[str, Any]]:
    (group,) = prometheus_rule([plan], "dynamo", objectives, LABELS)["spec"]["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def panels(text: str) -> Iterator[dict[str, Any]]:
    for panel in json.loads(text)["panels"]:
        yield panel
        yield from panel.get("panels", ())


def selectors(node: Any) -> Iterator[Any]:
    """Every vector selector below a parsed expression."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for name in ("expr", "lhs", "rhs", "vector_selector", "param"):
        child = getattr(node, name, None)
        if child is not None and not isinstance(child, str):
            yield from selectors(child)
    for child in getattr(node, "args", None) or ():
        yield from selectors(child)
