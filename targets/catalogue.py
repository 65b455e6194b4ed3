"""The published GPT-OSS-120B systems as data. Pure.

Sources, per target: NVIDIA's Dynamo guides for GPT-OSS (TensorRT-LLM, vLLM, SGLang), the recipe page "GPT-OSS-120B"
and the recipes in ai-dynamo/dynamo (`recipes/gpt-oss-120b`, `examples/backends/trtllm/engine_configs/gpt-oss-120b`).
"""

from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from facts.engines import Engine, Role
from facts.hardware import Arch, Gpu
from facts.releases import LATEST_PATCH, Version
from targets.agentic import agentic
from targets.engine_knobs import EngineKnobs
from targets.target import Pods, PublishedBenchmark, PublishedWorker, Releases, Serving, Target

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
_GUIDE_BENCHMARK = PublishedBenchmark(
    isl=32000, osl=256, concurrency=256, requests=6144, warmup=1000, dataset_entries=8000
)
_LONG_CONTEXT_BENCHMARK = PublishedBenchmark(
    isl=8192, osl=1024, concurrency=1536, requests=15360, warmup=1536, dataset_entries=12800
)
_GUIDE_WORKERS = (
    PublishedWorker(
        role=Role.PREFILL,
        knobs=EngineKnobs(
            tensor_parallel=4,
            expert_parallel=4,
            max_num_tokens=20000,
            max_batch_size=32,
            free_gpu_memory_fraction=0.9,
            chunked_prefill=True,
        ),
        cuda_graph_batch=32,
        engine_file={
            **_GUIDE_ENGINE_FILE,
            "enable_attention_dp": False,
            "disable_overlap_scheduler": True,
            "cuda_graph_config": {"enable_padding": True},
        },
    ),
    PublishedWorker(
        role=Role.DECODE,
        knobs=EngineKnobs(
            tensor_parallel=4,
            expert_parallel=4,
            max_num_tokens=16384,
            max_batch_size=128,
            free_gpu_memory_fraction=0.9,
        ),
        cuda_graph_batch=128,
        engine_file={
            **_GUIDE_ENGINE_FILE,
            "enable_attention_dp": True,
            "disable_overlap_scheduler": False,
            "cuda_graph_config": {"enable_padding": True},
        },
    ),
)
_MOCKER_WORKER = PublishedWorker(
    role=Role.DECODE,
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
                PublishedWorker(role=Role.PREFILL, knobs=EngineKnobs(tensor_parallel=4)),
                PublishedWorker(role=Role.DECODE, knobs=EngineKnobs(tensor_parallel=4)),
            ),
            gpu_models=(Gpu.H100, Gpu.H200),
            archs=(Arch.AMD64,),
            benchmark=_GUIDE_BENCHMARK,
            source="Dynamo guide: Running gpt-oss-120b Disaggregated with vLLM",
            pods=Pods(shared_memory="10Gi"),
        ),
        Target(
            name="sglang-disagg-h100",
            title="SGLang, prefill TP4 and decode TP4 over NIXL on one 8×H100 node",
            engine=Engine.SGLANG,
            graph="gpt-oss-disagg",
            workers=(
                PublishedWorker(
                    role=Role.PREFILL, knobs=EngineKnobs(tensor_parallel=4), arguments=_SGLANG_ARGUMENTS
                ),
                PublishedWorker(
                    role=Role.DECODE, knobs=EngineKnobs(tensor_parallel=4), arguments=_SGLANG_ARGUMENTS
                ),
            ),
            gpu_models=(Gpu.H100, Gpu.H200),
            archs=(Arch.AMD64,),
            benchmark=_GUIDE_BENCHMARK,
            source="Dynamo guide: Running gpt-oss-120b Disaggregated with SGLang",
            pods=Pods(shared_memory="10Gi"),
        ),
        Target(
            name="trtllm-disagg-b200",
            title="TensorRT-LLM, prefill TP4/EP4 and decode TP4/EP4 over UCX on one 8×B200 node",
            engine=Engine.TRTLLM,
            graph="gpt-oss-disagg",
            workers=_GUIDE_WORKERS,
            gpu_models=(Gpu.B200, Gpu.B300),
            archs=(Arch.AMD64,),
            benchmark=_GUIDE_BENCHMARK,
            source="Dynamo guide: GPT-OSS with TensorRT-LLM",
            pods=Pods(env=_TRTLLM_ENV, shared_memory="10Gi"),
        ),
        Target(
            name="trtllm-disagg-b200-0.4",
            title="TensorRT-LLM on Dynamo 0.4, prefill TP4/EP4 and decode TP4/EP4 over UCX on one 8×B200 node",
            engine=Engine.TRTLLM,
            graph="gpt-oss-disagg",
            workers=_GUIDE_WORKERS,
            gpu_models=(Gpu.B200, Gpu.GB200),
            archs=(Arch.AMD64, Arch.ARM64),
            benchmark=_GUIDE_BENCHMARK,
            source="Dynamo guide: Running gpt-oss-120b Disaggregated with TensorRT-LLM (0.4)",
            releases=Releases(default=LATEST_PATCH["0.4"], until=Version(1, 0)),
            pods=Pods(
                image="nvcr.io/nvidia/ai-dynamo/tensorrtllm-gpt-oss:latest",
                env=_TRTLLM_ENV,
                shared_memory="10Gi",
            ),
        ),
        Target(
            name="trtllm-agg-gb200",
            title="TensorRT-LLM, aggregated TP4/EP4 with attention data parallelism on 4×GB200",
            engine=Engine.TRTLLM,
            graph="gpt-oss-agg",
            workers=(
                PublishedWorker(
                    role=Role.WORKER,
                    knobs=EngineKnobs(
                        tensor_parallel=4, expert_parallel=4, max_batch_size=800, free_gpu_memory_fraction=0.9
                    ),
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
            gpu_models=(Gpu.GB200,),
            archs=(Arch.ARM64,),
            benchmark=PublishedBenchmark(
                isl=128, osl=1000, concurrency=3600, requests=36000, warmup=3600, dataset_entries=12800
            ),
            source="Dynamo recipe: gpt-oss-120b/trtllm/agg",
            pods=Pods(env=_TRTLLM_ENV, compute_domain=True),
        ),
        Target(
            name="trtllm-disagg-8k",
            title="TensorRT-LLM, prefill TP1 and decode TP4 in W4A8_MXFP4_MXFP8 on 5×B200 or 5×GB200",
            engine=Engine.TRTLLM,
            graph="gpt-oss-disagg",
            serving=Serving(engine_settings="engine file", quantization="W4A8_MXFP4_MXFP8"),
            workers=(
                PublishedWorker(
                    role=Role.PREFILL,
                    knobs=EngineKnobs(
                        tensor_parallel=1,
                        pipeline_parallel=1,
                        expert_parallel=1,
                        max_num_tokens=20000,
                        max_batch_size=64,
                        max_seq_len=9000,
                        free_gpu_memory_fraction=0.8,
                    ),
                    cuda_graph_batch=30,
                    engine_file={
                        **_RECIPE_ENGINE_FILE,
                        "cuda_graph_config": {"enable_padding": True},
                        "disable_overlap_scheduler": True,
                    },
                ),
                PublishedWorker(
                    role=Role.DECODE,
                    knobs=EngineKnobs(
                        tensor_parallel=4,
                        pipeline_parallel=1,
                        expert_parallel=1,
                        max_num_tokens=20000,
                        max_batch_size=1280,
                        max_seq_len=11000,
                        free_gpu_memory_fraction=0.85,
                    ),
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
            gpu_models=(Gpu.B200, Gpu.GB200),
            archs=(Arch.AMD64, Arch.ARM64),
            benchmark=_LONG_CONTEXT_BENCHMARK,
            source="Dynamo recipe: gpt-oss-120b/trtllm/disagg",
            pods=Pods(
                env={
                    **_TRTLLM_ENV,
                    "OVERRIDE_QUANT_ALGO": "W4A8_MXFP4_MXFP8",
                    "NCCL_GRAPH_REGISTER": "0",
                    "OMPI_MCA_coll_ucc_enable": "0",
                }
            ),
        ),
        agentic(Gpu.B200),
        agentic(Gpu.H200),
        agentic(Gpu.B200, prefill=2, decode=6),
        agentic(Gpu.H200, prefill=4, decode=4),
        Target(
            name="mocker-disagg-cpu",
            title="Dynamo's mocker, prefill and decode simulated on CPU nodes: the API without a model",
            engine=Engine.MOCKER,
            graph="mocker-disagg",
            workers=(replace(_MOCKER_WORKER, role=Role.PREFILL), _MOCKER_WORKER),
            gpu_models=(),
            archs=(Arch.AMD64, Arch.ARM64),
            benchmark=PublishedBenchmark(
                isl=1024, osl=128, concurrency=16, requests=160, warmup=16, dataset_entries=160
            ),
            source="Dynamo example: backends/mocker/deploy/disagg; benchmark shape of our own",
            releases=Releases(since=Version(1, 0)),
            pods=Pods(shared_memory="1Gi", frontend_requests={"cpu": "1", "memory": "2Gi"}),
        ),
    )
}
"""Every published system, by the name that stacks say."""


def check_target_name(name: str) -> str:
    """The name if it is a target's. Raises ValueError naming the choices."""
    if name not in TARGETS:
        raise ValueError(f"no such target; choose one of {', '.join(TARGETS)}")
    return name


TargetName = Annotated[
    str, AfterValidator(check_target_name), WithJsonSchema({"type": "string", "enum": [*TARGETS]})
]
"""The name of a target, for settings."""
