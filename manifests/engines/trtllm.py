"""TensorRT-LLM workers: `python3 -m dynamo.trtllm` and its engine file, per Dynamo release. Pure.

Source: the argument parser of each released `ai-dynamo` package (`dynamo.trtllm`).
"""

import copy
from typing import Any

from facts.engines import Engine, Role
from facts.releases import Version
from facts.weights import MODEL_ID
from manifests.command import Command, disaggregation_mode, flags, knob_words, parsers
from manifests.names import ENGINE_FILES_PATH, MODEL_PATH
from targets.engine_knobs import KNOBS, Limits, Parallelism
from targets.parts import WorkerPlan
from targets.plan import GraphPlan
from targets.target import PublishedWorker

_KV_EVENTS_FLAG_SINCE = Version(1, 3)
_POSTPROCESS_WORKERS_UNTIL = Version(1, 6)
"""From 1.6 the worker strips `num_postprocess_workers` from the engine file with a warning."""

_UPPER_CASE_SINCE = Version(1, 0)
"""The TensorRT-LLM of 0.4 spells the transceiver's backend `ucx`, later ones `UCX`; each takes only its own."""


def command(plan: GraphPlan, planned: WorkerPlan) -> Command:
    """The worker's command line and engine file."""
    worker, in_file = planned.worker, plan.target.serving.engine_settings == "engine file"
    file_name = f"{'config' if worker.role is Role.WORKER else worker.role.value}.yaml"
    args = flags(
        [
            ("--model-path", MODEL_PATH),
            ("--served-model-name", MODEL_ID),
            ("--extra-engine-args", f"{ENGINE_FILES_PATH}/{file_name}"),
            *parsers(plan.version),
            ("--disaggregation-mode", disaggregation_mode(worker.role)),
            ("--disaggregation-strategy", plan.handover.strategy),
        ]
    )
    if not in_file:
        args += knob_words(Engine.TRTLLM, worker.knobs, Limits)
        args += knob_words(Engine.TRTLLM, worker.knobs, Parallelism)
    if plan.frontend.router_mode == "kv":
        args += flags(_kv_events(plan.version))
    return Command(
        module="dynamo.trtllm",
        args=(*args, *planned.extra_args),
        env=plan.target.pods.env,
        files={file_name: _engine_file(plan.version, worker, in_file, efa=plan.uses_efa)},
    )


def _kv_events(version: Version) -> list[tuple[str, object]]:
    return [
        ("--publish-kv-events" if version >= _KV_EVENTS_FLAG_SINCE else "--publish-events-and-metrics", True)
    ]


def _engine_file(version: Version, worker: PublishedWorker, in_file: bool, *, efa: bool) -> dict[str, Any]:
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
    for name, value in worker.knobs.values():
        knob = KNOBS[name]
        if knob.engine_file and (in_file or knob.trtllm is None):
            *sections, key = knob.engine_file.split(".")
            section = content
            for each in sections:
                section = section.setdefault(each, {})
            section[key] = value
    return content
