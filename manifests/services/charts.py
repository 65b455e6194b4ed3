"""Helm values of every chart that a stack installs, and what others know of what a chart brings. Pure.

Which chart and which version stands in `facts/versions.py`; the platform's is that of its Dynamo release.
"""

from dataclasses import dataclass
from typing import Any

from facts.releases import Version
from facts.versions import KUBE_PROMETHEUS_STACK, PLATFORM_CHART, Chart
from manifests.gpu_nodes import GPU_PRESENT_LABEL, GPU_TAINT, among, node_affinity
from manifests.names import MANAGED_BY
from manifests.objects import claim_spec
from targets.platform import GROVE_OWNS_POD_GROUPS_SINCE, Addon, Platform

_PROMETHEUS_PORT = 9090
SIDECAR_LABEL = "grafana_dashboard"
"""Label by which Grafana's sidecar finds ConfigMaps with dashboards."""
EXTERNAL_SECRETS_ACCOUNT = "external-secrets"
"""Service account of External Secrets; a pod identity association gives it access to the secrets."""


def platform_chart(version: Version) -> Chart:
    """The platform of a release."""
    return Chart("dynamo-platform", PLATFORM_CHART, str(version), "dynamo-system")


def platform_values(platform: Platform, pull_secret: Any) -> dict[str, Any]:
    """Values of the platform. pull_secret: Secret for nvcr.io in its namespace, may be an Output; None for none.

    Keys as the chart's README documents them. The chart of 1.0 does not know `global.nats.install` yet (dynamo
    PR#9232): it always brings NATS, which graphs of 1.0 need. `webhook.enabled` went at 1.0 and
    `webhook.namespaceSelector` must stay empty, so neither is ever written.
    """
    values: dict[str, Any] = {
        "global": {
            "nats": {"install": platform.nats},
            "etcd": {"install": platform.etcd},
            "grove": _addon(platform.grove),
            "kai-scheduler": _addon(platform.kai_scheduler),
        },
        "dynamo-operator": _operator(platform, pull_secret),
    }
    if platform.storage_class and platform.nats:
        claim = {"storageClassName": platform.storage_class}
        values["nats"] = {"config": {"jetstream": {"fileStore": {"pvc": claim}}}}
    if platform.storage_class and platform.etcd:
        values["etcd"] = {"persistence": {"storageClass": platform.storage_class}}
    both_bundled = platform.grove is Addon.BUNDLED and platform.kai_scheduler is Addon.BUNDLED
    if both_bundled and platform.version >= GROVE_OWNS_POD_GROUPS_SINCE:
        values["kai-scheduler"] = {"scheduler": {"args": {"default-staleness-grace-period": "-1s"}}}
    return values


def _operator(platform: Platform, pull_secret: Any) -> dict[str, Any]:
    operator: dict[str, Any] = {
        # The operator's image brings the CRDs of its release and applies them, upgrades too.
        "upgradeCRD": True,
        "discoveryBackend": platform.discovery.value,
        "webhook": {
            # 'Ignore' would let graphs past the operator's validation and defaulting.
            "failurePolicy": "Fail",
            "timeoutSeconds": platform.webhook_timeout_seconds,
            "certManager": {"enabled": platform.cert_manager},
        },
    }
    if platform.prometheus:
        operator["dynamo"] = {"metrics": {"prometheusEndpoint": platform.prometheus}}
    if pull_secret:
        operator["imagePullSecrets"] = [{"name": pull_secret}]
    return operator


def _addon(addon: Addon) -> dict[str, bool]:
    return {"install": addon is Addon.BUNDLED, "enabled": addon is not Addon.NONE}


@dataclass(frozen=True, kw_only=True)
class Prometheus:
    """What a stack chooses of its Prometheus. storage: size of the claim that it keeps its series on.

    storage_class: of that claim, None for the cluster's default.
    """

    retention_days: int
    storage: str
    storage_class: str | None


def prometheus_values(wanted: Prometheus) -> dict[str, Any]:
    """Values of kube-prometheus-stack."""
    claim = claim_spec(wanted.storage, "ReadWriteOnce", wanted.storage_class)
    return {
        "fullnameOverride": KUBE_PROMETHEUS_STACK.name,
        "prometheus": {
            "prometheusSpec": {
                "retention": f"{wanted.retention_days}d",
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
    return f"http://{KUBE_PROMETHEUS_STACK.name}-prometheus.{namespace}.svc:{_PROMETHEUS_PORT}"


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


def gpu_operator_values() -> dict[str, Any]:
    """Values of the GPU operator on EKS's NVIDIA AMI, which has driver, toolkit and fabric manager."""
    return {
        "driver": {"enabled": False},
        "toolkit": {"enabled": False},
        # MIG excludes GB200's coherent memory and would split what tensor parallelism spans.
        "migManager": {"enabled": False},
        # From 0.19 the plugin hands all verbs devices to every pod, past EFA's own plugin, unless this is off.
        "devicePlugin": {"enabled": True, "env": [{"name": "MOFED_ENABLED", "value": "false"}]},
        "gfd": {"enabled": True},
        "nfd": {"enabled": True},
        "dcgmExporter": {"enabled": True},
        "daemonsets": {"tolerations": [GPU_TAINT.toleration]},
        "node-feature-discovery": {"worker": {"tolerations": [GPU_TAINT.toleration]}},
    }


def efa_values() -> dict[str, Any]:
    """Values of the EFA device plugin, which tolerates nothing of its own accord."""
    return {"tolerations": [GPU_TAINT.toleration]}


def dra_values() -> dict[str, Any]:
    """Values of NVIDIA's DRA driver: ComputeDomains only, GPUs stay with the device plugin."""
    return {
        "resources": {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}},
        # The chart wants control-plane nodes, which EKS does not show (aicr PR#93). None takes a default away;
        # pulumi-kubernetes hands it to Helm from 4.30 on.
        "controller": {"affinity": None, "nodeSelector": None, "tolerations": []},
        "kubeletPlugin": {
            "affinity": node_affinity(among(GPU_PRESENT_LABEL, "true")),
            "tolerations": [GPU_TAINT.toleration],
        },
    }


def external_secrets_values() -> dict[str, Any]:
    """Values of External Secrets: its CRDs, and the service account that has access to the secrets."""
    return {"installCRDs": True, "serviceAccount": {"name": EXTERNAL_SECRETS_ACCOUNT}}
