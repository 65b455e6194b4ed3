"""The published GPT-OSS-120B systems as data. Pure.

Sources, per target: NVIDIA's Dynamo guides for GPT-OSS (TensorRT-LLM, vLLM, SGLang), the recipe page "GPT-OSS-120B"
and the recipes in ai-dynamo/dynamo (`recipes/gpt-oss-120b`, `examples/backends/trtllm/engine_configs/gpt-oss-120b`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from targets.hardware import Arch, Gpu
from targets.releases import DEFAULT, LATEST_PATCH, Version

MODEL_ID = "openai/gpt-oss-120b"
MODEL_REVISION = "b5c939de8f754692c1647ca79fbf85e8c1e70f8a"
"""Commit of the weights on Hugging Face that the published recipes pin."""
DRAFT_MODEL_ID = "nvidia/gpt-oss-120b-Eagle3-v3"
"""EAGLE3 draft model; no source publishes a commit to pin."""
WEIGHTS_GB = {MODEL_ID: 65.3, DRAFT_MODEL_ID: 3.0}
"""GB (10⁹ bytes) of a model: 60.8 GiB, OpenAI's model card of gpt-oss, without the copies in other formats.

No source states the draft's: at most an embedding and a head of 201,088 × 2,880 in 16 bits (2.3 GB), and one layer.
"""


_OLDEST = Version(0, 4)


class Engine(StrEnum):
    """Inference engines; the value is the Python module `dynamo.<engine>` that runs them."""

    VLLM = "vllm"
    SGLANG = "sglang"
    TRTLLM = "trtllm"
    MOCKER = "mocker"


class Role(StrEnum):
    """What a worker does; the value is the DynamoGraphDeployment component type of v1beta1."""

    PREFILL = "prefill"
    DECODE = "decode"
    WORKER = "worker"


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One role of a target as published; None means that the source leaves the value to the engine.

    tensor_parallel, pipeline_parallel, expert_parallel: GPUs, 0 for workers without any. max_num_tokens, max_seq_len:
    tokens. max_batch_size: sequences. free_gpu_memory_fraction: of the GPU memory left after loading, 0 to 1.
    cuda_graph_batch: largest batch captured as CUDA graph. engine_file: the rest of TensorRT-LLM's YAML.
    arguments: further engine arguments, as published. env: environment of this role alone. requests: CPU and memory
    that a pod asks for beside its GPUs.
    """

    role: Role
    replicas: int = 1
    tensor_parallel: int = 1
    pipeline_parallel: int | None = None
    expert_parallel: int | None = None
    max_num_tokens: int | None = None
    max_batch_size: int | None = None
    max_seq_len: int | None = None
    free_gpu_memory_fraction: float | None = None
    chunked_prefill: bool | None = None
    cuda_graph_batch: int | None = None
    engine_file: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    requests: Mapping[str, str] = field(default_factory=dict)

    @property
    def gpus(self) -> int:
        """GPUs of one replica: tensor × pipeline parallelism (experts share the tensor-parallel GPUs)."""
        return self.tensor_parallel * (self.pipeline_parallel or 1)


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Traffic shape of the published benchmark: tokens in and out per request, requests at once and in all."""

    isl: int
    osl: int
    concurrency: int
    requests: int
    warmup: int
    dataset_entries: int
    seed: int = 100


@dataclass(frozen=True, kw_only=True)
class Target:
    """One published system.

    engine_settings: where the source puts parallelism and limits, "arguments" or "engine file".
    gpus: GPU models it is published for, the default first; empty for CPU nodes. archs: CPU architectures it may run
    on. dynamo_version: the release where a stack says none. since: the first minor release that can run it. until: the
    first that cannot any more. unprivileged_since: the first minor release whose image runs it as another user than
    root. image: the source's own, where the release's published image cannot serve GPT-OSS.
    kv_block_size: tokens of one KV cache block, where workers and the kv router must agree.
    shared_memory: size of /dev/shm. needs_compute_domain: workers want a ComputeDomain channel (NVLink across nodes).
    speculative_tokens: tokens that the EAGLE3 draft model proposes at a time; None without speculative decoding.
    frontend_requests: CPU and memory of a frontend pod.
    """

    name: str
    title: str
    engine: Engine
    graph: str
    workers: tuple[Worker, ...]
    gpus: tuple[Gpu, ...]
    archs: tuple[Arch, ...]
    benchmark: Benchmark
    source: str
    dynamo_version: str = DEFAULT
    since: Version = _OLDEST
    unprivileged_since: Version = _OLDEST
    until: Version | None = None
    image: str | None = None
    engine_settings: str = "arguments"
    router_mode: str = "round-robin"
    kv_block_size: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    shared_memory: str = "80Gi"
    needs_compute_domain: bool = False
    quantization: str | None = None
    speculative_tokens: int | None = None
    frontend_requests: Mapping[str, str] = field(default_factory=lambda: {"cpu": "4", "memory": "8Gi"})

    @property
    def disaggregated(self) -> bool:
        """Whether prefill and decode are separate workers."""
        return any(worker.role is Role.PREFILL for worker in self.workers)

    def runs_on(self, version: Version) -> bool:
        """Whether that release can run it."""
        return self.since <= version and (self.until is None or version < self.until)


_GUIDE_ENGINE_FILE = {
    "moe_config": {"backend": "CUTLASS"},
    "cache_transceiver_config": {"backend": "UCX", "max_tokens_in_buffer": 65536},
    "print_iter_log": False,
    "stream_interval": 10,
}
_RECIPE_ENGINE_FILE = {
    "cache_transceiver_config": {"backend": "UCX", "max_tokens_in_buffer": 9216},
    "enable_attention_dp": False,
    "kv_cache_config": {"dtype": "fp8", "enable_block_reuse": False},
    "moe_config": {"backend": "TRTLLM"},
    "num_postprocess_workers": 4,
    "print_iter_log": True,
    "stream_interval": 20,
    "trust_remote_code": True,
}
_VLLM_AGENTIC = ("--trust-remote-code", "--quantization", "mxfp4")
_VLLM_CACHE = (
    "--kv-cache-dtype", "fp8", "--enable-prefix-caching", "--async-scheduling", "--enable-flashinfer-autotune",
)  # fmt: skip
_HOPPER_EXPERTS = ("--moe-backend", "flashinfer_cutlass")
_AGGREGATED_COMPILATION = (
    "--compilation-config",
    '{"pass_config":{"fuse_allreduce_rms":true,"eliminate_noops":true},"max_cudagraph_capture_size":1024}',
)
_CPU_OFFLOAD = (
    "--kv-transfer-config",
    '{"kv_connector":"SimpleCPUOffloadConnector","kv_role":"kv_both",'
    '"kv_connector_extra_config":{"cpu_bytes_to_use_per_rank":107374182400}}',
)
"""100 GiB of host memory for each worker's evicted KV blocks."""
_HYBRID_CACHE = ("--no-disable-hybrid-kv-cache-manager",)
# The model cache is mounted read-only: what is compiled at start goes to the pod's own disk.
_VLLM_CACHE_ENV = {"TRITON_CACHE_DIR": "/tmp/.triton-cache", "VLLM_CACHE_ROOT": "/tmp/vllm-cache"}
_BLACKWELL_ENV = {"TORCH_CUDA_ARCH_LIST": "10.0", "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8": "1"}
_HOPPER_ENV = {"TORCH_CUDA_ARCH_LIST": "9.0"}
_NVLINK_ENV = {
    "VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE": "1",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "NCCL_IB_DISABLE": "1",
    "NCCL_NET_PLUGIN": "none",
    "NCCL_P2P_LEVEL": "NVL",
}
_TRTLLM_ENV = {"TRTLLM_ENABLE_PDL": "1", "TRT_LLM_DISABLE_LOAD_WEIGHTS_IN_PARALLEL": "True"}
_SGLANG_ARGUMENTS = ("--trust-remote-code", "--skip-tokenizer-init")
_GUIDE_BENCHMARK = Benchmark(
    isl=32000, osl=256, concurrency=256, requests=6144, warmup=1000, dataset_entries=8000
)
_LONG_CONTEXT_BENCHMARK = Benchmark(
    isl=8192, osl=1024, concurrency=1536, requests=15360, warmup=1536, dataset_entries=12800
)

_GUIDE_WORKERS = (
    Worker(
        role=Role.PREFILL,
        tensor_parallel=4,
        expert_parallel=4,
        max_num_tokens=20000,
        max_batch_size=32,
        free_gpu_memory_fraction=0.9,
        chunked_prefill=True,
        cuda_graph_batch=32,
        engine_file={
            **_GUIDE_ENGINE_FILE,
            "enable_attention_dp": False,
            "disable_overlap_scheduler": True,
            "cuda_graph_config": {"enable_padding": True},
        },
    ),
    Worker(
        role=Role.DECODE,
        tensor_parallel=4,
        expert_parallel=4,
        max_num_tokens=16384,
        max_batch_size=128,
        free_gpu_memory_fraction=0.9,
        cuda_graph_batch=128,
        engine_file={
            **_GUIDE_ENGINE_FILE,
            "enable_attention_dp": True,
            "disable_overlap_scheduler": False,
            "cuda_graph_config": {"enable_padding": True},
        },
    ),
)


def _agentic(gpu: Gpu, *, prefill: int = 0, decode: int = 0) -> Target:
    """vLLM with EAGLE3 and the kv router on one node of eight GPUs; aggregated where no split is given."""
    blackwell, split = gpu is Gpu.B200, prefill > 0
    kind, size = "disagg" if split else "agg", gpu.lower()
    experts = () if blackwell else _HOPPER_EXPERTS
    if split:
        arguments = (*_VLLM_AGENTIC, *experts, *_VLLM_CACHE, *_HYBRID_CACHE)
    else:
        offload = () if blackwell else _CPU_OFFLOAD
        arguments = (*_VLLM_AGENTIC, *experts, *_VLLM_CACHE, *_AGGREGATED_COMPILATION, *offload)
    common = Worker(
        role=Role.WORKER,
        replicas=8,
        max_num_tokens=32768,
        max_batch_size=None if split else 256,
        max_seq_len=131072,
        free_gpu_memory_fraction=0.9,
        chunked_prefill=True,
        arguments=arguments,
        requests={"memory": "150Gi" if split else "200Gi"},
    )
    concurrency = 384 if blackwell else 128
    return Target(
        name=f"vllm-{kind}-agentic-{size}",
        title=f"vLLM, {f'{prefill} prefill and {decode} decode' if split else '8 aggregated'} TP1 workers with EAGLE3 "
        f"and the kv router on one 8×{gpu} node",
        engine=Engine.VLLM,
        graph="gpt-oss-disagg-agentic" if split else f"turbo-gptoss-120b-agg-{size}-agentic",
        workers=(
            replace(common, role=Role.PREFILL, replicas=prefill),
            replace(common, role=Role.DECODE, replicas=decode),
        )
        if split
        else (common,),
        gpus=(gpu,),
        archs=(Arch.AMD64,),
        benchmark=Benchmark(
            isl=64000,
            osl=400,
            concurrency=concurrency,
            requests=10 * concurrency,
            warmup=5,
            dataset_entries=12800,
            seed=42,
        ),
        source=f"Dynamo recipe: gpt-oss-120b/vllm/{kind}-{size}-agentic",
        since=Version(1, 3),
        # On these GPUs FlashInfer links its kernels into a folder that only root may write before (dynamo PR#12770).
        unprivileged_since=Version(1, 4) if blackwell else _OLDEST,
        router_mode="kv",
        kv_block_size=64,
        env={
            **_VLLM_CACHE_ENV,
            **(_BLACKWELL_ENV if blackwell else _HOPPER_ENV),
            **(_NVLINK_ENV if split else {"PYTHONHASHSEED": "42"}),
        },
        shared_memory="64Gi",
        quantization="MXFP4",
        speculative_tokens=3,
        frontend_requests={"cpu": "8", "memory": "16Gi"},
    )


_MOCKER_WORKER = Worker(
    role=Role.DECODE,
    tensor_parallel=0,
    arguments=("--speedup-ratio", "1.0"),
    requests={"cpu": "2", "memory": "4Gi"},
)

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target(
            name="vllm-disagg-h100",
            title="vLLM, prefill TP4 and decode TP4 on one 8×H100 node",
            engine=Engine.VLLM,
            graph="gpt-oss-disagg",
            workers=(
                Worker(role=Role.PREFILL, tensor_parallel=4),
                Worker(role=Role.DECODE, tensor_parallel=4),
            ),
            gpus=(Gpu.H100, Gpu.H200),
            archs=(Arch.AMD64,),
            benchmark=_GUIDE_BENCHMARK,
            source="Dynamo guide: Running gpt-oss-120b Disaggregated with vLLM",
            shared_memory="10Gi",
        ),
        Target(
            name="sglang-disagg-h100",
            title="SGLang, prefill TP4 and decode TP4 over NIXL on one 8×H100 node",
            engine=Engine.SGLANG,
            graph="gpt-oss-disagg",
            workers=(
                Worker(role=Role.PREFILL, tensor_parallel=4, arguments=_SGLANG_ARGUMENTS),
                Worker(role=Role.DECODE, tensor_parallel=4, arguments=_SGLANG_ARGUMENTS),
            ),
            gpus=(Gpu.H100, Gpu.H200),
            archs=(Arch.AMD64,),
            benchmark=_GUIDE_BENCHMARK,
            source="Dynamo guide: Running gpt-oss-120b Disaggregated with SGLang",
            shared_memory="10Gi",
        ),
        Target(
            name="trtllm-disagg-b200",
            title="TensorRT-LLM, prefill TP4/EP4 and decode TP4/EP4 over UCX on one 8×B200 node",
            engine=Engine.TRTLLM,
            graph="gpt-oss-disagg",
            workers=_GUIDE_WORKERS,
            gpus=(Gpu.B200, Gpu.B300),
            archs=(Arch.AMD64,),
            benchmark=_GUIDE_BENCHMARK,
            source="Dynamo guide: GPT-OSS with TensorRT-LLM",
            env=_TRTLLM_ENV,
            shared_memory="10Gi",
        ),
        Target(
            name="trtllm-disagg-b200-0.4",
            title="TensorRT-LLM on Dynamo 0.4, prefill TP4/EP4 and decode TP4/EP4 over UCX on one 8×B200 node",
            engine=Engine.TRTLLM,
            graph="gpt-oss-disagg",
            workers=_GUIDE_WORKERS,
            gpus=(Gpu.B200, Gpu.GB200),
            archs=(Arch.AMD64, Arch.ARM64),
            benchmark=_GUIDE_BENCHMARK,
            source="Dynamo guide: Running gpt-oss-120b Disaggregated with TensorRT-LLM (0.4)",
            dynamo_version=LATEST_PATCH["0.4"],
            until=Version(1, 0),
            image="nvcr.io/nvidia/ai-dynamo/tensorrtllm-gpt-oss:latest",
            env=_TRTLLM_ENV,
            shared_memory="10Gi",
        ),
        Target(
            name="trtllm-agg-gb200",
            title="TensorRT-LLM, aggregated TP4/EP4 with attention data parallelism on 4×GB200",
            engine=Engine.TRTLLM,
            graph="gpt-oss-agg",
            workers=(
                Worker(
                    role=Role.WORKER,
                    tensor_parallel=4,
                    expert_parallel=4,
                    max_batch_size=800,
                    free_gpu_memory_fraction=0.9,
                    cuda_graph_batch=800,
                    engine_file={
                        "enable_attention_dp": True,
                        "cuda_graph_config": {"enable_padding": True},
                        "kv_cache_config": {"enable_block_reuse": False},
                        "stream_interval": 20,
                        "moe_config": {"backend": "TRTLLM"},
                    },
                ),
            ),
            gpus=(Gpu.GB200,),
            archs=(Arch.ARM64,),
            benchmark=Benchmark(
                isl=128, osl=1000, concurrency=3600, requests=36000, warmup=3600, dataset_entries=12800
            ),
            source="Dynamo recipe: gpt-oss-120b/trtllm/agg",
            env=_TRTLLM_ENV,
            needs_compute_domain=True,
        ),
        Target(
            name="trtllm-disagg-8k",
            title="TensorRT-LLM, prefill TP1 and decode TP4 in W4A8_MXFP4_MXFP8 on 5×B200 or 5×GB200",
            engine=Engine.TRTLLM,
            graph="gpt-oss-disagg",
            engine_settings="engine file",
            workers=(
                Worker(
                    role=Role.PREFILL,
                    tensor_parallel=1,
                    pipeline_parallel=1,
                    expert_parallel=1,
                    max_num_tokens=20000,
                    max_batch_size=64,
                    max_seq_len=9000,
                    free_gpu_memory_fraction=0.8,
                    cuda_graph_batch=30,
                    engine_file={
                        **_RECIPE_ENGINE_FILE,
                        "cuda_graph_config": {"enable_padding": True},
                        "disable_overlap_scheduler": True,
                    },
                ),
                Worker(
                    role=Role.DECODE,
                    tensor_parallel=4,
                    pipeline_parallel=1,
                    expert_parallel=1,
                    max_num_tokens=20000,
                    max_batch_size=1280,
                    max_seq_len=11000,
                    free_gpu_memory_fraction=0.85,
                    cuda_graph_batch=1280,
                    engine_file={
                        **_RECIPE_ENGINE_FILE,
                        "allreduce_strategy": "AUTO",
                        "attention_dp_config": {"enable_balance": True},
                        "cuda_graph_config": {"enable_padding": True},
                        "disable_overlap_scheduler": False,
                    },
                ),
            ),
            gpus=(Gpu.B200, Gpu.GB200),
            archs=(Arch.AMD64, Arch.ARM64),
            benchmark=_LONG_CONTEXT_BENCHMARK,
            source="Dynamo recipe: gpt-oss-120b/trtllm/disagg",
            env={
                **_TRTLLM_ENV,
                "OVERRIDE_QUANT_ALGO": "W4A8_MXFP4_MXFP8",
                "NCCL_GRAPH_REGISTER": "0",
                "OMPI_MCA_coll_ucc_enable": "0",
            },
            quantization="W4A8_MXFP4_MXFP8",
        ),
        _agentic(Gpu.B200),
        _agentic(Gpu.H200),
        _agentic(Gpu.B200, prefill=2, decode=6),
        _agentic(Gpu.H200, prefill=4, decode=4),
        Target(
            name="mocker-disagg-cpu",
            title="Dynamo's mocker, prefill and decode simulated on CPU nodes: the API without a model",
            engine=Engine.MOCKER,
            graph="mocker-disagg",
            workers=(replace(_MOCKER_WORKER, role=Role.PREFILL), _MOCKER_WORKER),
            gpus=(),
            archs=(Arch.AMD64, Arch.ARM64),
            benchmark=Benchmark(
                isl=1024, osl=128, concurrency=16, requests=160, warmup=16, dataset_entries=160
            ),
            source="Dynamo example: backends/mocker/deploy/disagg; benchmark shape of our own",
            since=Version(1, 0),
            shared_memory="1Gi",
            frontend_requests={"cpu": "1", "memory": "2Gi"},
        ),
    )
}
"""Every published system, by the name that stacks say."""


def target_named(name: str) -> str:
    """The name if it is a target's. Raises ValueError naming the choices."""
    if name not in TARGETS:
        raise ValueError(f"no such target; choose one of {', '.join(TARGETS)}")
    return name
