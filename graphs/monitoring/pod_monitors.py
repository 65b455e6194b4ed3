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
_INTERVAL = "15s"


def pod_monitors(namespace: str, labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """PodMonitors for every graph of the namespace. labels: what the Prometheus selects monitors by."""
    return [
        _pod_monitor("dynamo-frontends", namespace, labels, ("frontend",), ("http",)),
        # A worker names its NIXL port only with telemetry on; a port that no pod has scrapes nothing.
        _pod_monitor(
            "dynamo-workers", namespace, labels, ("worker", "prefill", "decode"), ("system", "nixl")
        ),
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
    name: str, namespace: str, labels: Mapping[str, str], types: tuple[str, ...], ports: tuple[str, ...]
) -> dict[str, Any]:
    selected = {"key": COMPONENT_TYPE_LABEL, "operator": "In", "values": list(types)}
    return {
        "apiVersion": API_VERSION,
        "kind": "PodMonitor",
        "metadata": _metadata(name, namespace, labels),
        "spec": {
            "selector": {"matchExpressions": [selected]},
            "podMetricsEndpoints": [
                {"port": port, "path": "/metrics", "interval": _INTERVAL, "relabelings": _relabelings()}
                for port in ports
            ],
        },
    }


def _relabelings() -> list[dict[str, Any]]:
    return [
        _from_pod_label(GRAPH_LABEL, GRAPH),
        _from_pod_label(COMPONENT_TYPE_LABEL, ROLE),
        _from_pod_label(SUB_COMPONENT_TYPE_LABEL, ROLE),
    ]


def _from_pod_label(label: str, target: str) -> dict[str, Any]:
    """Takes the label over where the pod has it; a later one wins."""
    source = "__meta_kubernetes_pod_label_" + label.replace(".", "_").replace("/", "_").replace("-", "_")
    return {"action": "replace", "sourceLabels": [source], "regex": "(.+)", "targetLabel": target}


def _metadata(name: str, namespace: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return {"name": name, "namespace": namespace, "labels": {**MANAGED_BY, **labels}}
