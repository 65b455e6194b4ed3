"""Scrape targets for the Prometheus operator: frontends, workers, their NIXL exporters, and DCGM. Pure.

The platform's chart makes PodMonitors of its own where the Prometheus operator was there first. They carry neither our
labels nor `graph` and `role`; the Prometheus that we install selects ours alone, so nothing is counted twice.
"""

from collections.abc import Mapping
from typing import Any

from graphs.monitoring.queries import GRAPH_LABEL as GRAPH
from graphs.monitoring.queries import ROLE_LABEL as ROLE
from graphs.names import MANAGED_BY
from graphs.placement import COMPONENT_TYPE_LABEL, GRAPH_LABEL

API_VERSION = "monitoring.coreos.com/v1"
SUB_COMPONENT_TYPE_LABEL = "nvidia.com/dynamo-sub-component-type"
"""Says prefill or decode in graphs of v1alpha1, whose component type is `worker` for both."""
SIDECAR_ROLE = "frontend-sidecar"
"""A role of their own: one that answers says nothing about the worker beside it, nor about the graph's frontend."""
DYNAMO_NAMESPACE_LABEL = "nvidia.com/dynamo-namespace"
_INTERVAL = "15s"


def pod_monitors(
    namespace: str, labels: Mapping[str, str], *, sidecars: bool = False
) -> list[dict[str, Any]]:
    """PodMonitors for every graph of the namespace. labels: what the Prometheus selects monitors by.

    sidecars: whether a graph has frontends beside its workers, which count the requests that a Gateway sends there.
    """
    workers = ("worker", "prefill", "decode")
    beside = _pod_monitor(
        "dynamo-frontend-sidecars", namespace, labels, workers, ("http",), role=SIDECAR_ROLE
    )
    return [
        _pod_monitor("dynamo-frontends", namespace, labels, ("frontend",), ("http",)),
        # A worker names its NIXL port only with telemetry on; a port that no pod has scrapes nothing.
        _pod_monitor("dynamo-workers", namespace, labels, workers, ("system", "nixl")),
        *([beside] if sidecars else []),
    ]


def dcgm_service_monitor(namespace: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """A ServiceMonitor for the GPU operator's DCGM exporter, in whatever namespace that is."""
    return {
        "apiVersion": API_VERSION,
        "kind": "ServiceMonitor",
        "metadata": _metadata("dcgm-exporter", namespace, labels),
        "spec": {
            "namespaceSelector": {"any": True},
            "selector": {"matchLabels": {"app": "nvidia-dcgm-exporter"}},
            "endpoints": [{"port": "gpu-metrics", "interval": _INTERVAL}],
        },
    }


def _pod_monitor(
    name: str,
    namespace: str,
    labels: Mapping[str, str],
    types: tuple[str, ...],
    ports: tuple[str, ...],
    *,
    role: str | None = None,
) -> dict[str, Any]:
    """role: what the pods' role is called, where their labels do not say it."""
    selected = {"key": COMPONENT_TYPE_LABEL, "operator": "In", "values": list(types)}
    return {
        "apiVersion": API_VERSION,
        "kind": "PodMonitor",
        "metadata": _metadata(name, namespace, labels),
        "spec": {
            "selector": {"matchExpressions": [selected]},
            "podMetricsEndpoints": [
                {"port": port, "path": "/metrics", "interval": _INTERVAL, "relabelings": _relabelings(role)}
                for port in ports
            ],
        },
    }


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


def _metadata(name: str, namespace: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return {"name": name, "namespace": namespace, "labels": {**MANAGED_BY, **labels}}
