"""What cannot work of the graphs, told before any resource exists. Pure.

Every problem is one sentence: the key, the value, what is allowed, and where it helps the reason. Sources: Dynamo's
operator admission rules, its known-issues pages and the upstream issues named beside each check.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from targets.catalogue import Engine, Role, Worker
from targets.hardware import INSTANCE_TYPES, InstanceType
from targets.knobs import GUIDE_COMMIT, RoleKnobs
from targets.plan import GraphPlan, Pool, WorkerPlan
from targets.registration import ONE_NAMESPACE_BEFORE, strategy
from targets.releases import (
    ENDPOINT_PICKER_SINCE,
    LATEST_PATCH,
    MXFP8_ARGUMENTS_SINCE,
    MXFP8_VARIABLE,
    Version,
)
from targets.transport_checks import transport_problems

GROVE_NAME_LIMIT = 45
"""Characters of graph name plus component name that Grove's pod names leave room for."""
_DISK_SHARE = 0.9
"""Of a node's disk, for pods: the kubelet evicts them when less than a tenth is free."""
_NUMBER = r"(0|[1-9]\d*)"
_WORD = rf"({_NUMBER}|\d*[A-Za-z-][0-9A-Za-z-]*)"
_SEMANTIC_TAG = re.compile(rf"[vV]?{_NUMBER}(\.{_NUMBER}){{2}}(-{_WORD}(\.{_WORD})*)?")
"""As operators from 1.4 read an image's tag: a semantic version, so no number has leading zeros."""
_RELEASE_TAG = re.compile(rf"[vV]?({_NUMBER}(?:\.{_NUMBER}){{2}})(?![.\d])")
"""A tag that begins with a release, whatever follows."""
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
_LOADS_GPT_OSS_SINCE = Version(1, 0)
"""First supported release whose published image has TensorRT-LLM 1.1 or newer, which GPT-OSS needs (dynamo#3872)."""
_UNKNOWN_KNOBS = {
    Engine.VLLM: ("expert_parallel",),
    Engine.SGLANG: ("expert_parallel",),
    Engine.TRTLLM: (),
    Engine.MOCKER: (
        "tensor_parallel", "pipeline_parallel", "expert_parallel", "max_seq_len", "free_gpu_memory_fraction",
        "chunked_prefill",
    ),
}  # fmt: skip
"""Knobs that an engine has nothing for."""


def component_name(engine: Engine, planned: WorkerPlan) -> str:
    """Name of a worker in the graph: `TrtllmPrefillWorker`, or `prefill` where each worker spans nodes.

    Grove names the pods of such a worker after it twice, which leaves no room for the published name.
    """
    role = planned.role
    if planned.nodes > 1:
        return role.value
    return f"{engine.value.capitalize()}{'' if role is Role.WORKER else role.value.capitalize()}Worker"


def graph_problems(plan: GraphPlan) -> list[str]:
    """What cannot work of one graph by itself."""
    # On the wrong hardware every other answer would mislead.
    return list(_hardware(plan)) or [problem for rule in _RULES for problem in rule(plan)]


def release_problems(plan: GraphPlan) -> Iterator[str]:
    """Whether the platform's operator cannot run graphs of the plan's release.

    An operator runs runtimes of its own and of earlier release lines; a newer runtime than the platform is unknown
    to its webhook and defaults.
    """
    platform = plan.platform
    if (plan.version.major, plan.version.minor) > (platform.major, platform.minor):
        yield (
            f"platform.version: {platform} is older than {plan.key}.dynamoVersion {plan.version}; "
            f"use a platform of {plan.version.line} or newer, or lower {plan.key}.dynamoVersion"
        )


def sharing_problems(plans: Sequence[GraphPlan]) -> Iterator[str]:
    """Why graphs that are each possible do not fit beside each other."""
    names = Counter(plan.name for plan in plans)
    for plan in plans[1:]:
        if names[plan.name] > 1:
            yield (
                f"{plan.key}.name: {plan.name!r} is the name of more than one graph of the stack; choose another"
            )
    yield from _seeing_each_other(plans)
    for pool in dict.fromkeys(plan.pool for plan in plans):
        yield from _sharing([plan for plan in plans if plan.pool == pool], pool)


def _seeing_each_other(plans: Sequence[GraphPlan]) -> Iterator[str]:
    shared = [plan for plan in plans if plan.version < ONE_NAMESPACE_BEFORE]
    for plan in shared[1:]:
        yield (
            f"{plan.key}.dynamoVersion: {plan.version}, as {shared[0].name} has: workers of 0.4 register in one "
            "namespace, and the frontend of either graph would send requests to the other's; give one of them a stack "
            "with a platform of its own"
        )


def _sharing(plans: Sequence[GraphPlan], pool: Pool) -> Iterator[str]:
    most = [plan.at_most for plan in plans]
    if len(plans) > 1 and not packs(most):
        gpus, parts = sum(plan.gpus for plan in most), " + ".join(f"{plan.name} {plan.gpus}" for plan in most)
        alone = [plan.name for plan in most if plan.fills_a_node]
        on_nodes = f"{' and '.join(alone)} alone on a node" if alone else "whole workers on nodes"
        yield (
            f"{pool.key}: its graphs together need {gpus} GPUs ({parts}), {on_nodes}, but it has {pool.gpus} ({pool}); "
            f"raise {pool.key}.nodes"
        )


def local_copy_problems(plans: Sequence[GraphPlan], *, own_nodes: bool) -> Iterator[str]:
    """Where nothing can be copied to the nodes' disks, or more than they have room for.

    own_nodes: whether the stack makes the nodes, so that their pods are on local NVMe; of others nothing is known.
    """
    if not any(plan.local_copy for plan in plans):
        return
    copying = [plan for plan in plans if plan.copied_weights]
    if not copying and not plans[0].from_bucket:
        yield "cache.localCopy: true, but no graph of the stack loads weights; leave it out"
    elif own_nodes:
        for pool in dict.fromkeys(plan.pool for plan in copying):
            yield from _copies([plan for plan in copying if plan.pool == pool], pool.instance)


def _copies(plans: Sequence[GraphPlan], instance: InstanceType) -> Iterator[str]:
    workers, gib = _on_one_node(plans), max(plan.copy_gib for plan in plans)
    needed, room = workers * gib * 2**30 / 1e9, math.prod(instance.nvme_gb) * _DISK_SHARE
    if needed > room:
        yield (
            f"{_copied_by(plans[0])} needs {needed:.0f} GB on a node ({workers} × {gib} GiB), but the local NVMe of "
            f"{instance.name} has room for {room:.0f} GB; "
            + ("choose another kind" if plans[0].from_bucket else "leave it out")
        )


def _copied_by(plan: GraphPlan) -> str:
    """The key that has worker pods copy the weights."""
    return "cache.kind: 's3'" if plan.from_bucket else "cache.localCopy: true"


def _on_one_node(plans: Sequence[GraphPlan]) -> int:
    """The most worker pods that one node can have: of the smallest, as many as its GPUs are for."""
    pods = [
        planned.worker.gpus // planned.nodes
        for plan in plans
        for planned in plan.workers
        for _ in range(planned.worker.replicas * planned.nodes)
    ]
    return min(len(pods), plans[0].pool.instance.gpus // min(pods))


def _hardware(plan: GraphPlan) -> Iterator[str]:
    target, instance = plan.target, plan.pool.instance
    wanted = target.gpus or (None,)
    largest = max(worker.gpus for worker in target.workers)
    fitting = [
        instance.name
        for instance in INSTANCE_TYPES.values()
        if instance.gpu in wanted and instance.arch in target.archs and instance.gpus >= largest
    ]
    choices = f"choose one of {', '.join(fitting)}"
    if plan.key != "graph":
        choices += f", or another pool for {plan.key}.pool"
    if instance.arch not in target.archs:
        yield (
            f"{plan.pool.key}.instanceType: {instance.name} is {instance.arch}, but target {target.name} "
            f"runs only on {' or '.join(target.archs)}; {choices}"
        )
    elif instance.gpu not in wanted:
        yield (
            f"{plan.pool.key}.instanceType: {instance.name} has {instance.gpu or 'no'} GPUs, but target {target.name} "
            f"is for {' or '.join(target.gpus) or 'CPU nodes'}; {choices}"
        )
    if instance.arch.value not in plan.image_knobs.archs:
        yield (
            f"{plan.key}.image.archs: [{', '.join(plan.image_knobs.archs)}] does not hold {instance.arch}, "
            f"the architecture of {instance.name}"
        )


def _roles(plan: GraphPlan) -> Iterator[str]:
    own = {worker.role for worker in plan.target.workers}
    for role in Role:
        if role not in own and getattr(plan.knobs, role.value) != RoleKnobs():
            yield (
                f"{plan.key}.{role}: target {plan.target.name} has no such role; its roles are "
                f"{', '.join(sorted(map(str, own)))}"
            )


def _release(plan: GraphPlan) -> Iterator[str]:
    target = plan.target
    if plan.version < target.since:
        yield (
            f"{plan.key}.dynamoVersion: {plan.version} cannot run target {target.name}; "
            f"use {LATEST_PATCH[target.since.line]} or newer"
        )
    if target.until is not None and plan.version >= target.until:
        yield (
            f"{plan.key}.dynamoVersion: {plan.version} cannot run target {target.name}, whose image and commands are "
            f"of {target.dynamo_version}; leave it out, or choose target trtllm-disagg-b200"
        )
    if target.engine is Engine.TRTLLM and plan.version < _LOADS_GPT_OSS_SINCE and not _own_image(plan):
        yield (
            f"{plan.key}.dynamoVersion: the published image of {plan.version} holds TensorRT-LLM 1.0.0rc6, which "
            "cannot load GPT-OSS; choose target trtllm-disagg-b200-0.4, whose image can, set "
            f"{plan.key}.image.repository or {plan.key}.image.build to one that can, or use {LATEST_PATCH['1.0']} or "
            "newer"
        )
    if plan.knobs.disaggregation_strategy and strategy(plan) is None:
        yield (
            f"{plan.key}.disaggregationStrategy: {plan.knobs.disaggregation_strategy!r} is for prefill and decode "
            f"workers of TensorRT-LLM on Dynamo 0.4, but {plan.name} is target {target.name} on {plan.version}; "
            "leave it out"
        )
    if target.speculative_tokens and target.disaggregated and plan.version == Version(1, 3, 0):
        yield (
            f"{plan.key}.dynamoVersion: {plan.version} crashes with EAGLE3 and disaggregation (known issue of 1.3.0); "
            f"use {LATEST_PATCH['1.3']} or newer"
        )
    if plan.knobs.draft_revision and not target.speculative_tokens:
        yield f"{plan.key}.draftRevision: target {target.name} uses no draft model; leave it out"


def _knobs(plan: GraphPlan) -> Iterator[str]:
    engine = plan.target.engine
    for planned in plan.workers:
        knobs = getattr(plan.knobs, planned.role.value)
        for name in _UNKNOWN_KNOBS[engine]:
            value = getattr(knobs, name)
            if value is not None:
                key = type(knobs).model_fields[name].alias
                yield f"{plan.key}.{planned.role}.{key}: {value} has no meaning for {engine}; leave it out"


def _capacity(plan: GraphPlan) -> Iterator[str]:
    too_large = list(_worker_capacity(plan))
    yield from too_large
    most = plan.at_most
    # A worker that no node holds makes the graph too large for the pool too, which would be the same mistake again.
    if most.gpus > plan.pool.gpus and not too_large:
        parts = " + ".join(f"{w.role} {w.worker.replicas}×{w.worker.gpus}" for w in most.workers)
        yield (
            f"{plan.key}: {plan.name} needs {most.gpus} GPUs ({parts}), but the pool has {plan.pool.gpus} "
            f"({plan.pool}); lower tensorParallel or {'maxReplicas' if plan.autoscaled else 'replicas'}, or raise "
            f"{plan.pool.key}.nodes"
        )


def _worker_capacity(plan: GraphPlan) -> Iterator[str]:
    node = plan.pool.instance.gpus
    for planned in plan.workers:
        worker = planned.worker
        if worker.gpus > node * planned.nodes:
            yield (
                f"{plan.key}.{worker.role}.tensorParallel: {_one(worker.role)} needs {worker.gpus} GPUs "
                f"(TP {worker.tensor_parallel} × PP {worker.pipeline_parallel or 1}), but {planned.nodes} "
                f"node(s) of {plan.pool.instance.name} have {node * planned.nodes}; lower tensorParallel or "
                f"pipelineParallel, or raise {plan.key}.{worker.role}.nodes"
            )
        elif worker.gpus % planned.nodes or 0 < worker.gpus < planned.nodes:
            yield (
                f"{plan.key}.{worker.role}.nodes: {worker.gpus} GPU(s) of {_one(worker.role)} "
                f"do not divide over {planned.nodes} nodes"
            )
        elif planned.nodes > 1 and not worker.gpus:
            yield f"{plan.key}.{worker.role}.nodes: {planned.nodes}, but a worker without GPUs runs on 1 node"


def _one(role: Role) -> str:
    return "one worker" if role is Role.WORKER else f"one {role} worker"


def packs(plans: Iterable[GraphPlan]) -> bool:
    """First-fit decreasing: exact for the powers of two that workers come in. A graph of one node is one piece.

    One that fills a node is alone there. GPUs alone are counted: no worker asks for more of its node's CPUs and memory
    than its share of the GPUs (see graphs/requests.py), so whatever finds GPUs finds those too.
    """
    pieces: list[int] = []
    for plan in plans:
        pool = plan.pool
        if plan.on_one_node or plan.in_one_pod:
            pieces.append(pool.instance.gpus if plan.fills_a_node else plan.gpus)
            continue
        for planned in plan.workers:
            pieces += [planned.worker.gpus // planned.nodes] * planned.worker.replicas * planned.nodes
    free = [pool.instance.gpus] * pool.nodes
    for piece in sorted(pieces, reverse=True):
        for index, left in enumerate(free):
            if left >= piece:
                free[index] -= piece
                break
        else:
            return False
    return True


def _autoscaled(plan: GraphPlan) -> Iterator[str]:
    for planned in plan.autoscaled:
        least, most = planned.worker.replicas, planned.at_most.worker.replicas
        if most < least:
            yield (
                f"{plan.key}.{planned.role}.maxReplicas: {most} is below {least}, the workers that are always there; "
                "raise it, or lower replicas"
            )


def _parallelism(plan: GraphPlan) -> Iterator[str]:
    for planned in plan.workers:
        worker = planned.worker
        if worker.expert_parallel is not None and worker.tensor_parallel % worker.expert_parallel:
            yield (
                f"{plan.key}.{worker.role}.expertParallel: {worker.expert_parallel} does not divide tensorParallel "
                f"{worker.tensor_parallel}; experts are spread over the tensor-parallel GPUs"
            )


def _limits(plan: GraphPlan) -> Iterator[str]:
    published = {worker.role: worker for worker in plan.target.workers}
    for planned in plan.workers:
        worker, source = planned.worker, published[planned.role]
        ceiling = max(worker.cuda_graph_batch or 0, source.max_batch_size or 0)
        if worker.cuda_graph_batch and worker.max_batch_size and worker.max_batch_size > ceiling:
            yield (
                f"{plan.key}.{worker.role}.maxBatchSize: {worker.max_batch_size} is above {ceiling}, "
                f"the largest batch that target {plan.target.name} captures CUDA graphs for"
            )
        if worker.max_seq_len is not None and worker.max_seq_len != source.max_seq_len:
            yield from _sequence_length(plan, worker, worker.max_seq_len)


def _sequence_length(plan: GraphPlan, worker: Worker, length: int) -> Iterator[str]:
    shape, key = plan.target.benchmark, f"{plan.key}.{worker.role}.maxSeqLen"
    needed = shape.isl + (1 if worker.role is Role.PREFILL else shape.osl)
    if length < needed:
        yield (
            f"{key}: {length} is below {needed}, what target "
            f"{plan.target.name} is for ({shape.isl} tokens in, {shape.osl} out)"
        )
    buffer = worker.engine_file.get("cache_transceiver_config", {}).get("max_tokens_in_buffer")
    if worker.role is Role.PREFILL and buffer is not None and length > buffer:
        yield (
            f"{key}: {length} is above {buffer}, the tokens that target {plan.target.name}'s KV transfer buffer "
            "holds; a longer prompt would block the transfer for ever (dynamo#4327)"
        )


def _routing(plan: GraphPlan) -> Iterator[str]:
    if plan.router_mode == "kv" and not plan.reuses_kv_blocks:
        yield (
            f"{plan.key}.frontend.routerMode: 'kv' finds nothing on target {plan.target.name}, whose engine files "
            "switch KV block reuse off; choose round-robin or random"
        )


def _inference_extension(plan: GraphPlan) -> Iterator[str]:
    if plan.inference_extension and plan.version < ENDPOINT_PICKER_SINCE:
        yield (
            f"ingress.inferenceExtension: true needs the endpoint picker of Dynamo {ENDPOINT_PICKER_SINCE} or newer, "
            f"but {plan.name} is Dynamo {plan.version}; use {plan.key}.dynamoVersion {LATEST_PATCH['1.6']} or newer"
        )


def _arguments(plan: GraphPlan) -> Iterator[str]:
    for argument in plan.knobs.frontend.extra_args:
        flag = argument.split("=")[0].replace("_", "-")
        if flag in _REFUSED_ARGUMENTS:
            yield f"{plan.key}.frontend.extraArgs: {flag!r} {_REFUSED_ARGUMENTS[flag]}"


def _environment(plan: GraphPlan) -> Iterator[str]:
    sections: list[tuple[str, dict[str, str]]] = [("frontend", dict(plan.knobs.frontend.env))]
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


def _image(plan: GraphPlan) -> Iterator[str]:
    knobs = plan.image_knobs
    if knobs.tag and knobs.digest:
        yield f"{plan.key}.image: tag {knobs.tag!r} and digest {knobs.digest!r} exclude each other; keep one"
    if knobs.runtime_version not in (None, str(plan.version)):
        yield (
            f"{plan.key}.image.runtimeVersion: {knobs.runtime_version!r}, but {plan.key}.dynamoVersion is "
            f"{plan.version}, which commands and checks are made for; let both say the release inside the image"
        )
    if knobs.build is not None:
        yield from _built_image(plan)
        return
    inside = _RELEASE_TAG.match(knobs.tag or "")
    if inside and knobs.runtime_version is None and inside[1] != str(plan.version):
        yield (
            f"{plan.key}.image.tag: {knobs.tag!r} says Dynamo {inside[1]}, but {plan.key}.dynamoVersion is "
            f"{plan.version}; let both say one release, or set {plan.key}.image.runtimeVersion to {plan.version} if "
            "that is inside the image"
        )
        return
    if not plan.says_runtime_version:
        return
    said = None if knobs.digest else (knobs.tag or str(plan.version))
    if knobs.runtime_version is None and (said is None or not _SEMANTIC_TAG.fullmatch(said)):
        yield (
            f"{plan.key}.image: {plan.image!r} does not say its Dynamo version, which the operator demands; "
            f"set {plan.key}.image.runtimeVersion to MAJOR.MINOR.PATCH"
        )


def _own_image(plan: GraphPlan) -> bool:
    knobs = plan.image_knobs
    return bool(plan.target.image or knobs.repository or knobs.digest or knobs.build)


def _built_image(plan: GraphPlan) -> Iterator[str]:
    knobs, key = plan.image_knobs, f"{plan.key}.image"
    for name in ("repository", "tag", "digest"):
        if value := getattr(knobs, name):
            yield f"{key}.{name}: {value!r} and {key}.build exclude each other; keep one"
    if (
        knobs.build is not None
        and knobs.build.git_ref == GUIDE_COMMIT
        and plan.version >= _LOADS_GPT_OSS_SINCE
    ):
        yield (
            f"{key}.build.gitRef: the default is the commit of Dynamo 0.4.1, but {plan.name} is {plan.version}; name a "
            f"commit of that release, and its dockerfile and buildArgs"
        )


def _names(plan: GraphPlan) -> Iterator[str]:
    longest = max(_grove_length(component_name(plan.target.engine, w), w.nodes) for w in plan.workers)
    if len(plan.name) + longest > GROVE_NAME_LIMIT:
        yield (
            f"{plan.key}.name: {plan.name!r} has {len(plan.name)} characters; at most {GROVE_NAME_LIMIT - longest} "
            f"leave room for the component's name in Grove's pod names"
        )


def _grove_length(component: str, nodes: int) -> int:
    """Characters that Grove adds to a graph's name for a pod of the component: its name, twice over several nodes."""
    return len(component) if nodes == 1 else 2 * len(component) + len("-ldr")


_RULES: tuple[Callable[[GraphPlan], Iterator[str]], ...] = (
    _roles, _release, _knobs, _capacity, _autoscaled, _parallelism, _limits, transport_problems, _routing,
    _inference_extension, _arguments, _environment, _image, _names,
)  # fmt: skip
