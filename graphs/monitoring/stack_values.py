"""Helm values of `kube-prometheus-stack`, for a stack that brings its own Prometheus and Grafana. Pure."""

from typing import Any

from graphs.names import MANAGED_BY

RELEASE = "kube-prometheus-stack"
PORT = 9090
SIDECAR_LABEL = "grafana_dashboard"
"""Label by which Grafana's sidecar finds ConfigMaps with dashboards."""


def stack_values(retention_days: int, storage_class: str | None, storage: str) -> dict[str, Any]:
    """Values of the release. storage: size of the claim that Prometheus keeps its series on."""
    claim: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage}},
    }
    if storage_class:
        claim["storageClassName"] = storage_class
    return {
        "fullnameOverride": RELEASE,
        "prometheus": {
            "prometheusSpec": {
                "retention": f"{retention_days}d",
                "storageSpec": {"volumeClaimTemplate": {"spec": claim}},
                # Ours alone: the platform's own PodMonitors scrape the same pods under other labels.
                "podMonitorSelector": {"matchLabels": dict(MANAGED_BY)},
                "ruleSelectorNilUsesHelmValues": False,
                "serviceMonitorSelectorNilUsesHelmValues": False,
            }
        },
        "grafana": _grafana(),
        # EKS runs these where nobody can scrape them; their alerts would never be quiet.
        "kubeControllerManager": {"enabled": False},
        "kubeEtcd": {"enabled": False},
        "kubeScheduler": {"enabled": False},
    }


def prometheus_url(namespace: str) -> str:
    """Address of the Prometheus inside the cluster."""
    return f"http://{RELEASE}-prometheus.{namespace}.svc:{PORT}"


def _grafana() -> dict[str, Any]:
    """Read-only and without any password: reached through a port-forward, which Kubernetes authorises."""
    return {
        "grafana.ini": {
            "auth": {"disable_login_form": True},
            "auth.anonymous": {"enabled": True, "org_role": "Viewer"},
            "auth.basic": {"enabled": False},
        },
        "sidecar": {
            # Without a password nothing may ask Grafana to reload; it looks for changed files by itself.
            "dashboards": {
                "enabled": True,
                "label": SIDECAR_LABEL,
                "searchNamespace": "ALL",
                "skipReload": True,
            },
            # Read by an init container: with the chart's WATCH it would never end, nor Grafana ever start.
            "datasources": {"initDatasources": True, "skipReload": True, "watchMethod": "LIST"},
        },
    }
