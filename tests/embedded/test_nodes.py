"""Simulated nodes against what real ones show."""

from embedded import nodes
from facts.hardware import INSTANCE_TYPES

GB200 = INSTANCE_TYPES["p6e-gb200.36xlarge"]
CPU = INSTANCE_TYPES["m7i.4xlarge"]


def test_a_gpu_node_shows_what_gpu_feature_discovery_and_the_device_plugins_show() -> None:
    node = nodes.node(GB200, "gb200-7", "us-east-1-dfw-2a", {"team": "a"})
    assert node["metadata"]["labels"] == {
        "dynamo-gpt-oss/simulated": "true",
        "kubernetes.io/arch": "arm64",
        "kubernetes.io/hostname": "gb200-7",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "p6e-gb200.36xlarge",
        "nvidia.com/gpu.count": "4",
        "nvidia.com/gpu.memory": "189471",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": "NVIDIA-GB200",
        "nvidia.com/cuda.runtime-version.major": "12",
        "nvidia.com/cuda.runtime-version.minor": "8",
        "team": "a",
        "topology.kubernetes.io/zone": "us-east-1-dfw-2a",
        "vpc.amazonaws.com/efa.present": "true",
    }
    assert node["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}]
    capacity, allocatable = node["status"]["capacity"], node["status"]["allocatable"]
    assert capacity == {
        "cpu": "144",
        "memory": "960Gi",
        "ephemeral-storage": "22500G",
        "pods": "250",
        "nvidia.com/gpu": "4",
        "vpc.amazonaws.com/efa": "4",
    }
    # 60 + 10 + 2×5 + 140×2.5 millicores; 255 + 250×11 + 100 MiB.
    assert allocatable["cpu"] == "143570m"
    assert allocatable["memory"] == f"{960 * 1024 - 3105}Mi"
    assert allocatable["nvidia.com/gpu"] == "4"


def test_a_cpu_node_has_no_trace_of_gpus() -> None:
    node = nodes.node(CPU, "cpu-7", "us-east-1a")
    assert not [label for label in node["metadata"]["labels"] if "nvidia" in label or "efa" in label]
    assert node["spec"]["taints"] == []
    assert set(node["status"]["capacity"]) == {"cpu", "memory", "ephemeral-storage", "pods"}
    assert node["status"]["allocatable"]["cpu"] == "15890m"


def test_a_pool_may_set_labels_of_its_own_over_the_nodes() -> None:
    node = nodes.node(CPU, "cpu-7", "us-east-1a", {"kubernetes.io/hostname": "other"})
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "other"


def test_the_default_cluster() -> None:
    shown = [
        (
            node["metadata"]["labels"].get("nvidia.com/gpu.product"),
            node["status"]["capacity"].get("nvidia.com/gpu"),
        )
        for node in nodes.default()
    ]
    assert shown == [
        ("NVIDIA-B200", "8"),
        ("NVIDIA-H100-80GB-HBM3", "8"),
        ("NVIDIA-GB200", "4"),
        ("NVIDIA-GB200", "4"),
        (None, None),
    ]
