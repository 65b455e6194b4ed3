"""Scrape targets for the Prometheus operator: frontends, workers, NIXL exporters, and DCGM. Pure.

The platform's chart makes PodMonitors of its own where the Prometheus operator was there first. They carry neither our
labels nor `graph` and `role`; the Prometheus that we install selects ours alone, so nothing is counted twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from manifests.gpu_nodes import among
from manifests.graph.placement import COMPONENT_TYPE_LABEL, GRAPH_LABEL
from manifests.monitoring import queries
from manifests.monitoring.queries import GRAPH_LABEL as GRAPH
from manifests.monitoring.queries import ROLE_LABEL as ROLE
from manifests.objects import manifest
from targets.naming import component_name
from targets.plan import GraphPlan

API_VERSION = "monitoring.coreos.com/v1"
COMPONENT_LABEL = "nvidia.com/dynamo-component"
SUB_COMPONENT_TYPE_LABEL = "nvidia.com/dynamo-sub-component-type"
"""Says prefill or decode in graphs of v1alpha1, whose component type is `worker` for both before the operator 1.2."""
SIDECAR_ROLE = "frontend-sidecar"
"""A role of their own: one that answers says nothing about the worker beside it, nor about the graph's frontend."""
DYNAMO_NAMESPACE_LABEL = "nvidia.com/dynamo-namespace"
_INTERVAL = "15s"


def pod_monitors(
    plans: Sequence[GraphPlan], namespace: str, labels: Mapping[str, str]
) -> list[dict[str, Any]]:
    """PodMonitors for the graphs of the namespace. labels: what the Prometheus selects monitors by.

    Frontends beside workers are scraped too, because they count the requests that a Gateway sends there.
    """
    workers = _of_types("worker", "prefill", "decode")
    frontends = _pod_monitor(
        "dynamo-frontends", namespace, labels, [_of_types("frontend")], queries.FRONTEND_PORT
    )
    beside = _pod_monitor(
        "dynamo-frontend-sidecars", namespace, labels, [workers], queries.FRONTEND_PORT, role=SIDECAR_ROLE
    )
    return [
        frontends,
        _pod_monitor("dynamo-workers", namespace, labels, [workers], queries.WORKER_PORT),
        *_nixl_agents(plans, namespace, labels),
        *([beside] if any(plan.frontend.inference_extension for plan in plans) else []),
    ]


def _nixl_agents(
    plans: Sequence[GraphPlan], namespace: str, labels: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Of workers with telemetry alone: all name the port, and where nobody listens the target is always down.

    In one pod each worker's agent has a port of its own, and the pod's own port speaks for them.
    """
    for plan in plans:
        if plan.in_one_pod:
            continue
        speaking = [
            component_name(plan.target.engine, planned)
            for planned in plan.workers
            if queries.has_telemetry(plan, planned)
        ]
        if speaking:
            selected = [among(GRAPH_LABEL, plan.name), among(COMPONENT_LABEL, *speaking)]
            yield _pod_monitor(f"dynamo-nixl-{plan.name}", namespace, labels, selected, queries.NIXL_PORT)


def dcgm_service_monitor(namespace: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """A ServiceMonitor for the GPU operator's DCGM exporter, in whatever namespace that is."""
    spec = {
        "namespaceSelector": {"any": True},
        "selector": {"matchLabels": {"app": "nvidia-dcgm-exporter"}},
        "endpoints": [{"port": "gpu-metrics", "interval": _INTERVAL}],
    }
    return manifest(API_VERSION, "ServiceMonitor", "dcgm-exporter", namespace, labels=labels, spec=spec)


def _pod_monitor(
    name: str,
    namespace: str,
    labels: Mapping[str, str],
    selected: Sequence[Mapping[str, Any]],
    port: str,
    *,
    role: str | None = None,
) -> dict[str, Any]:
    """selected: what pods' labels must be. role: what the pods' role is called, where their labels do not say it."""
    endpoint = {"port": port, "path": "/metrics", "interval": _INTERVAL, "relabelings": _relabelings(role)}
    spec = {"selector": {"matchExpressions": list(selected)}, "podMetricsEndpoints": [endpoint]}
    return manifest(API_VERSION, "PodMonitor", name, namespace, labels=labels, spec=spec)


def _of_types(*types: str) -> dict[str, Any]:
    return among(COMPONENT_TYPE_LABEL, *types)


def _relabelings(role: str | None) -> list[dict[str, Any]]:
    graph = _from_pod_label(GRAPH_LABEL, GRAPH)
    if role is not None:
        return [graph, {"action": "replace", "targetLabel": ROLE, "replacement": role}]
    return [
        graph,
        _from_pod_label(COMPONENT_TYPE_LABEL, ROLE),
        _from_pod_label(SUB_COMPONENT_TYPE_LABEL, ROLE),
        # By this label Dynamo's Planner knows its graph's series.
        _from_pod_label(DYNAMO_NAMESPACE_LABEL, "dynamo_namespace"),
    ]


def _from_pod_label(label: str, target: str) -> dict[str, Any]:
    """Takes the label over where the pod has it; a later one wins."""
    source = "__meta_kubernetes_pod_label_" + label.replace(".", "_").replace("/", "_").replace("-", "_")
    return {"action": "replace", "sourceLabels": [source], "regex": "(.+)", "targetLabel": target}
