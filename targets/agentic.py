"""The published agentic systems: vLLM with EAGLE3 and the kv router on one node of eight GPUs. Pure.

Source: the recipes `gpt-oss-120b/vllm` in ai-dynamo/dynamo.
"""

from dataclasses import replace

from facts.engines import Engine, Role
from facts.hardware import Arch, Gpu
from facts.releases import Version
from targets.engine_knobs import EngineKnobs
from targets.target import Pods, PublishedBenchmark, PublishedWorker, Releases, Serving, Target

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


def agentic(gpu: Gpu, *, prefill: int = 0, decode: int = 0) -> Target:
    """vLLM with EAGLE3 and the kv router on one node of eight GPUs; aggregated where no split is given."""
    blackwell, split = gpu is Gpu.B200, prefill > 0
    kind, size = "disagg" if split else "agg", gpu.lower()
    common = _worker(blackwell=blackwell, split=split)
    # On these GPUs FlashInfer links its kernels into a folder that only root may write before (dynamo PR#12770).
    unprivileged = Version(1, 4) if blackwell else Version(0, 4)
    concurrency = 384 if blackwell else 128
    return Target(
        name=f"vllm-{kind}-agentic-{size}",
        title=f"vLLM, {f'{prefill} prefill and {decode} decode' if split else '8 aggregated'} TP1 workers with EAGLE3 "
        f"and the kv router on one 8×{gpu} node",
        engine=Engine.VLLM,
        graph="gpt-oss-disagg-agentic" if split else f"turbo-gptoss-120b-agg-{size}-agentic",
        workers=(
            (
                replace(common, role=Role.PREFILL, replicas=prefill),
                replace(common, role=Role.DECODE, replicas=decode),
            )
            if split
            else (common,)
        ),
        gpu_models=(gpu,),
        archs=(Arch.AMD64,),
        benchmark=PublishedBenchmark(
            isl=64000,
            osl=400,
            concurrency=concurrency,
            requests=10 * concurrency,
            warmup=5,
            dataset_entries=12800,
            seed=42,
        ),
        source=f"Dynamo recipe: gpt-oss-120b/vllm/{kind}-{size}-agentic",
        releases=Releases(since=Version(1, 3), unprivileged_since=unprivileged),
        serving=Serving(router_mode="kv", kv_block_size=64, quantization="MXFP4", speculative_tokens=3),
        pods=Pods(
            env={
                **_VLLM_CACHE_ENV,
                **(_BLACKWELL_ENV if blackwell else _HOPPER_ENV),
                **(_NVLINK_ENV if split else {"PYTHONHASHSEED": "42"}),
            },
            shared_memory="64Gi",
            frontend_requests={"cpu": "8", "memory": "16Gi"},
        ),
    )


def _worker(*, blackwell: bool, split: bool) -> PublishedWorker:
    """One worker of one GPU; of which role, a disaggregated target says itself."""
    experts = () if blackwell else _HOPPER_EXPERTS
    if split:
        arguments = (*_VLLM_AGENTIC, *experts, *_VLLM_CACHE, *_HYBRID_CACHE)
    else:
        offload = () if blackwell else _CPU_OFFLOAD
        arguments = (*_VLLM_AGENTIC, *experts, *_VLLM_CACHE, *_AGGREGATED_COMPILATION, *offload)
    return PublishedWorker(
        role=Role.WORKER,
        replicas=8,
        knobs=EngineKnobs(
            tensor_parallel=1,
            max_num_tokens=32768,
            max_batch_size=None if split else 256,
            max_seq_len=131072,
            free_gpu_memory_fraction=0.9,
            chunked_prefill=True,
        ),
        arguments=arguments,
        requests={"memory": "150Gi" if split else "200Gi"},
    )
