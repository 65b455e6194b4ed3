"""What changes the number of a graph's workers: KEDA, if asked for, and what it is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from components.charts import release_in_own_namespace
from components.manifests import ready_resource
from targets.versions import Chart


@dataclass(frozen=True, kw_only=True)
class KedaArgs:
    """chart: KEDA's, which gets a namespace of its own."""

    chart: Chart


class Keda(pulumi.ComponentResource):
    """KEDA on the cluster; it makes a HorizontalPodAutoscaler of every ScaledObject and feeds it."""

    def __init__(self, name: str, args: KedaArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Keda", name, None, opts)
        release_in_own_namespace(args.chart, pulumi.ResourceOptions(parent=self), minutes=10)
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
            ready_resource(manifest["metadata"]["name"], manifest, pulumi.ResourceOptions(parent=self))
        self.register_outputs({})
