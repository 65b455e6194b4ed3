"""Loads that a graph cannot take. Pure."""

from collections.abc import Iterator

from facts.engines import Role
from manifests.benchmark.job import shape_name
from targets.plan import GraphPlan
from targets.target import PublishedBenchmark, PublishedWorker


def shape_problems(plan: GraphPlan, shape: PublishedBenchmark) -> Iterator[str]:
    """Why the graph cannot take requests of that shape."""
    for planned in plan.workers:
        yield from _too_long(f"{plan.key}.{planned.role}", planned.worker, shape)


def _too_long(key: str, worker: PublishedWorker, shape: PublishedBenchmark) -> Iterator[str]:
    """key: of the worker's role."""
    whole = shape.isl if worker.role is Role.PREFILL else shape.isl + shape.osl
    if worker.knobs.max_seq_len and whole > worker.knobs.max_seq_len:
        yield (
            f"benchmark.shape: {shape_name(shape)} makes sequences of {whole} tokens for {worker.role} workers, "
            f"which take {worker.knobs.max_seq_len}; choose a shorter one, or raise {key}.maxSeqLen"
        )
    buffer = worker.engine_file.get("cache_transceiver_config", {}).get("max_tokens_in_buffer")
    if buffer and shape.isl > buffer:
        yield (
            f"benchmark.shape: {shape_name(shape)} has prompts of {shape.isl} tokens, but {worker.role} workers of the "
            f"target hand over at most {buffer} (max_tokens_in_buffer); a longer one blocks for ever (dynamo#4327)"
        )
