"""What cannot work is refused here, before any resource exists. Pure.

Every problem is one sentence: the key, the value, what is allowed, and where it helps the reason. Sources: Dynamo's
operator admission rules, its known-issues pages and the upstream issues named beside each check.
"""

import re
from collections.abc import Callable, Iterator

from targets.catalogue import TARGETS, Engine, Role
from targets.hardware import INSTANCE_TYPES, Gpu
from targets.plan import GraphPlan, Refusal
from targets.releases import LATEST_PATCH, Version

GROVE_NAME_LIMIT = 45
"""Characters of graph name plus component name that Grove's pod names leave room for."""
_SEMANTIC_TAG = re.compile(r"^v?\d+\.\d+\.\d+([-+.].*)?$")
_RESERVED_ENV = {
    "ETCD_ENDPOINTS": "discovery is the platform's choice and a fixed address breaks it (dynamo PR#12070)",
    "NATS_SERVER": "the operator sets it",
    "HF_TOKEN": "a token there is readable in the graph; use huggingFace.token",
}


def component_name(engine: Engine, role: Role) -> str:
    """Name of a worker in the graph, for example `TrtllmPrefillWorker`."""
    return f"{engine.value.capitalize()}{'' if role is Role.WORKER else role.value.capitalize()}Worker"


def check(plan: GraphPlan) -> None:
    """Raise Refusal with every problem of the graph, one a line, or return."""
    # On the wrong hardware every other answer would mislead.
    problems = list(_hardware(plan)) or [problem for rule in _RULES for problem in rule(plan)]
    if problems:
        raise Refusal("\n".join(problems))


def _hardware(plan: GraphPlan) -> Iterator[str]:
    target, instance = plan.target, plan.pool.instance
    fitting = [i.name for i in INSTANCE_TYPES.values() if i.gpu in target.gpus and i.arch in target.archs]
    choices = f"choose one of {', '.join(fitting)}"
    if instance.arch not in target.archs:
        archs = " or ".join(target.archs)
        yield (
            f"pool.instanceType: {instance.name} is {instance.arch}, but target {target.name} "
            f"runs only on {archs}; {choices}"
        )
    elif instance.gpu not in target.gpus:
        gpus = " or ".join(target.gpus)
        yield (
            f"pool.instanceType: {instance.name} has {instance.gpu or 'no'} GPUs, but target {target.name} "
            f"is for {gpus}; {choices}"
        )
    if instance.arch.value not in plan.image_knobs.archs:
        yield (
            f"graph.image.archs: [{', '.join(plan.image_knobs.archs)}] does not hold {instance.arch}, "
            f"the architecture of {instance.name}"
        )


def _capacity(plan: GraphPlan) -> Iterator[str]:
    node = plan.pool.instance.gpus
    for planned in plan.workers:
        worker = planned.worker
        if worker.gpus > node * planned.nodes:
            yield (
                f"graph.{worker.role}.tensorParallel: one {worker.role} worker needs {worker.gpus} GPUs "
                f"(TP {worker.tensor_parallel} × PP {worker.pipeline_parallel or 1}), but {planned.nodes} "
                f"node(s) of {plan.pool.instance.name} have {node * planned.nodes}"
            )
        elif worker.gpus % planned.nodes:
            yield (
                f"graph.{worker.role}.nodes: {worker.gpus} GPUs of one {worker.role} worker "
                f"do not divide over {planned.nodes} nodes"
            )
    if plan.gpus > plan.pool.gpus:
        parts = " + ".join(f"{w.role} {w.worker.replicas}×{w.worker.gpus}" for w in plan.workers)
        yield (
            f"graph: {plan.name} needs {plan.gpus} GPUs ({parts}), but the pool has {plan.pool.gpus} "
            f"({plan.pool}); lower tensorParallel or replicas, or raise pool.nodes"
        )
    elif not _packs(plan):
        yield (
            f"pool.nodes: {plan.pool} has GPUs enough for {plan.name} but no way to place its workers "
            "whole on nodes; raise pool.nodes"
        )
    if plan.transport == "node" and plan.target.disaggregated and plan.gpus > node:
        yield (
            f"graph.transport: 'node' keeps all workers on one node, but {plan.name} needs {plan.gpus} GPUs "
            f"and {plan.pool.instance.name} has {node}; choose efa"
        )


def _packs(plan: GraphPlan) -> bool:
    """First-fit decreasing: exact for the powers of two that workers come in."""
    free = [plan.pool.instance.gpus] * plan.pool.nodes
    pieces = [
        planned.worker.gpus // planned.nodes
        for planned in plan.workers
        for _ in range(planned.worker.replicas * planned.nodes)
    ]
    for piece in sorted(pieces, reverse=True):
        for index, left in enumerate(free):
            if left >= piece:
                free[index] -= piece
                break
        else:
            return False
    return True


def _parallelism(plan: GraphPlan) -> Iterator[str]:
    for planned in plan.workers:
        worker = planned.worker
        key = f"graph.{worker.role}.expertParallel"
        if worker.expert_parallel is None:
            continue
        if plan.target.engine is not Engine.TRTLLM:
            yield f"{key}: {worker.expert_parallel} is for TensorRT-LLM; {plan.target.engine} takes none"
        elif worker.tensor_parallel % worker.expert_parallel:
            yield (
                f"{key}: {worker.expert_parallel} does not divide tensorParallel {worker.tensor_parallel}; "
                "experts are spread over the tensor-parallel GPUs"
            )


def _limits(plan: GraphPlan) -> Iterator[str]:
    published = {worker.role: worker for worker in plan.target.workers}
    shape = plan.target.benchmark
    for planned in plan.workers:
        worker, source = planned.worker, published[planned.role]
        ceiling = max(worker.cuda_graph_batch or 0, source.max_batch_size or 0)
        if worker.max_batch_size and ceiling and worker.max_batch_size > ceiling:
            yield (
                f"graph.{worker.role}.maxBatchSize: {worker.max_batch_size} is above {ceiling}, "
                f"the largest batch that target {plan.target.name} captures CUDA graphs for"
            )
        needed = shape.isl + (1 if worker.role is Role.PREFILL else shape.osl)
        if worker.max_seq_len != source.max_seq_len and (worker.max_seq_len or 0) < needed:
            yield (
                f"graph.{worker.role}.maxSeqLen: {worker.max_seq_len} is below {needed}, what target "
                f"{plan.target.name} is for ({shape.isl} tokens in, {shape.osl} out)"
            )


def _transport(plan: GraphPlan) -> Iterator[str]:
    if not plan.target.disaggregated or plan.transport != "efa":
        return
    instance = plan.pool.instance
    if not instance.efa_devices:
        yield f"graph.transport: 'efa', but {instance.name} has no EFA"
    if plan.target.engine is Engine.SGLANG and plan.version <= Version(1, 3, 1):
        yield (
            f"graph.transport: 'efa' with SGLang {plan.version} answers 200 with nothing in it after about 300 s "
            "(dynamo#12106); keep the graph on one node (transport node) or use dynamoVersion "
            f"{LATEST_PATCH['1.4']} or newer"
        )
    if instance.gpu is Gpu.GB200 and plan.version < Version(1, 3):
        yield (
            f"graph.transport: 'efa' on GB200 with Dynamo {plan.version} cannot register GPU memory "
            f"(libfabric#12019, nixl#1609); use dynamoVersion {LATEST_PATCH['1.3']} or newer"
        )


def _routing(plan: GraphPlan) -> Iterator[str]:
    reuse_off = any(
        w.worker.engine_file.get("kv_cache_config", {}).get("enable_block_reuse") is False
        for w in plan.workers
    )
    if plan.router_mode == "kv" and reuse_off:
        yield (
            f"graph.frontend.routerMode: 'kv' finds nothing on target {plan.target.name}, whose engine files "
            "switch KV block reuse off; choose round-robin or random"
        )


def _speculation(plan: GraphPlan) -> Iterator[str]:
    if plan.target.speculative == "eagle3" and plan.target.disaggregated and plan.version == Version(1, 3, 0):
        yield (
            f"graph.dynamoVersion: {plan.version} crashes with EAGLE3 and disaggregation (known issue of 1.3.0); "
            f"use {LATEST_PATCH['1.3']} or newer"
        )


def _arguments(plan: GraphPlan) -> Iterator[str]:
    for argument in plan.knobs.frontend.extra_args:
        if argument.split("=")[0] == "--dyn-chat-processor":
            yield (
                "graph.frontend.extraArgs: '--dyn-chat-processor' answers GPT-OSS requests with HTTP 500 "
                "(dynamo#14936); leave it out, the default processor parses harmony"
            )


def _environment(plan: GraphPlan) -> Iterator[str]:
    sections: list[tuple[str, dict[str, str]]] = [("frontend", dict(plan.knobs.frontend.env))]
    sections += [(planned.role.value, planned.env) for planned in plan.workers]
    for section, env in sections:
        for name in sorted(env.keys() & _RESERVED_ENV.keys()):
            yield f"graph.{section}.env: {name!r} is not allowed: {_RESERVED_ENV[name]}"


def _image(plan: GraphPlan) -> Iterator[str]:
    knobs = plan.image_knobs
    if knobs.tag and knobs.digest:
        yield f"graph.image: tag {knobs.tag!r} and digest {knobs.digest!r} exclude each other; keep one"
    said = None if knobs.digest else (knobs.tag or str(plan.version))
    if knobs.runtime_version is None and (said is None or not _SEMANTIC_TAG.match(said)):
        yield (
            f"graph.image: {plan.image!r} does not say its Dynamo version, which the operator demands; "
            "set graph.image.runtimeVersion to MAJOR.MINOR.PATCH"
        )


def _names(plan: GraphPlan) -> Iterator[str]:
    longest = max(len(component_name(plan.target.engine, planned.role)) for planned in plan.workers)
    if len(plan.name) + longest > GROVE_NAME_LIMIT:
        yield (
            f"graph.name: {plan.name!r} has {len(plan.name)} characters; at most {GROVE_NAME_LIMIT - longest} "
            f"leave room for the component's name in Grove's pod names"
        )


def check_platform(plan: GraphPlan, platform: Version) -> None:
    """Raise Refusal if an operator of that version cannot run graphs of the plan's release.

    An operator runs runtimes of its own and of earlier release lines; a newer runtime than the platform is unknown
    to its webhook and defaults.
    """
    if (plan.version.major, plan.version.minor) > (platform.major, platform.minor):
        raise Refusal(
            f"platform.version: {platform} is older than graph.dynamoVersion {plan.version}; "
            f"use a platform of {plan.version.line} or newer, or lower graph.dynamoVersion"
        )


def target_named(name: str) -> str:
    """The name if it is a target's. Raises ValueError naming the choices."""
    if name not in TARGETS:
        raise ValueError(f"no such target; choose one of {', '.join(TARGETS)}")
    return name


_RULES: tuple[Callable[[GraphPlan], Iterator[str]], ...] = (
    _capacity, _parallelism, _limits, _transport, _routing, _speculation, _arguments,
    _environment, _image, _names,
)  # fmt: skip
