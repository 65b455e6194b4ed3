"""Monitoring of a stack: Prometheus and Grafana if asked for, scrape targets, alert rules and dashboards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from graphs.monitoring.stack_values import RELEASE
from graphs.names import MANAGED_BY

INSTALL_TIMEOUT_SECONDS = 15 * 60


@dataclass(frozen=True, kw_only=True)
class PrometheusStack:
    """A release of kube-prometheus-stack. chart: HTTPS address of the chart's file. namespace: made here."""

    chart: str
    namespace: str
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
            self._release(args.stack)
        self.register_outputs({})

    def _release(self, stack: PrometheusStack) -> None:
        namespace = kubernetes.core.v1.Namespace(
            stack.namespace,
            metadata={"name": stack.namespace, "labels": dict(MANAGED_BY)},
            opts=pulumi.ResourceOptions(parent=self),
        )
        kubernetes.helm.v3.Release(
            RELEASE,
            name=RELEASE,
            chart=stack.chart,
            namespace=stack.namespace,
            values=dict(stack.values),
            timeout=INSTALL_TIMEOUT_SECONDS,
            max_history=5,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[namespace]),
        )


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
            kubernetes.apiextensions.CustomResource(
                f"{manifest['kind']}-{manifest['metadata']['name']}".lower(),
                api_version=manifest["apiVersion"],
                kind=manifest["kind"],
                metadata=manifest["metadata"],
                spec=manifest["spec"],
                opts=child,
            )
        dashboards = args.dashboards
        kubernetes.core.v1.ConfigMap(
            dashboards["metadata"]["name"],
            metadata=dashboards["metadata"],
            data=dashboards["data"],
            opts=child,
        )
        self.register_outputs({})
