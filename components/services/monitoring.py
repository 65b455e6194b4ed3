"""Prometheus and Grafana for a stack's graphs."""

from dataclasses import dataclass

import pulumi

from components.charts import Release, release_in_own_namespace


@dataclass(frozen=True, kw_only=True)
class MonitoringArgs:
    """What is installed."""

    release: Release
    """kube-prometheus-stack, which gets a namespace of its own."""


class Monitoring(pulumi.ComponentResource):
    """Prometheus, its operator and Grafana; before the platform, which tells its graphs where Prometheus is."""

    def __init__(self, name: str, args: MonitoringArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Monitoring", name, None, opts)
        release_in_own_namespace(args.release, pulumi.ResourceOptions(parent=self))
        self.register_outputs({})
