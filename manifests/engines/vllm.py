"""vLLM workers: `python3 -m dynamo.vllm`, per Dynamo release. Pure.

Source: the argument parser of each released `ai-dynamo` package (`dynamo.vllm`) and vLLM's own engine arguments.
"""

import json
from collections.abc import Mapping, Sequence

from facts.engines import Engine, Role
from facts.releases import MXFP8_ARGUMENTS_SINCE, MXFP8_VARIABLE, Version
from facts.weights import MODEL_ID
from manifests.command import Command, disaggregation_mode, flags, knob_words, model_to_load, parsers
from manifests.engines import kv_transfer
from manifests.names import MODEL_PATH
from targets.engine_knobs import Limits, Loading, Parallelism
from targets.parts import WorkerPlan
from targets.plan import GraphPlan

_MODE_SINCE = Version(1, 0)
"""0.4 knows `--is-prefill-worker` and sets the connector itself; later releases demand mode and connector."""
_EVENTS_SINCE = Version(1, 1)
"""Earlier releases publish KV events by themselves; from here only when configured (dynamo PR#7591)."""
_EVENTS_PORT = 20080
_ROLES_SINCE = Version(1, 3)
"""From the vLLM of this release on, NixlConnector wants to know who produces; before, both roles say `kv_both`."""
_KV_ROLE = {Role.PREFILL: "kv_producer", Role.DECODE: "kv_consumer"}
_NIXL_PORT = {Role.PREFILL: 5600, Role.DECODE: 5700}
"""First NIXL side-channel port of each role: two workers that share a host's network must not meet on one."""


_MXFP8_ARGUMENTS = (
    "--moe-backend", "flashinfer_trtllm", "--quantization-config", '{"moe":{"activation":"mxfp8"}}',
)  # fmt: skip
_CHECKPOINT_QUANTIZATION = ("--quantization", "mxfp4")
"""What the checkpoint says itself; vLLM 0.26 refuses `--quantization-config` beside it."""


def command(plan: GraphPlan, planned: WorkerPlan) -> Command:
    """The worker's command line."""
    worker = planned.worker
    arguments, env = _mxfp8(plan.version, worker.arguments, plan.target.pods.env)
    handover = [*_disaggregation(plan, planned), *_kv_events(plan, planned)]
    args = [
        *flags([("--model", MODEL_PATH), ("--served-model-name", MODEL_ID)]),
        *knob_words(Engine.VLLM, worker.knobs, Parallelism),
        *flags([("--block-size", plan.target.serving.kv_block_size)]),
        *knob_words(Engine.VLLM, worker.knobs, Limits),
        *knob_words(Engine.VLLM, worker.knobs, Loading),
        *flags([("--speculative-config", _speculation(plan)), *parsers(plan.version), *handover]),
    ]
    port = _NIXL_PORT.get(worker.role)
    return Command(
        module="dynamo.vllm",
        args=(*arguments, *args, *planned.extra_args),
        env={
            **env,
            **({} if port is None else {"VLLM_NIXL_SIDE_CHANNEL_PORT": str(port)}),
        },
    )


def _mxfp8(
    version: Version, arguments: Sequence[str], env: Mapping[str, str]
) -> tuple[Sequence[str], Mapping[str, str]]:
    """Arguments and environment in which the experts' activations are MXFP8, where the recipe asks for that."""
    if MXFP8_VARIABLE not in env or version < MXFP8_ARGUMENTS_SINCE:
        return arguments, env
    flag, value = _CHECKPOINT_QUANTIZATION
    kept = [
        word
        for word, after, before in zip(arguments, (*arguments[1:], ""), ("", *arguments), strict=False)
        if (word, after) != (flag, value) and (before, word) != (flag, value)
    ]
    left = {name: setting for name, setting in env.items() if name != MXFP8_VARIABLE}
    return (*kept, *_MXFP8_ARGUMENTS), left


def _speculation(plan: GraphPlan) -> str | None:
    """EAGLE3 on every role: prefill and decode must agree on the layout of the draft layers' KV cache."""
    if plan.target.serving.speculative_tokens is None:
        return None
    draft = {"method": "eagle3", "model": model_to_load(plan.cache.weights[1])}
    return _json(draft | {"num_speculative_tokens": plan.target.serving.speculative_tokens})


def _disaggregation(plan: GraphPlan, planned: WorkerPlan) -> list[tuple[str, object]]:
    """How KV cache travels, as far as vLLM itself decides it."""
    role = planned.role
    if role is Role.WORKER:
        return []
    if plan.version < _MODE_SINCE:
        return [("--is-prefill-worker", role is Role.PREFILL)]
    kv_role = _KV_ROLE[role] if plan.version >= _ROLES_SINCE else "kv_both"
    connector: dict[str, object] = {"kv_connector": "NixlConnector", "kv_role": kv_role}
    if kv_transfer.in_host_memory(plan, planned):
        connector["kv_buffer_device"] = "cpu"
    if plan.uses_efa:
        connector["kv_connector_extra_config"] = {"backends": [kv_transfer.backend(plan)]}
    return [
        ("--disaggregation-mode", disaggregation_mode(role)),
        ("--kv-transfer-config", _json(connector)),
    ]


def _kv_events(plan: GraphPlan, planned: WorkerPlan) -> list[tuple[str, object]]:
    if plan.frontend.router_mode != "kv" or planned.role is Role.DECODE or plan.version < _EVENTS_SINCE:
        return []
    endpoint = f"tcp://*:{_EVENTS_PORT + planned.position}"
    events = {"enable_kv_cache_events": True, "publisher": "zmq", "endpoint": endpoint}
    return [("--kv-events-config", _json(events))]


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
