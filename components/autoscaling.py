"""What changes the number of a graph's workers: KEDA, if asked for, and what it is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components.external_secret import custom_resource
from graphs.names import MANAGED_BY

RELEASE = "keda"


@dataclass(frozen=True, kw_only=True)
class KedaArgs:
    """chart: HTTPS address of the chart's file. namespace: made here."""

    chart: str
    namespace: str


class Keda(pulumi.ComponentResource):
    """KEDA on the cluster; it makes a HorizontalPodAutoscaler of every ScaledObject and feeds it."""

    def __init__(self, name: str, args: KedaArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Keda", name, None, opts)
        namespace = kubernetes.core.v1.Namespace(
            args.namespace,
            metadata={"name": args.namespace, "labels": dict(MANAGED_BY)},
            opts=pulumi.ResourceOptions(parent=self),
        )
        kubernetes.helm.v3.Release(
            RELEASE,
            name=RELEASE,
            chart=args.chart,
            namespace=args.namespace,
            timeout=10 * 60,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[namespace]),
        )
        self.register_outputs({})


@dataclass(frozen=True, kw_only=True)
class AutoscalingArgs:
    """scaled_objects: one for each autoscaled role of the stack's graphs."""

    scaled_objects: Sequence[Mapping[str, Any]]


class Autoscaling(pulumi.ComponentResource):
    """ScaledObjects on the graphs' scaling adapters. They go before the graphs do, or KEDA would miss its targets."""

    def __init__(self, name: str, args: AutoscalingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Autoscaling", name, None, opts)
        for manifest in args.scaled_objects:
            custom_resource(manifest["metadata"]["name"], manifest, pulumi.ResourceOptions(parent=self))
        self.register_outputs({})
