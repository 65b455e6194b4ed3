"""The EC2 instance types that GPT-OSS runs on, as data. Pure.

Sources: EC2's DescribeInstanceTypes and DescribeInstanceTypeOfferings for sizes, network cards and regions, the EC2
user guide's page on EFA with several network cards for layouts, the EKS user guide for AMI types, `nvidia-smi` and
GPU Feature Discovery for the GPU's product label and memory. p6e-gb200 is in neither EC2 list; its figures are those
of the EC2 instance type page and of the EKS guide to UltraServers.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple


class Arch(StrEnum):
    """CPU architecture, as in the node label `kubernetes.io/arch`."""

    AMD64 = "amd64"
    ARM64 = "arm64"


class Gpu(StrEnum):
    """GPU models; the value is what users write and what outputs show."""

    H100 = "H100"
    H200 = "H200"
    B200 = "B200"
    B300 = "B300"
    GB200 = "GB200"


GPU_PRODUCT = {
    Gpu.H100: "NVIDIA-H100-80GB-HBM3",
    Gpu.H200: "NVIDIA-H200",
    Gpu.B200: "NVIDIA-B200",
    Gpu.B300: "NVIDIA-B300-SXM6-AC",
    Gpu.GB200: "NVIDIA-GB200",
}
"""Value of GPU Feature Discovery's label `nvidia.com/gpu.product`."""

GPU_MEMORY_MIB = {
    Gpu.H100: 81559,
    Gpu.H200: 143771,
    Gpu.B200: 183359,
    Gpu.B300: 275040,
    Gpu.GB200: 189471,
}
"""Memory of one GPU in MiB, as `nvidia-smi` totals it and GPU Feature Discovery labels it."""


@dataclass(frozen=True, kw_only=True)
class InstanceType:
    """One EC2 instance type."""

    name: str
    arch: Arch
    vcpus: int
    memory_gib: int
    gpu: Gpu | None = None
    """Its GPUs' model, None for a CPU node."""
    gpus: int = 0
    """GPUs of a node."""
    efa_devices: int = 0
    """The node's `vpc.amazonaws.com/efa`; `interfaces` lays them out."""
    nvme_gb: tuple[int, int] = (0, 0)
    """Local NVMe as (disks, GB each)."""
    regions: frozenset[str] | None = None
    """Where EC2 offers the type, None where no list says."""
    nodes_per_ultraserver: tuple[int, ...] = ()
    """Sizes in which the type is sold, empty where single nodes are."""

    @property
    def family(self) -> str:
        """The part before the dot, for example `p6-b200`."""
        return self.name.partition(".")[0]


_NVME_8X3800 = (8, 3800)

INSTANCE_TYPES: dict[str, InstanceType] = {
    instance.name: instance
    for instance in (
        InstanceType(name="m7i.4xlarge", arch=Arch.AMD64, vcpus=16, memory_gib=64),
        InstanceType(name="m7g.4xlarge", arch=Arch.ARM64, vcpus=16, memory_gib=64),
        InstanceType(
            name="p5.4xlarge", arch=Arch.AMD64, vcpus=16, memory_gib=256, gpu=Gpu.H100, gpus=1,
            efa_devices=1, nvme_gb=(1, 3800),
            regions=frozenset({
                "ap-northeast-1", "ap-south-1", "ap-southeast-2", "ap-southeast-3", "eu-north-1",
                "eu-west-2", "sa-east-1", "us-east-1", "us-east-2", "us-west-2",
            }),
        ),
        InstanceType(
            name="p5.48xlarge", arch=Arch.AMD64, vcpus=192, memory_gib=2048, gpu=Gpu.H100, gpus=8,
            efa_devices=32, nvme_gb=_NVME_8X3800,
            regions=frozenset({
                "ap-northeast-1", "ap-northeast-2", "ap-south-1", "ap-southeast-2", "ap-southeast-3",
                "ca-central-1", "eu-north-1", "eu-west-2", "sa-east-1", "us-east-1", "us-east-2",
                "us-west-1", "us-west-2",
            }),
        ),
        InstanceType(
            name="p5en.48xlarge", arch=Arch.AMD64, vcpus=192, memory_gib=2048, gpu=Gpu.H200, gpus=8,
            efa_devices=16, nvme_gb=_NVME_8X3800,
            regions=frozenset({
                "ap-northeast-1", "ap-northeast-2", "ap-south-1", "ap-southeast-3", "eu-north-1",
                "eu-south-2", "me-central-1", "us-east-1", "us-east-2", "us-west-1", "us-west-2",
            }),
        ),
        InstanceType(
            name="p6-b200.48xlarge", arch=Arch.AMD64, vcpus=192, memory_gib=2048, gpu=Gpu.B200, gpus=8,
            efa_devices=8, nvme_gb=_NVME_8X3800,
            regions=frozenset({
                "ap-south-1", "ap-south-2", "eu-north-1", "eu-west-3", "us-east-1", "us-east-2",
                "us-west-2",
            }),
        ),
        InstanceType(
            name="p6-b300.48xlarge", arch=Arch.AMD64, vcpus=192, memory_gib=4096, gpu=Gpu.B300, gpus=8,
            efa_devices=16, nvme_gb=_NVME_8X3800,
            regions=frozenset({
                "ap-northeast-2", "ap-south-2", "ap-southeast-3", "sa-east-1", "us-east-1", "us-west-2",
            }),
        ),
        InstanceType(
            name="p6e-gb200.36xlarge", arch=Arch.ARM64, vcpus=144, memory_gib=960, gpu=Gpu.GB200, gpus=4,
            efa_devices=4, nvme_gb=(3, 7500), nodes_per_ultraserver=(9, 18),
        ),
    )
}  # fmt: skip
"""Every instance type the program knows, by name; a type that is not here is refused, never guessed."""


class Interface(NamedTuple):
    """One network interface of a node: network card, device on the card, and EC2's interface type."""

    card: int
    device: int
    type: Literal["interface", "efa-only"]


_PRIMARY = Interface(0, 0, "interface")
_PRIMARY_CARD_EFA = Interface(0, 1, "efa-only")


def _efa_on(*cards: int) -> tuple[Interface, ...]:
    return tuple(Interface(card, 0, "efa-only") for card in cards)


_LAYOUTS: dict[tuple[str, int], tuple[Interface, ...]] = {
    ("p5.4xlarge", 1): (_PRIMARY, _PRIMARY_CARD_EFA),
    ("p5.48xlarge", 32): (_PRIMARY, _PRIMARY_CARD_EFA, *_efa_on(*range(1, 32))),
    ("p5en.48xlarge", 16): (_PRIMARY, _PRIMARY_CARD_EFA, *_efa_on(*range(1, 16))),
    ("p6-b200.48xlarge", 8): (_PRIMARY, _PRIMARY_CARD_EFA, *_efa_on(*range(1, 8))),
    # Card 0 has no EFA; 16 others have.
    ("p6-b300.48xlarge", 16): (_PRIMARY, *_efa_on(*range(1, 17))),
    # Cards come in groups of four behind one 400 Gbps device: one interface each at full speed, or two at half.
    ("p6e-gb200.36xlarge", 4): (_PRIMARY, *_efa_on(1, 5, 9, 13)),
    ("p6e-gb200.36xlarge", 8): (_PRIMARY, *_efa_on(1, 3, 5, 7, 9, 11, 13, 15)),
}
"""Interfaces by instance type and EFA devices. Only the primary has an IP address, so that a node takes one and not 32.

Device indexes and card counts differ by type without a rule (eksctl#7520, parallelcluster#7143, PR#6930): a type that
is not here has no layout.
"""


def efa_choices(instance: InstanceType) -> tuple[int, ...]:
    """Numbers of EFA devices that the type can be laid out with, the default first."""
    return tuple(devices for name, devices in _LAYOUTS if name == instance.name)


def interfaces(instance: InstanceType) -> tuple[Interface, ...]:
    """The network interfaces of a node, the primary first. Raises KeyError for a type without a known layout."""
    return _LAYOUTS[instance.name, instance.efa_devices]


_AMI_ARCH = {Arch.AMD64: "x86_64", Arch.ARM64: "ARM_64"}


def ami_type(instance: InstanceType) -> str:
    """EKS's AMI type: Amazon Linux 2023, with NVIDIA's driver, toolkit and EFA's kernel module where there are GPUs."""
    return f"AL2023_{_AMI_ARCH[instance.arch]}_{'NVIDIA' if instance.gpus else 'STANDARD'}"
