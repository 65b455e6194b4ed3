"""Prometheus and Grafana for a stack's graphs."""

from dataclasses import dataclass
from typing import cast

import pulumi

from components.charts import Release, release_in_own_namespace
from facts.versions import KUBE_PROMETHEUS_STACK
from manifests.services.charts import Prometheus, prometheus_url, prometheus_values


@dataclass(frozen=True, kw_only=True)
class MonitoringArgs:
    """What is installed: kube-prometheus-stack."""

    namespace: pulumi.Input[str] = KUBE_PROMETHEUS_STACK.namespace
    """Namespace of its own, which is made."""
    retention_days: int = 15
    """Days that series are kept."""
    storage: pulumi.Input[str] = "50Gi"
    """Size of Prometheus's claim."""
    storage_class: pulumi.Input[str] | None = None
    """StorageClass of that claim; by default the cluster's default."""


class Monitoring(pulumi.ComponentResource):
    """Prometheus, its operator and Grafana; before the platform, which tells its graphs where Prometheus is."""

    endpoint: pulumi.Output[str]
    """URL of Prometheus inside the cluster, once it is there."""

    def __init__(self, name: str, args: MonitoringArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Monitoring", name, None, opts)
        wanted = Prometheus(
            retention_days=args.retention_days,
            storage=cast(str, args.storage),
            storage_class=cast("str | None", args.storage_class),
        )
        brought = Release(
            chart=KUBE_PROMETHEUS_STACK,
            namespace=args.namespace,
            values=prometheus_values(wanted),
            max_history=5,
        )
        release = release_in_own_namespace(brought, pulumi.ResourceOptions(parent=self))
        self.endpoint = pulumi.Output.all(args.namespace, release.status).apply(
            lambda known: prometheus_url(known[0])
        )
        self.register_outputs({"endpoint": self.endpoint})
