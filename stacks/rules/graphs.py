"""What cannot work of the graphs, told before any resource exists. Pure.

Every problem is one sentence: the key, the value, what is allowed, and where it helps the reason. Sources: Dynamo's
operator admission rules, its known-issues pages and the upstream issues named beside each check.
"""

from collections.abc import Callable, Iterator

from facts.engines import Engine
from facts.hardware import INSTANCE_TYPES
from facts.releases import (
    ENDPOINT_PICKER_SINCE,
    LATEST_PATCH,
    MXFP8_ARGUMENTS_SINCE,
    MXFP8_VARIABLE,
    Version,
)
from stacks.rules.images import LOADS_GPT_OSS_SINCE, has_own_image, image_problems
from stacks.rules.transport import transport_problems
from stacks.rules.workers import worker_problems
from targets.naming import name_problems
from targets.plan import GraphPlan

_RESERVED_ENV = {
    "CUDA_VISIBLE_DEVICES": "the graph says which GPUs a worker sees",
    "DYN_HTTP_HOST": "Service and probes reach the frontend on the address of its pod; leave it out",
    "DYN_HTTP_PORT": "Service, probes and verification ask the frontend's port 8000; leave it out",
    "DYN_SYSTEM_PORT": "probes and monitoring ask the port that the graph says; leave it out",
    "DYN_NAMESPACE": "the operator sets it; graphs that share one would see each other's workers",
    "ETCD_ENDPOINTS": "discovery is the platform's choice and a fixed address breaks it (dynamo PR#12070)",
    "HF_TOKEN": "a token there is readable in the graph; use huggingFace.token",
    "NATS_SERVER": "the operator sets it",
}
_REFUSED_ARGUMENTS = {
    "--dyn-chat-processor": "answers GPT-OSS requests with HTTP 500 (dynamo#14936); leave it out, the default "
    "processor parses harmony",
    "--http-host": "takes the frontend off the address that Service and probes ask; leave it out",
}


def knob_problems(plan: GraphPlan) -> list[str]:
    """What cannot work of one graph by itself."""
    # On the wrong hardware every other answer would mislead.
    return list(_hardware(plan)) or [problem for rule in _RULES for problem in rule(plan)]


def release_problems(plan: GraphPlan) -> Iterator[str]:
    """Whether the platform's operator cannot run graphs of the plan's release.

    An operator runs runtimes of its own and of earlier release lines; a newer runtime than the platform is unknown
    to its webhook and defaults.
    """
    platform = plan.operation.platform
    if (plan.version.major, plan.version.minor) > (platform.major, platform.minor):
        yield (
            f"platform.version: {platform} is older than {plan.key}.dynamoVersion {plan.version}; "
            f"use a platform of {plan.version.line} or newer, or lower {plan.key}.dynamoVersion"
        )


def _hardware(plan: GraphPlan) -> Iterator[str]:
    target, instance = plan.target, plan.pool.instance
    wanted = target.gpu_models or (None,)
    largest = max(worker.gpus for worker in target.workers)
    fitting = [
        instance.name
        for instance in INSTANCE_TYPES.values()
        if instance.gpu in wanted and instance.arch in target.archs and instance.gpus >= largest
    ]
    choices = f"choose one of {', '.join(fitting)}"
    if plan.key.startswith("graphs["):
        choices += f", or another pool for {plan.key}.pool"
    if instance.arch not in target.archs:
        yield (
            f"{plan.pool.key}.instanceType: {instance.name} is {instance.arch}, but target {target.name} "
            f"runs only on {' or '.join(target.archs)}; {choices}"
        )
    elif instance.gpu not in wanted:
        yield (
            f"{plan.pool.key}.instanceType: {instance.name} has {instance.gpu or 'no'} GPUs, but target {target.name} "
            f"is for {' or '.join(target.gpu_models) or 'CPU nodes'}; {choices}"
        )
    if instance.arch.value not in plan.image.archs:
        yield (
            f"{plan.key}.image.archs: [{', '.join(plan.image.archs)}] does not hold {instance.arch}, "
            f"the architecture of {instance.name}"
        )


def _release(plan: GraphPlan) -> Iterator[str]:
    target = plan.target
    if plan.version < target.releases.since:
        yield (
            f"{plan.key}.dynamoVersion: {plan.version} cannot run target {target.name}; "
            f"use {LATEST_PATCH[target.releases.since.line]} or newer"
        )
    if target.releases.until is not None and plan.version >= target.releases.until:
        yield (
            f"{plan.key}.dynamoVersion: {plan.version} cannot run target {target.name}, whose image and commands are "
            f"of {target.releases.default}; leave it out, or choose target trtllm-disagg-b200"
        )
    if target.engine is Engine.TRTLLM and plan.version < LOADS_GPT_OSS_SINCE and not has_own_image(plan):
        yield (
            f"{plan.key}.dynamoVersion: the published image of {plan.version} holds TensorRT-LLM 1.0.0rc6, which "
            "cannot load GPT-OSS; choose target trtllm-disagg-b200-0.4, whose image can, set "
            f"{plan.key}.image.repository or {plan.key}.image.build to one that can, or use {LATEST_PATCH['1.0']} or "
            "newer"
        )
    if plan.unused.strategy:
        yield (
            f"{plan.key}.disaggregationStrategy: {plan.unused.strategy!r} is for prefill and decode "
            f"workers of TensorRT-LLM on Dynamo 0.4, but {plan.name} is target {target.name} on {plan.version}; "
            "leave it out"
        )
    if target.serving.speculative_tokens and target.disaggregated and plan.version == Version(1, 3, 0):
        yield (
            f"{plan.key}.dynamoVersion: {plan.version} crashes with EAGLE3 and disaggregation (known issue of 1.3.0); "
            f"use {LATEST_PATCH['1.3']} or newer"
        )
    if plan.unused.draft_revision:
        yield f"{plan.key}.draftRevision: target {target.name} uses no draft model; leave it out"


def _routing(plan: GraphPlan) -> Iterator[str]:
    if plan.frontend.router_mode == "kv" and not plan.reuses_kv_blocks:
        yield (
            f"{plan.key}.frontend.routerMode: 'kv' finds nothing on target {plan.target.name}, whose engine files "
            "switch KV block reuse off; choose round-robin or random"
        )


def _inference_extension(plan: GraphPlan) -> Iterator[str]:
    if plan.frontend.inference_extension and plan.version < ENDPOINT_PICKER_SINCE:
        yield (
            f"ingress.inferenceExtension: true needs the endpoint picker of Dynamo {ENDPOINT_PICKER_SINCE} or newer, "
            f"but {plan.name} is Dynamo {plan.version}; use {plan.key}.dynamoVersion {LATEST_PATCH['1.6']} or newer"
        )


def _arguments(plan: GraphPlan) -> Iterator[str]:
    for argument in plan.frontend.extra_args:
        flag = argument.split("=")[0].replace("_", "-")
        if flag in _REFUSED_ARGUMENTS:
            yield f"{plan.key}.frontend.extraArgs: {flag!r} {_REFUSED_ARGUMENTS[flag]}"


def _environment(plan: GraphPlan) -> Iterator[str]:
    sections: list[tuple[str, dict[str, str]]] = [("frontend", dict(plan.frontend.env))]
    sections += [(planned.role.value, planned.env) for planned in plan.workers]
    for section, env in sections:
        for name in sorted(env.keys() & _RESERVED_ENV.keys()):
            yield f"{plan.key}.{section}.env: {name!r} is not allowed: {_RESERVED_ENV[name]}"
        if (
            MXFP8_VARIABLE in env
            and plan.target.engine is Engine.VLLM
            and plan.version >= MXFP8_ARGUMENTS_SINCE
        ):
            yield (
                f"{plan.key}.{section}.env: {MXFP8_VARIABLE!r} does nothing on Dynamo {plan.version}, whose vLLM does "
                "not know it; use extraArgs: --moe-backend flashinfer_trtllm --quantization-config "
                '\'{"moe":{"activation":"mxfp8"}}\''
            )


_RULES: tuple[Callable[[GraphPlan], Iterator[str]], ...] = (
    _release, worker_problems, transport_problems, _routing,
    _inference_extension, _arguments, _environment, image_problems, name_problems,
)  # fmt: skip
