"""What turns nodes with GPUs into nodes that Kubernetes can give GPUs, EFA devices and NVLink domains from."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components import charts
from components.charts import Release
from facts.versions import DRA_DRIVER, EFA_DEVICE_PLUGIN, GPU_OPERATOR, Chart
from manifests.services.charts import dra_values, efa_values, gpu_operator_values


@dataclass(frozen=True, kw_only=True)
class GpuEnablementArgs:
    """What the nodes have besides GPUs."""

    efa: bool
    """Whether they have EFA devices."""
    compute_domains: bool
    """Whether they share NVLink domains (GB200)."""


class GpuEnablement(pulumi.ComponentResource):
    """GPU operator without driver and toolkit, EFA device plugin, and the DRA driver for ComputeDomains."""

    def __init__(
        self, name: str, args: GpuEnablementArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:GpuEnablement", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        operator = _release(GPU_OPERATOR, gpu_operator_values(), child)
        if args.efa:
            _release(EFA_DEVICE_PLUGIN, efa_values(), child)
        if args.compute_domains:
            # It reads the clique label that the GPU operator's feature discovery writes.
            after = pulumi.ResourceOptions(parent=self, depends_on=operator)
            _release(DRA_DRIVER, dra_values(), after)
        self.register_outputs({})


def _release(
    chart: Chart, values: dict[str, Any], opts: pulumi.ResourceOptions
) -> kubernetes.helm.v3.Release:
    there = chart.namespace == "kube-system"
    return charts.release(Release(chart=chart, values=values), opts, create_namespace=not there)
