"""Monitoring of a stack: Prometheus and Grafana if asked for, scrape targets, alert rules and dashboards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from components.charts import release_in_own_namespace
from components.manifests import config_map, custom_resource
from targets.versions import Chart


@dataclass(frozen=True, kw_only=True)
class PrometheusStack:
    """A release of kube-prometheus-stack, which gets a namespace of its own."""

    chart: Chart
    values: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class MonitoringArgs:
    """stack: None where a Prometheus operator is on the cluster already."""

    stack: PrometheusStack | None


class Monitoring(pulumi.ComponentResource):
    """Prometheus, its operator and Grafana; before the platform, which tells its graphs where Prometheus is."""

    def __init__(self, name: str, args: MonitoringArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Monitoring", name, None, opts)
        if args.stack:
            release_in_own_namespace(
                args.stack.chart,
                pulumi.ResourceOptions(parent=self),
                values=args.stack.values,
                max_history=5,
            )
        self.register_outputs({})


@dataclass(frozen=True, kw_only=True)
class WatchArgs:
    """monitors: PodMonitors, ServiceMonitors and PrometheusRules. dashboards: the ConfigMap of dashboards."""

    monitors: Sequence[Mapping[str, Any]]
    dashboards: Mapping[str, Any]


class Watch(pulumi.ComponentResource):
    """What is watched of the stack's graphs."""

    def __init__(self, name: str, args: WatchArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Watch", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        for manifest in args.monitors:
            custom_resource(f"{manifest['kind']}-{manifest['metadata']['name']}".lower(), manifest, child)
        config_map(args.dashboards, child)
        self.register_outputs({})
