"""What cannot work of a graph's workers: their knobs, sizes and limits. Pure."""

from collections.abc import Callable, Iterator

from facts.engines import LOADERS_SINCE, Role
from targets.engine_knobs import KNOBS, EngineKnobs
from targets.plan import GraphPlan
from targets.target import PublishedWorker


def worker_problems(plan: GraphPlan) -> Iterator[str]:
    """What a role, or its workers' size and limits, cannot be."""
    for rule in _RULES:
        yield from rule(plan)


def _roles(plan: GraphPlan) -> Iterator[str]:
    own = {worker.role for worker in plan.target.workers}
    for role in plan.unused.roles:
        yield (
            f"{plan.key}.{role}: target {plan.target.name} has no such role; its roles are "
            f"{', '.join(sorted(map(str, own)))}"
        )


def _knobs(plan: GraphPlan) -> Iterator[str]:
    engine = plan.target.engine
    for planned in plan.workers:
        for name, value in planned.worker.knobs.values():
            if not KNOBS[name].known_to(engine):
                key = EngineKnobs.model_fields[name].alias
                yield f"{plan.key}.{planned.role}.{key}: {value} has no meaning for {engine}; leave it out"


def _loaders(plan: GraphPlan) -> Iterator[str]:
    engine = plan.target.engine
    known = LOADERS_SINCE.get(engine, {})
    choices = [loader for loader, since in known.items() if plan.version >= since]
    choose = f"choose {' or '.join(choices)}" if choices else "leave it out"
    for planned in plan.workers:
        loader, key = planned.worker.knobs.loader, f"{plan.key}.{planned.role}.loader"
        if loader is None or not known:
            continue
        if loader not in known:
            yield f"{key}: {loader} is not in the images of {engine}; {choose}"
        elif loader not in choices:
            yield (
                f"{key}: {loader} needs Dynamo {known[loader].line} or newer with {engine}, but "
                f"{plan.key}.dynamoVersion is {plan.version}; raise it, or {choose}"
            )


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
                f"(TP {worker.knobs.tensor_parallel} × PP {worker.knobs.pipeline_parallel or 1}), but {planned.nodes} "
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


def _autoscaling_problems(plan: GraphPlan) -> Iterator[str]:
    for planned in plan.autoscaled:
        least, most = planned.worker.replicas, planned.at_most.worker.replicas
        if most < least:
            yield (
                f"{plan.key}.{planned.role}.maxReplicas: {most} is below {least}, the workers that are always there; "
                "raise it, or lower replicas"
            )


def _parallelism(plan: GraphPlan) -> Iterator[str]:
    for planned in plan.workers:
        tensor, expert = planned.worker.knobs.tensor_parallel, planned.worker.knobs.expert_parallel
        if tensor and expert and tensor % expert:
            yield (
                f"{plan.key}.{planned.role}.expertParallel: {expert} does not divide tensorParallel {tensor}; experts "
                "are spread over the tensor-parallel GPUs"
            )


def _limits(plan: GraphPlan) -> Iterator[str]:
    published = {worker.role: worker for worker in plan.target.workers}
    for planned in plan.workers:
        worker, source = planned.worker, published[planned.role].knobs
        batch, length = worker.knobs.max_batch_size, worker.knobs.max_seq_len
        ceiling = max(worker.cuda_graph_batch or 0, source.max_batch_size or 0)
        if worker.cuda_graph_batch and batch and batch > ceiling:
            yield (
                f"{plan.key}.{worker.role}.maxBatchSize: {batch} is above {ceiling}, "
                f"the largest batch that target {plan.target.name} captures CUDA graphs for"
            )
        if length is not None and length != source.max_seq_len:
            yield from _sequence_length(plan, worker, length)


def _sequence_length(plan: GraphPlan, worker: PublishedWorker, length: int) -> Iterator[str]:
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


_RULES: tuple[Callable[[GraphPlan], Iterator[str]], ...] = (
    _roles, _knobs, _loaders, _capacity, _autoscaling_problems, _parallelism, _limits,
)  # fmt: skip
