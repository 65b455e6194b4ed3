"""The sources' own values: what each guide and recipe says for each role, flag by flag and field by field.

Kept apart from the catalogue, so that a slip in either shows. Values are those of the documents named in `source`;
None stands for a flag without a value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

Items = Mapping[str, str | None]


@dataclass(frozen=True, kw_only=True)
class Published:
    """One source. version: the Dynamo release it is written for. roles: items of frontend, prefill, decode, worker."""

    target: str
    version: str
    source: str
    roles: Mapping[str, Items]
    frontend: Items = field(default_factory=dict)


PARSERS: Items = {"--dyn-reasoning-parser": "gpt_oss", "--dyn-tool-call-parser": "harmony"}

# vLLM guide
VLLM: Items = {"--model": "openai/gpt-oss-120b", "--tensor-parallel-size": "4", "gpus": "4"}
VLLM_PREFILL: Items = {**VLLM, "--is-prefill-worker": None, "CUDA_VISIBLE_DEVICES": "4,5,6,7"}
VLLM_DECODE: Items = {**VLLM, "CUDA_VISIBLE_DEVICES": "0,1,2,3"}
# SGLang guide
SGLANG: Items = {
    "--model-path": "openai/gpt-oss-120b",
    "--served-model-name": "openai/gpt-oss-120b",
    "--tp": "4",
    "--trust-remote-code": None,
    "--skip-tokenizer-init": None,
    "--disaggregation-transfer-backend": "nixl",
    "gpus": "4",
}
# TensorRT-LLM guides; docker's 10G is 10 GiB
TRTLLM_CONTAINER: Items = {
    "docker --network": "host",
    "docker --ipc": "host",
    "docker --volume": "$PWD:/workspace",
    "docker --cap-add": "CAP_SYS_PTRACE",
    "docker --ulimit": "memlock=-1 stack=67108864 nofile=65536:65536",
    "shared memory": "10Gi",
    "HF_TOKEN": "$HF_TOKEN",
    "TRTLLM_ENABLE_PDL": "1",
    "TRT_LLM_DISABLE_LOAD_WEIGHTS_IN_PARALLEL": "True",
    "gpus": "4",
}
TRTLLM: Items = {
    "--model-path": "/model",
    "--served-model-name": "openai/gpt-oss-120b",
    "--free-gpu-memory-fraction": "0.9",
    "--tensor-parallel-size": "4",
    "--expert-parallel-size": "4",
}
TRTLLM_PREFILL: Items = {
    **TRTLLM_CONTAINER,
    **TRTLLM,
    "--disaggregation-mode": "prefill",
    "--max-num-tokens": "20000",
    "--max-batch-size": "32",
    "CUDA_VISIBLE_DEVICES": "0,1,2,3",
    "file: enable_attention_dp": "False",
    "file: enable_chunked_prefill": "True",
    "file: moe_config.backend": "CUTLASS",
    "file: cuda_graph_config.max_batch_size": "32",
}
TRTLLM_DECODE: Items = {
    **TRTLLM_CONTAINER,
    **TRTLLM,
    "--disaggregation-mode": "decode",
    "--max-num-tokens": "16384",
    "CUDA_VISIBLE_DEVICES": "4,5,6,7",
    "file: enable_attention_dp": "True",
    "file: disable_overlap_scheduler": "False",
    "file: moe_config.backend": "CUTLASS",
    "file: cuda_graph_config.max_batch_size": "128",
}
# The engine files that the 1.0 guide names say more than its text does.
TRTLLM_FILE: Items = {
    "file: cuda_graph_config.enable_padding": "True",
    "file: cache_transceiver_config.max_tokens_in_buffer": "65536",
    "file: print_iter_log": "False",
    "file: stream_interval": "10",
}
OVERLAP_OFF: Items = {"file: disable_overlap_scheduler": "True"}
GUIDE_FRONTEND: Items = {"--router-mode": "round-robin", "--http-port": "8000"}
# Recipes
RECIPE: Items = {
    "--model-path": "$MODEL_PATH",
    "--served-model-name": "openai/gpt-oss-120b",
    "--extra-engine-args": "$ENGINE_ARGS",
    "HF_HOME": "/opt/models",
    "SERVED_MODEL_NAME": "openai/gpt-oss-120b",
    "TRTLLM_ENABLE_PDL": "1",
    "TRT_LLM_DISABLE_LOAD_WEIGHTS_IN_PARALLEL": "True",
    "envFromSecret": "hf-token-secret",
    "componentType": "main",
    "workingDir": "/workspace/examples/backends/trtllm",
    "shared memory": "80Gi",
    "node affinity nvidia.com/gpu.present": "true",
    "file: stream_interval": "20",
    "file: kv_cache_config.enable_block_reuse": "False",
    "file: cuda_graph_config.enable_padding": "True",
    "file: moe_config.backend": "TRTLLM",
}
LONG: Items = {
    **RECIPE,
    "ENGINE_ARGS": "/opt/dynamo/configs/<role>.yaml",
    "MODEL_PATH": "openai/gpt-oss-120b",
    "OVERRIDE_QUANT_ALGO": "W4A8_MXFP4_MXFP8",
    "NCCL_GRAPH_REGISTER": "0",
    "OMPI_MCA_coll_ucc_enable": "0",
    "image": "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.3.1",
    "dynamoNamespace": "gpt-oss-disagg",
    "file: cache_transceiver_config.backend": "UCX",
    "file: cache_transceiver_config.max_tokens_in_buffer": "9216",
    "file: enable_attention_dp": "False",
    "file: kv_cache_config.dtype": "fp8",
    "file: max_num_tokens": "20000",
    "file: moe_expert_parallel_size": "1",
    "file: pipeline_parallel_size": "1",
    "file: num_postprocess_workers": "4",
    "file: print_iter_log": "True",
    "file: trust_remote_code": "True",
}
LONG_PREFILL: Items = {
    **LONG,
    "--disaggregation-mode": "prefill",
    "gpus": "1",
    "file: cuda_graph_config.max_batch_size": "30",
    "file: disable_overlap_scheduler": "True",
    "file: kv_cache_config.free_gpu_memory_fraction": "0.8",
    "file: max_batch_size": "64",
    "file: max_seq_len": "9000",
    "file: tensor_parallel_size": "1",
}
LONG_DECODE: Items = {
    **LONG,
    "--disaggregation-mode": "decode",
    "gpus": "4",
    "file: allreduce_strategy": "AUTO",
    "file: attention_dp_config.enable_balance": "True",
    "file: cuda_graph_config.max_batch_size": "1280",
    "file: disable_overlap_scheduler": "False",
    "file: kv_cache_config.free_gpu_memory_fraction": "0.85",
    "file: max_batch_size": "1280",
    "file: max_seq_len": "11000",
    "file: tensor_parallel_size": "4",
}
AGGREGATED: Items = {
    **RECIPE,
    "--tensor-parallel-size": "4",
    "--expert-parallel-size": "4",
    "--max-batch-size": "800",
    "--free-gpu-memory-fraction": "0.9",
    "ENGINE_ARGS": "/opt/dynamo/configs/config.yaml",
    "MODEL_PATH": "/opt/models/hub/models--openai--gpt-oss-120b/snapshots/b5c939de8f754692c1647ca79fbf85e8c1e70f8a",
    "image": "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:0.8.0rc5-arm64",
    "privileged": "True",
    "gpus": "4",
    "claim": "compute-domain-channel gpt-oss-agg-compute-domain-channel",
    "file: enable_attention_dp": "True",
    "file: cuda_graph_config.max_batch_size": "800",
}
RECIPE_FRONTEND: Items = {"envFromSecret": "hf-token-secret"}
# vLLM agentic recipes
SPECULATION = '{"method":"eagle3","model":"nvidia/gpt-oss-120b-Eagle3-v3","num_speculative_tokens":3}'
AGENTIC: Items = {
    "--model": "openai/gpt-oss-120b",
    "--served-model-name": "openai/gpt-oss-120b",
    "--trust-remote-code": None,
    "--quantization": "mxfp4",
    "--kv-cache-dtype": "fp8",
    "--max-model-len": "131072",
    "--gpu-memory-utilization": "0.9",
    "--tensor-parallel-size": "1",
    "--enable-chunked-prefill": None,
    "--enable-prefix-caching": None,
    "--async-scheduling": None,
    "--enable-flashinfer-autotune": None,
    "--max-num-batched-tokens": "32768",
    "--speculative-config": SPECULATION,
    **PARSERS,
    "HF_HOME": "/model-cache",
    "hostIPC": "True",
    "runAsUser": "0",
    "capabilities": "SYS_PTRACE IPC_LOCK",
    "shared memory": "64Gi",
    "image": "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.1",
    "gpus": "1",
}
B200_EXPERTS: Items = {"TORCH_CUDA_ARCH_LIST": "10.0", "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8": "1"}
H200_EXPERTS: Items = {"TORCH_CUDA_ARCH_LIST": "9.0", "--moe-backend": "flashinfer_cutlass"}
AGENTIC_AGGREGATED: Items = {
    **AGENTIC,
    "--max-num-seqs": "256",
    "--compilation-config": '{"pass_config":{"fuse_allreduce_rms":true,"eliminate_noops":true},'
    '"max_cudagraph_capture_size":1024}',
    "TRITON_CACHE_DIR": "/tmp/.triton-cache",
    "VLLM_CACHE_ROOT": "/tmp/vllm-cache",
    "HF_MODULES_CACHE": "/tmp/hf_modules",
    "PYTHONHASHSEED": "42",
    "requests": "memory=200Gi",
    "replicas": "8",
}
OFFLOAD: Items = {
    "--kv-transfer-config": '{"kv_connector":"SimpleCPUOffloadConnector","kv_role":"kv_both",'
    '"kv_connector_extra_config":{"cpu_bytes_to_use_per_rank":107374182400}}'
}
AGENTIC_SPLIT: Items = {
    **AGENTIC,
    "--block-size": "64",
    "--no-disable-hybrid-kv-cache-manager": None,
    "--kv-transfer-config": '{"kv_connector":"NixlConnector","kv_role":"kv_both"}',
    "VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE": "1",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "TRITON_CACHE_DIR": "/model-cache/.cache/triton",
    "VLLM_CACHE_ROOT": "/model-cache/.cache/vllm",
    "HF_MODULES_CACHE": "/model-cache/.cache/hfmods",
    "NCCL_IB_DISABLE": "1",
    "NCCL_NET_PLUGIN": "none",
    "NCCL_P2P_LEVEL": "NVL",
    "DYN_SYSTEM_PORT": "9091 and up",
    "VLLM_NIXL_SIDE_CHANNEL_PORT": "5601 and up",
    "ETCD_ENDPOINTS": "a fixed address",
    "NATS_SERVER": "a fixed address",
    "one pod for all workers": "True",
    "requests": "memory=1200Gi",
}
AGENTIC_FRONTEND: Items = {
    "--router-mode": "kv",
    "--router-kv-events": None,
    "--kv-cache-block-size": "64",
}
AGGREGATED_FRONTEND: Items = {
    **AGENTIC_FRONTEND,
    "--trust-remote-code": None,
    "requests": "cpu=8 memory=16Gi",
}
SPLIT_FRONTEND: Items = {**AGENTIC_FRONTEND, "--http-host": "0.0.0.0", "--http-port": "8000"}


def _split(experts: Items, prefill: str, decode: str) -> Mapping[str, Items]:
    return {
        "prefill": {**AGENTIC_SPLIT, **experts, "--disaggregation-mode": "prefill", "replicas": prefill},
        "decode": {**AGENTIC_SPLIT, **experts, "--disaggregation-mode": "decode", "replicas": decode},
        "frontend": SPLIT_FRONTEND,
    }


MOCKER: Items = {
    "--model-path": "nvidia/Llama-3.1-8B-Instruct-FP8",
    "--speedup-ratio": "1.0",
    "--planner-profile-data": "H200_TP1P_TP1D",
    "envFromSecret": "hf-token-secret",
    "image": "nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.3.1",
}

SOURCES = (
    Published(
        target="vllm-disagg-h100",
        version="1.2.1",
        source="guide: Running gpt-oss-120b Disaggregated with vLLM",
        roles={
            "prefill": {**VLLM_PREFILL, **PARSERS},
            "decode": {**VLLM_DECODE, **PARSERS},
            "frontend": {"--http-port": "8000"},
        },
    ),
    Published(
        target="sglang-disagg-h100",
        version="1.2.1",
        source="guide: Running gpt-oss-120b Disaggregated with SGLang",
        roles={
            "prefill": {
                **SGLANG,
                **PARSERS,
                "--disaggregation-mode": "prefill",
                "CUDA_VISIBLE_DEVICES": "4,5,6,7",
            },
            "decode": {
                **SGLANG,
                **PARSERS,
                "--disaggregation-mode": "decode",
                "CUDA_VISIBLE_DEVICES": "0,1,2,3",
            },
            "frontend": {"--http-port": "8000"},
        },
    ),
    Published(
        target="trtllm-disagg-b200",
        version="1.2.1",
        source="guide: GPT-OSS with TensorRT-LLM (1.0)",
        roles={
            "prefill": {
                **TRTLLM_PREFILL,
                **TRTLLM_FILE,
                **OVERLAP_OFF,
                **PARSERS,
                "--extra-engine-args": "examples/backends/trtllm/engine_configs/gpt-oss-120b/prefill.yaml",
                "image": "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:my-tag",
                "file: cache_transceiver_config.backend": "UCX",
            },
            "decode": {
                **TRTLLM_DECODE,
                **TRTLLM_FILE,
                **PARSERS,
                "--extra-engine-args": "examples/backends/trtllm/engine_configs/gpt-oss-120b/decode.yaml",
                "image": "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:my-tag",
                "file: cache_transceiver_config.backend": "UCX",
            },
            "frontend": GUIDE_FRONTEND,
        },
    ),
    Published(
        target="trtllm-disagg-b200-0.4",
        version="0.4.1",
        source="guide: GPT-OSS with TensorRT-LLM (0.4), and its engine files",
        roles={
            "prefill": {
                **TRTLLM_PREFILL,
                **TRTLLM_FILE,
                **OVERLAP_OFF,
                "--disaggregation-strategy": "prefill_first",
                "--extra-engine-args": "engine_configs/gpt_oss/prefill.yaml",
                "image": "nvcr.io/nvidia/ai-dynamo/tensorrtllm-gpt-oss:latest",
                "file: cache_transceiver_config.backend": "ucx",
            },
            "decode": {
                **TRTLLM_DECODE,
                **TRTLLM_FILE,
                "--disaggregation-strategy": "prefill_first",
                "--extra-engine-args": "engine_configs/gpt_oss/decode.yaml",
                "image": "nvcr.io/nvidia/ai-dynamo/tensorrtllm-gpt-oss:latest",
                "file: cache_transceiver_config.backend": "ucx",
            },
            "frontend": {**GUIDE_FRONTEND, "clear_namespace": "dynamo"},
        },
    ),
    Published(
        target="trtllm-agg-gb200",
        version="1.2.1",
        source="recipe: gpt-oss-120b/trtllm/agg/deploy.yaml",
        roles={"worker": AGGREGATED, "frontend": RECIPE_FRONTEND},
    ),
    Published(
        target="trtllm-disagg-8k",
        version="1.2.1",
        source="recipe: gpt-oss-120b/trtllm/disagg/deploy.yaml",
        roles={
            "prefill": LONG_PREFILL,
            "decode": LONG_DECODE,
            "frontend": {
                **RECIPE_FRONTEND,
                "--router-mode": "round-robin",
                "frontend anti-affinity": "gpt-oss-disagg-frontend",
            },
        },
    ),
    Published(
        target="vllm-agg-agentic-b200",
        version="1.3.1",
        source="recipe: gpt-oss-120b/vllm/agg-b200-agentic/deploy.yaml",
        roles={"worker": {**AGENTIC_AGGREGATED, **B200_EXPERTS}, "frontend": AGGREGATED_FRONTEND},
    ),
    Published(
        target="vllm-agg-agentic-h200",
        version="1.3.1",
        source="recipe: gpt-oss-120b/vllm/agg-h200-agentic/deploy.yaml",
        roles={"worker": {**AGENTIC_AGGREGATED, **H200_EXPERTS, **OFFLOAD}, "frontend": AGGREGATED_FRONTEND},
    ),
    Published(
        target="vllm-disagg-agentic-b200",
        version="1.3.1",
        source="recipe: gpt-oss-120b/vllm/disagg-b200-agentic/deploy.yaml",
        roles=_split(B200_EXPERTS, "2", "6"),
    ),
    Published(
        target="vllm-disagg-agentic-h200",
        version="1.3.1",
        source="recipe: gpt-oss-120b/vllm/disagg-h200-agentic/deploy.yaml",
        roles=_split(H200_EXPERTS, "4", "4"),
    ),
    # Unchanged in Dynamo 1.4, whose vLLM knows the variable no more.
    Published(
        target="vllm-agg-agentic-b200",
        version="1.4.2",
        source="recipe: gpt-oss-120b/vllm/agg-b200-agentic/deploy.yaml",
        roles={"worker": {**AGENTIC_AGGREGATED, **B200_EXPERTS}, "frontend": AGGREGATED_FRONTEND},
    ),
    Published(
        target="vllm-disagg-agentic-b200",
        version="1.4.2",
        source="recipe: gpt-oss-120b/vllm/disagg-b200-agentic/deploy.yaml",
        roles=_split(B200_EXPERTS, "2", "6"),
    ),
    Published(
        target="mocker-disagg-cpu",
        version="1.2.1",
        source="example: backends/mocker/deploy/disagg.yaml",
        roles={
            "prefill": {
                **MOCKER,
                "--model-name": "nvidia/Llama-3.1-8B-Instruct-FP8",
                "--disaggregation-mode": "prefill",
            },
            "decode": {
                **MOCKER,
                "--model-name": "nvidia/Llama-3.1-8B-Instruct-FP8",
                "--disaggregation-mode": "decode",
            },
            "frontend": {"image": "nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.3.1"},
        },
    ),
)
