"""What the simulated rollout assumes, each figure with where it is from. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from facts.weights import MODEL_ID, WEIGHTS_GB
from targets.errors import Refusal


class Sourced(NamedTuple):
    """A figure with where it is from, in a few words; what says "plausible" has no source."""

    value: float
    source: str


def _assumed(value: float, source: str) -> Any:
    return field(default=value, metadata={"source": source})


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the clock is computed from. Minutes, GB (10⁹ bytes) and MB/s; the same for every order.

    None was measured here. `SOURCES` says where each default is from.
    """

    cpu_boot: float = _assumed(
        2.0, "plausible: 1 to 2 min (amazon-eks-ami#1099, karpenter-provider-aws#3102)"
    )
    """Minutes until a CPU node is Ready."""
    scale_up: float = _assumed(1.0, "plausible")
    """Minutes from a Capacity Block's start until its instances are asked for."""
    gpu_boot: float = _assumed(5.0, "plausible: nobody published it of these instance types")
    """Minutes until a GPU node is Ready, its devices advertised."""
    platform: float = _assumed(5.0, "plausible")
    """Minutes until operator and webhooks answer."""
    weights_gb: float = _assumed(WEIGHTS_GB[MODEL_ID], "OpenAI's model card")
    """GB of weights."""
    weights_rate: float = _assumed(30.0, "plausible: the published recipe allows an hour, which is 18 MB/s")
    """MB/s from Hugging Face into the cache."""
    image_gb: float = _assumed(21.0, "TensorRT-LLM's image (dynamo PR#1796)")
    """GB of the runtime image."""
    image_rate: float = _assumed(50.0, "AWS: 15 to 20 GB take 4 to 6 min (SOCI on Deep Learning AMIs, 2026)")
    """MB/s of pulling and unpacking it."""
    parallel_image_rate: float = _assumed(
        94.0,
        "1.88 times as fast, as 10.8 GB from EBS in 60, not 112 s (karpenter-blueprints, soci-snapshotter)",
    )
    """The same with `pool.parallelPull`; nobody published it of NVMe disks."""
    copy_rate: float = _assumed(250.0, "plausible")
    """MB/s from the cache to the disks of a node; by default what `COPY_RATES` says of the kind of cache."""
    load: float = _assumed(22.5, 'the published recipe: 15 to 30 min, "depending on storage speed"')
    """Minutes from container start to Ready off a shared file system."""
    local_load: float = _assumed(
        3.6,
        "vLLM's of 70 GB on 8 GPUs, 215 s (vllm#19824); TensorRT-LLM and SGLang, unpublished, are taken to be as fast",
    )
    """The same where storage is no limit. Of vLLM's, 10 s are reading from memory, 85 compiling and 60 CUDA
    graphs; GPT-OSS-120B was read in 14 s (vllm#33155)."""

    @property
    def download(self) -> float:
        """Minutes of download."""
        return self.weights_gb * 1000 / self.weights_rate / 60

    @property
    def pull(self) -> float:
        """Minutes of pulling and unpacking the image."""
        return self.image_gb * 1000 / self.image_rate / 60

    @property
    def parallel_pull(self) -> float:
        """The same in parallel."""
        return self.image_gb * 1000 / self.parallel_image_rate / 60

    @property
    def copy(self) -> float:
        """Minutes of bringing the weights from the cache to a node."""
        return self.weights_gb * 1000 / self.copy_rate / 60


SOURCES: dict[str, str] = {each.name: each.metadata["source"] for each in fields(Assumptions)}
"""Where the defaults are from, by field."""
COPY_RATES = {
    "class": Sourced(250.0, SOURCES["copy_rate"]),
    "efs": Sourced(
        500.0, "a third of EFS's most for one client over the CSI driver, 1500 MiB/s (EFS user guide)"
    ),
    "s3": Sourced(1000.0, "about twelve parallel requests of 85 to 90 MB/s (S3's performance guidelines)"),
}
"""MB/s from a cache to one node, by `cache.kind`; `fsx` has what it is sold with."""
MIRROR_RATE = Sourced(
    180.0, "10.8 GB in 60 s from ECR in the nodes' region (karpenter-blueprints, soci-snapshotter)"
)
"""MB/s of pulling in parallel from ECR. Without `parallelPull` a pull from there is taken to be as fast as from
NVIDIA's registry."""


def name_of(field: str) -> str:
    """What `--assume` calls a field."""
    return field.replace("_", "-")


def assume(overrides: Iterable[str], base: Assumptions) -> Assumptions:
    """The base with `name=value` overrides. Raises Refusal for a name or value that cannot be."""
    known = [name_of(name) for name in SOURCES]
    given: dict[str, float] = {}
    for text in overrides:
        name, _, value = text.partition("=")
        if name not in known:
            raise Refusal(f"--assume: {name!r} is no assumption; choose one of {', '.join(known)}")
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if not 0 < number < float("inf"):
            raise Refusal(f"--assume: {text!r} needs a number above 0, as in {name}=10")
        given[name.replace("-", "_")] = number
    return replace(base, **given)
