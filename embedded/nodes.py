"""Simulated nodes as EKS with NVIDIA's GPU Operator and the EFA device plugin would show them. Pure.

What is left out: what no graph and no check of this project asks for. Nothing runs on these nodes; kwok plays kubelet.
"""

from collections.abc import Mapping
from typing import Any

from facts.hardware import GPU_MEMORY_MIB, GPU_PRODUCT, INSTANCE_TYPES, InstanceType
from manifests.gpu_nodes import GPU_TAINT, GpuNodes

SIMULATED = "dynamo-gpt-oss/simulated"
"""Label of every simulated node, and what kwok selects by."""

_ROOT_DISK_GB = 100
"""Size given to a node without local NVMe; with NVMe, pods' ephemeral storage is on a RAID 0 of it."""


def node(
    instance: InstanceType, name: str, zone: str, pool_labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The Node object, status included, of one simulated instance.

    zone: an availability or local zone, for example `us-east-1a`. pool_labels: of the node's pool, over the node's own.
    """
    capacity = _capacity(instance)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                SIMULATED: "true",
                "kubernetes.io/arch": str(instance.arch),
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": instance.name,
                "topology.kubernetes.io/zone": zone,
                **_gpu_labels(instance),
                **({"vpc.amazonaws.com/efa.present": "true"} if instance.efa_devices else {}),
                **(pool_labels or {}),
            },
        },
        "spec": {"taints": [GPU_TAINT.on_node] if instance.gpus else []},
        "status": {
            "capacity": capacity,
            "allocatable": {**capacity, **_allocatable(instance)},
            "addresses": [{"type": "Hostname", "address": name}],
        },
    }


def has_status(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a Node on the cluster has the capacity and what of it is allocatable that `node` gave it."""
    status = live.get("status", {})
    return all(
        wanted["status"][key].items() <= status.get(key, {}).items() for key in ("capacity", "allocatable")
    )


def is_ready(live: Mapping[str, Any]) -> bool:
    """Whether a Node on the cluster is Ready."""
    conditions = live.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def default() -> list[dict[str, Any]]:
    """Of every embedded cluster: one 8×B200, one 8×H100, two 4×GB200 in one NVLink domain, one CPU node."""
    nvlink = {"nvidia.com/gpu.clique": "5f7b0c2e-0000-4000-8000-000000000001.1"}
    return [
        _pooled("p6-b200.48xlarge", "b200-0", "b200"),
        _pooled("p5.48xlarge", "h100-0", "h100"),
        _pooled("p6e-gb200.36xlarge", "gb200-0", "gb200", nvlink),
        _pooled("p6e-gb200.36xlarge", "gb200-1", "gb200", nvlink),
        _pooled("m7i.4xlarge", "cpu-0", "cpu"),
    ]


def _pooled(instance: str, name: str, pool: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    pool_labels = {"eks.amazonaws.com/nodegroup": pool, **(labels or {})}
    return node(INSTANCE_TYPES[instance], name, "us-east-1a", pool_labels)


def _gpu_labels(instance: InstanceType) -> dict[str, str]:
    if instance.gpu is None:
        return {}
    return {
        **GpuNodes(product=GPU_PRODUCT[instance.gpu]).labels,
        "nvidia.com/gpu.count": str(instance.gpus),
        "nvidia.com/gpu.memory": str(GPU_MEMORY_MIB[instance.gpu]),
        # The oldest that the graphs run on.
        "nvidia.com/cuda.runtime-version.major": "12",
        "nvidia.com/cuda.runtime-version.minor": "8",
    }


def _capacity(instance: InstanceType) -> dict[str, str]:
    disks, each = instance.nvme_gb
    devices = {"nvidia.com/gpu": instance.gpus, "vpc.amazonaws.com/efa": instance.efa_devices}
    return {
        "cpu": str(instance.vcpus),
        "memory": _gib(instance.memory_gib),
        "ephemeral-storage": f"{disks * each or _ROOT_DISK_GB}G",
        "pods": str(_pods(instance)),
        **{resource: str(count) for resource, count in devices.items() if count},
    }


def _gib(count: int) -> str:
    """As the API server writes it, or a node that is there would seem to need its status anew."""
    return f"{count}Gi" if count % 1024 else f"{count // 1024}Ti"


def _allocatable(instance: InstanceType) -> dict[str, str]:
    """What EKS's defaults leave: kube-reserved CPU by cores, memory by pods, and the eviction thresholds."""
    cores = instance.vcpus
    reserved = 60 + 10 * (cores > 1) + 5 * min(max(cores - 2, 0), 2) + 2.5 * max(cores - 4, 0)
    disks, each = instance.nvme_gb
    return {
        "cpu": f"{cores * 1000 - round(reserved)}m",
        "memory": f"{instance.memory_gib * 1024 - (255 + 11 * _pods(instance)) - 100}Mi",
        "ephemeral-storage": f"{(disks * each or _ROOT_DISK_GB) * 9 // 10 - 1}G",
    }


def _pods(instance: InstanceType) -> int:
    """The limit that EKS recommends: 110 up to 30 vCPUs, 250 beyond."""
    return 110 if instance.vcpus <= 30 else 250
