"""The EC2 instance types that GPT-OSS runs on, as data. Pure.

Sources: Amazon EC2 instance type pages and the EFA user guide for layouts (see docs/targets.md), `nvidia-smi`
and GPU Feature Discovery for the GPU's product label and memory, AWS's on-demand price list for prices.
"""

from dataclasses import dataclass
from enum import StrEnum


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
    """One EC2 instance type.

    memory_gib, vcpus: of the whole node. gpus: GPUs of the node. efa_devices: the node's `vpc.amazonaws.com/efa`.
    nvme_gb: local NVMe as (disks, GB each). usd_per_hour: on-demand list price in us-east-1, None where none is
    published. nodes_per_ultraserver: sizes in which the type is sold, empty where single nodes are.
    """

    name: str
    arch: Arch
    vcpus: int
    memory_gib: int
    gpu: Gpu | None = None
    gpus: int = 0
    efa_devices: int = 0
    nvme_gb: tuple[int, int] = (0, 0)
    usd_per_hour: float | None = None
    nodes_per_ultraserver: tuple[int, ...] = ()

    @property
    def family(self) -> str:
        """The part before the dot, for example `p6-b200`."""
        return self.name.partition(".")[0]


_NVME_8X3840 = (8, 3840)

INSTANCE_TYPES: dict[str, InstanceType] = {
    instance.name: instance
    for instance in (
        InstanceType(name="m7i.4xlarge", arch=Arch.AMD64, vcpus=16, memory_gib=64, usd_per_hour=0.8064),
        InstanceType(name="m7g.4xlarge", arch=Arch.ARM64, vcpus=16, memory_gib=64, usd_per_hour=0.6528),
        InstanceType(
            name="p5.4xlarge", arch=Arch.AMD64, vcpus=16, memory_gib=256, gpu=Gpu.H100, gpus=1,
            efa_devices=1, nvme_gb=(1, 3840), usd_per_hour=6.88,
        ),
        InstanceType(
            name="p5.48xlarge", arch=Arch.AMD64, vcpus=192, memory_gib=2048, gpu=Gpu.H100, gpus=8,
            efa_devices=32, nvme_gb=_NVME_8X3840, usd_per_hour=55.04,
        ),
        InstanceType(
            name="p5en.48xlarge", arch=Arch.AMD64, vcpus=192, memory_gib=2048, gpu=Gpu.H200, gpus=8,
            efa_devices=16, nvme_gb=_NVME_8X3840, usd_per_hour=63.296,
        ),
        InstanceType(
            name="p6-b200.48xlarge", arch=Arch.AMD64, vcpus=192, memory_gib=2048, gpu=Gpu.B200, gpus=8,
            efa_devices=8, nvme_gb=_NVME_8X3840, usd_per_hour=113.9328,
        ),
        InstanceType(
            name="p6-b300.48xlarge", arch=Arch.AMD64, vcpus=192, memory_gib=4096, gpu=Gpu.B300, gpus=8,
            efa_devices=16, nvme_gb=_NVME_8X3840,
        ),
        InstanceType(
            name="p6e-gb200.36xlarge", arch=Arch.ARM64, vcpus=144, memory_gib=960, gpu=Gpu.GB200, gpus=4,
            efa_devices=4, nvme_gb=(3, 7500), nodes_per_ultraserver=(9, 18),
        ),
    )
}  # fmt: skip
"""Every instance type the program knows, by name; a type that is not here is refused, never guessed."""
