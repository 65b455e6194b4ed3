"""What turns nodes with GPUs into nodes that Kubernetes can give GPUs, EFA devices and NVLink domains from."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from graphs.placement import GPU_PRESENT_LABEL, gpu_toleration
from stacks import versions

INSTALL_TIMEOUT_SECONDS = 15 * 60
_NVIDIA = "https://helm.ngc.nvidia.com/nvidia"
_EKS = "https://aws.github.io/eks-charts"


@dataclass(frozen=True)
class Chart:
    """A chart in its repository, and the namespace it goes into."""

    name: str
    repository: str
    version: str
    namespace: str


GPU_OPERATOR = Chart("gpu-operator", _NVIDIA, versions.GPU_OPERATOR, "gpu-operator")
EFA_DEVICE_PLUGIN = Chart("aws-efa-k8s-device-plugin", _EKS, versions.EFA_DEVICE_PLUGIN, "kube-system")
DRA_DRIVER = Chart("nvidia-dra-driver-gpu", _NVIDIA, versions.DRA_DRIVER, "nvidia-dra-driver-gpu")


@dataclass(frozen=True, kw_only=True)
class GpuEnablementArgs:
    """efa: whether the nodes have EFA devices. compute_domains: whether they share NVLink domains (GB200)."""

    efa: bool
    compute_domains: bool


class GpuEnablement(pulumi.ComponentResource):
    """GPU operator without driver and toolkit, EFA device plugin, and the DRA driver for ComputeDomains."""

    def __init__(
        self, name: str, args: GpuEnablementArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:GpuEnablement", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        operator = _release(GPU_OPERATOR, operator_values(), child)
        if args.efa:
            _release(EFA_DEVICE_PLUGIN, efa_values(), child)
        if args.compute_domains:
            # It reads the clique label that the GPU operator's feature discovery writes.
            after = pulumi.ResourceOptions(parent=self, depends_on=operator)
            _release(DRA_DRIVER, dra_values(), after)
        self.register_outputs({})


def operator_values() -> dict[str, Any]:
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
        "daemonsets": {"tolerations": [gpu_toleration()]},
        "node-feature-discovery": {"worker": {"tolerations": [gpu_toleration()]}},
    }


def efa_values() -> dict[str, Any]:
    """Values of the EFA device plugin, which tolerates nothing of its own accord."""
    return {"tolerations": [gpu_toleration()]}


def dra_values() -> dict[str, Any]:
    """Values of NVIDIA's DRA driver: ComputeDomains only, GPUs stay with the device plugin."""
    present = {"key": GPU_PRESENT_LABEL, "operator": "In", "values": ["true"]}
    terms = [{"matchExpressions": [present]}]
    return {
        "resources": {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}},
        # The chart wants control-plane nodes, which EKS does not show (aicr PR#93). None takes a default away;
        # pulumi-kubernetes hands it to Helm from 4.30 on.
        "controller": {"affinity": None, "nodeSelector": None, "tolerations": []},
        "kubeletPlugin": {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
                }
            },
            "tolerations": [gpu_toleration()],
        },
    }


def _release(
    chart: Chart, values: dict[str, Any], opts: pulumi.ResourceOptions
) -> kubernetes.helm.v3.Release:
    return kubernetes.helm.v3.Release(
        chart.name,
        name=chart.name,
        chart=chart.name,
        version=chart.version,
        namespace=chart.namespace,
        create_namespace=chart.namespace != "kube-system",
        repository_opts={"repo": chart.repository},
        values=values,
        timeout=INSTALL_TIMEOUT_SECONDS,
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(delete_before_replace=True)),
    )
