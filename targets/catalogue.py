"""The published GPT-OSS-120B systems as data. Pure.

Sources, per target: NVIDIA's Dynamo guides for GPT-OSS (TensorRT-LLM, vLLM, SGLang), the recipe page "GPT-OSS-120B"
and the recipes in ai-dynamo/dynamo (`recipes/gpt-oss-120b`, `examples/backends/trtllm/engine_configs/gpt-oss-120b`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from targets.hardware import Arch, Gpu

MODEL_ID = "openai/gpt-oss-120b"
MODEL_REVISION = "b5c939de8f754692c1647ca79fbf85e8c1e70f8a"
"""Commit of the weights on Hugging Face that the published recipes pin."""


class Engine(StrEnum):
    """Inference engines; the value is DynamoGraphDeployment's `backendFramework`."""

    VLLM = "vllm"
    SGLANG = "sglang"
    TRTLLM = "trtllm"


class Role(StrEnum):
    """What a worker does; the value is the DynamoGraphDeployment component type of v1beta1."""

    PREFILL = "prefill"
    DECODE = "decode"
    WORKER = "worker"


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One role of a target as published; None means that the source leaves the value to the engine.

    tensor_parallel, pipeline_parallel, expert_parallel: GPUs. max_num_tokens, max_seq_len: tokens.
    max_batch_size: sequences. free_gpu_memory_fraction: of the GPU memory left after loading, 0 to 1.
    cuda_graph_batch: largest batch captured as CUDA graph. engine_file: the rest of TensorRT-LLM's YAML.
    arguments: further engine arguments, as published. env: environment of this role alone.
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
    gpus: GPU models it is published for, the default first. archs: CPU architectures it may run on.
    shared_memory: size of /dev/shm. needs_compute_domain: workers want a ComputeDomain channel (NVLink across nodes).
    speculative: name of the speculative decoding method, if the target uses one.
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
    engine_settings: str = "arguments"
    router_mode: str = "round-robin"
    env: Mapping[str, str] = field(default_factory=dict)
    shared_memory: str = "80Gi"
    needs_compute_domain: bool = False
    quantization: str | None = None
    speculative: str | None = None

    @property
    def disaggregated(self) -> bool:
        """Whether prefill and decode are separate workers."""
        return any(worker.role is Role.PREFILL for worker in self.workers)


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
_TRTLLM_ENV = {"TRTLLM_ENABLE_PDL": "1", "TRT_LLM_DISABLE_LOAD_WEIGHTS_IN_PARALLEL": "True"}
_SGLANG_ARGUMENTS = ("--trust-remote-code", "--skip-tokenizer-init")
_GUIDE_BENCHMARK = Benchmark(
    isl=32000, osl=256, concurrency=256, requests=6144, warmup=1000, dataset_entries=8000
)
_LONG_CONTEXT_BENCHMARK = Benchmark(
    isl=8192, osl=1024, concurrency=1536, requests=15360, warmup=1536, dataset_entries=12800
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
            workers=(
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
            ),
            gpus=(Gpu.B200, Gpu.B300),
            archs=(Arch.AMD64,),
            benchmark=_GUIDE_BENCHMARK,
            source="Dynamo guide: GPT-OSS with TensorRT-LLM",
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
                        "moe_config": {"backend": "CUTLASS"},
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
    )
}
"""Every published system, by the name that stacks say."""
