"""TensorRT-LLM workers: `python3 -m dynamo.trtllm` and its engine file, per Dynamo release. Pure.

Source: the argument parser of each released `ai-dynamo` package (`dynamo.trtllm`).
"""

import copy
from typing import Any

from graphs.command import Command, disaggregation_mode, flags, parsers
from graphs.names import ENGINE_FILES_PATH, MODEL_PATH
from targets.catalogue import MODEL_ID, Role, Worker
from targets.plan import GraphPlan, WorkerPlan
from targets.registration import strategy
from targets.releases import Version

_KV_EVENTS_FLAG_SINCE = Version(1, 3)
_POSTPROCESS_WORKERS_UNTIL = Version(1, 6)
"""From 1.6 the worker strips `num_postprocess_workers` from the engine file with a warning."""

_UPPER_CASE_SINCE = Version(1, 0)
"""The TensorRT-LLM of 0.4 spells the transceiver's backend `ucx`, later ones `UCX`; each takes only its own."""


def command(plan: GraphPlan, planned: WorkerPlan) -> Command:
    """The worker's command line and engine file."""
    worker, in_file = planned.worker, plan.target.engine_settings == "engine file"
    file_name = f"{'config' if worker.role is Role.WORKER else worker.role.value}.yaml"
    args = flags(
        [
            ("--model-path", MODEL_PATH),
            ("--served-model-name", MODEL_ID),
            ("--extra-engine-args", f"{ENGINE_FILES_PATH}/{file_name}"),
            *parsers(plan.version),
            ("--disaggregation-mode", disaggregation_mode(worker.role)),
            ("--disaggregation-strategy", strategy(plan)),
            *([] if in_file else _settings(worker)),
            *(_kv_events(plan.version) if plan.router_mode == "kv" else []),
        ]
    )
    return Command(
        module="dynamo.trtllm",
        args=(*args, *planned.extra_args),
        env=plan.target.env,
        files={file_name: _engine_file(plan.version, worker, in_file, efa=plan.uses_efa)},
    )


def _kv_events(version: Version) -> list[tuple[str, object]]:
    return [
        ("--publish-kv-events" if version >= _KV_EVENTS_FLAG_SINCE else "--publish-events-and-metrics", True)
    ]


def _settings(worker: Worker) -> list[tuple[str, object]]:
    return [
        ("--max-num-tokens", worker.max_num_tokens),
        ("--max-batch-size", worker.max_batch_size),
        ("--max-seq-len", worker.max_seq_len),
        ("--free-gpu-memory-fraction", worker.free_gpu_memory_fraction),
        ("--tensor-parallel-size", worker.tensor_parallel),
        ("--pipeline-parallel-size", worker.pipeline_parallel),
        ("--expert-parallel-size", worker.expert_parallel),
    ]


def _engine_file(version: Version, worker: Worker, in_file: bool, *, efa: bool) -> dict[str, Any]:
    content = copy.deepcopy(dict(worker.engine_file))
    if version >= _POSTPROCESS_WORKERS_UNTIL:
        content.pop("num_postprocess_workers", None)
    transceiver = content.get("cache_transceiver_config", {})
    if efa:
        transceiver["backend"] = "NIXL"
    elif version < _UPPER_CASE_SINCE and transceiver:
        transceiver["backend"] = transceiver["backend"].lower()
    if worker.cuda_graph_batch is not None:
        content.setdefault("cuda_graph_config", {})["max_batch_size"] = worker.cuda_graph_batch
    if worker.chunked_prefill is not None:
        content["enable_chunked_prefill"] = worker.chunked_prefill
    if in_file:
        content |= {
            key: value
            for key, value in {
                "max_batch_size": worker.max_batch_size,
                "max_num_tokens": worker.max_num_tokens,
                "max_seq_len": worker.max_seq_len,
                "tensor_parallel_size": worker.tensor_parallel,
                "pipeline_parallel_size": worker.pipeline_parallel,
                "moe_expert_parallel_size": worker.expert_parallel,
            }.items()
            if value is not None
        }
        if worker.free_gpu_memory_fraction is not None:
            content.setdefault("kv_cache_config", {})["free_gpu_memory_fraction"] = (
                worker.free_gpu_memory_fraction
            )
    return content
