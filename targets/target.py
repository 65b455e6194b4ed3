"""What a published system is made of. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from facts.engines import Engine, Role
from facts.hardware import Arch, Gpu
from facts.releases import DEFAULT, Version
from targets.engine_knobs import EngineKnobs

_OLDEST = Version(0, 4)


@dataclass(frozen=True, kw_only=True)
class PublishedWorker:
    """One role of a target as published."""

    role: Role
    replicas: int = 1
    """Workers of the role."""
    knobs: EngineKnobs = field(default_factory=EngineKnobs)
    """Settings of its engine; None means that the source leaves one to the engine."""
    cuda_graph_batch: int | None = None
    """Largest batch captured as CUDA graph, None for the engine's own."""
    engine_file: Mapping[str, Any] = field(default_factory=dict)
    """The rest of TensorRT-LLM's YAML."""
    arguments: tuple[str, ...] = ()
    """More engine arguments, as published."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment of this role alone."""
    requests: Mapping[str, str] = field(default_factory=dict)
    """CPU and memory that a pod asks for beside its GPUs."""

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.knobs.gpus


@dataclass(frozen=True, kw_only=True)
class PublishedBenchmark:
    """Traffic shape of the published benchmark: tokens in and out per request, requests at once and in all."""

    isl: int
    osl: int
    concurrency: int
    requests: int
    warmup: int
    dataset_entries: int
    seed: int = 100


@dataclass(frozen=True, kw_only=True)
class Releases:
    """Dynamo releases that can run a target."""

    default: str = DEFAULT
    """The one where a stack names none."""
    since: Version = _OLDEST
    """The first minor release that can."""
    until: Version | None = None
    """The first that cannot any more."""
    unprivileged_since: Version = _OLDEST
    """The first minor release whose image runs it as another user than root."""

    def run(self, version: Version) -> bool:
        """Whether that release can."""
        return self.since <= version and (self.until is None or version < self.until)


@dataclass(frozen=True, kw_only=True)
class Serving:
    """How a target serves its model."""

    engine_settings: str = "arguments"
    """Where the source puts parallelism and limits, "arguments" or "engine file"."""
    router_mode: str = "round-robin"
    kv_block_size: int | None = None
    """Tokens of one KV cache block, where workers and the kv router must agree."""
    quantization: str | None = None
    speculative_tokens: int | None = None
    """Tokens that the EAGLE3 draft model proposes at a time; None without speculative decoding."""


@dataclass(frozen=True, kw_only=True)
class Pods:
    """What a target's pods have."""

    image: str | None = None
    """The source's own, where the release's published image cannot serve GPT-OSS."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment of workers."""
    shared_memory: str = "80Gi"
    """Size of /dev/shm."""
    frontend_requests: Mapping[str, str] = field(default_factory=lambda: {"cpu": "4", "memory": "8Gi"})
    """CPU and memory of a frontend pod."""
    compute_domain: bool = False
    """Whether workers want a ComputeDomain channel (NVLink across nodes)."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """One published system."""

    name: str
    title: str
    source: str
    graph: str
    """Name of the published graph."""
    engine: Engine
    workers: tuple[PublishedWorker, ...]
    gpu_models: tuple[Gpu, ...]
    """GPU models it is published for, the default first; empty for CPU nodes."""
    archs: tuple[Arch, ...]
    """CPU architectures it may run on."""
    benchmark: PublishedBenchmark
    releases: Releases = field(default_factory=Releases)
    serving: Serving = field(default_factory=Serving)
    pods: Pods = field(default_factory=Pods)

    @property
    def disaggregated(self) -> bool:
        """Whether prefill and decode are separate workers."""
        return any(worker.role is Role.PREFILL for worker in self.workers)
