"""Helm values of the `dynamo-platform` chart. Pure.

Keys as the chart's README documents them. The chart of 1.0 does not know `global.nats.install` yet (dynamo PR#9232): it
always brings NATS, which graphs of 1.0 need. `webhook.enabled` went at 1.0 and `webhook.namespaceSelector` must stay
empty, so neither is ever written.
"""

from typing import Any

from targets.platform import GROVE_OWNS_POD_GROUPS_SINCE, Addon, Platform
from targets.releases import Version

RELEASE = "dynamo-platform"


def chart_url(version: Version) -> str:
    """Where the chart is: a plain file over HTTPS. The OCI address answers 404 (dynamo#12372)."""
    return f"https://helm.ngc.nvidia.com/nvidia/ai-dynamo/charts/{RELEASE}-{version}.tgz"


def platform_values(platform: Platform, pull_secret: str | None) -> dict[str, Any]:
    """Values of the release. pull_secret: Secret for nvcr.io in the platform's namespace, None where none is needed."""
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


def _operator(platform: Platform, pull_secret: str | None) -> dict[str, Any]:
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
