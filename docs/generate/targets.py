"""`python -m docs.generate.targets`: docs/targets.md, written from the catalogue, the knobs and the differences."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from docs.generate import knobs as knob_table
from docs.generate import transport as transport_table
from docs.generate.differences import DIFFERENCES, EVERY
from facts.releases import (
    DEFAULT,
    LATEST_PATCH,
    RELEASE_COSTS,
    WHY_THE_DEFAULT,
    Version,
    graph_api_version,
)
from facts.weights import DRAFT_MODEL_ID, MODEL_ID, MODEL_REVISION
from targets.catalogue import TARGETS
from targets.engine_knobs import KNOBS
from targets.target import Target

_INTRODUCTION = f"""\
# Targets

Written by `python -m docs.generate.targets > docs/targets.md`; a test holds this file against the catalogue.

A target is one published way to serve {MODEL_ID} (revision `{MODEL_REVISION}`). A stack's file names it.
Whatever the file leaves out has the value that the source publishes. These tables hold the settings that a source
gives. The engine decides all others. [Choose a target](choose.md) compares the targets by hardware, traffic and price.
"""
_RELEASES = f"""\
## Dynamo releases

A graph's command lines, images and API version follow `graph.dynamoVersion`. Supported: \
{", ".join(LATEST_PATCH.values())} and the other patches of these lines. Graphs are written in \
`{graph_api_version(Version(1, 2))}` up to 1.2 and in `{graph_api_version(Version(1, 3))}` from 1.3. The
default is {DEFAULT}. {WHY_THE_DEFAULT} What each release costs:
"""
_NOT_LOOKED_INTO = "its operator, release notes and known issues were not looked into yet"
_AGENTIC_NOTES = f"""\
## Limits of the agentic targets

- Their source measured aggregated serving faster than disaggregated on its trace
  ([figures](choose.md#latency-and-throughput)). Measure before you choose.
- The draft model {DRAFT_MODEL_ID} is downloaded too. No source pins a commit of it; `graph.draftRevision` does.
  It is not known here whether its repository is gated. Open its page once with the account of `huggingFace.token`.
  If it is gated and no token was given, the download Job fails and names it.
- JSON mode and JSON schemas are unreliable with speculative decoding: use tool calls, or check what comes back.
- Their source's benchmark replays a trace of another recipe. The shape here has the trace's median lengths.
"""
_ENGINE_KNOBS = """\
## What engines call a role's knobs

A knob is a key below a role of [`graph`](configuration.md#graph). That page has its meaning and what it allows.

An argument of `extraArgs` that says what a knob says is refused. TensorRT-LLM reads a knob from its engine file in two
cases: the target keeps its settings there, or the table shows no argument.
"""
_DIFFERENCES = """\
## Differences from the sources

Graphs differ from their sources in these points, on purpose. A test holds everything else against the sources, value by
value.
"""
_BESIDE_GRAPHS = """\
## What is beside the graphs and differs

- The vLLM and SGLang guides name no benchmark. Their targets take the shape of the TensorRT-LLM guide.
- The recipe of `trtllm-disagg-8k` counts 256 requests for each of 6 GPUs, while its graph has 5. Its number is the
  default; `benchmark.perGpu: true` takes the published load per GPU times the GPUs that the graph has.
- The engine file's `cache_transceiver_config.backend` follows the transport (NIXL over EFA, UCX otherwise); the
  tables of the targets show the recipe's `UCX`, which the guides write `ucx`.
- The TensorRT-LLM guides ask for about 240 GB of disk for the weights. The claim here has 100Gi (`cache.size`): the
  download leaves out the two other formats (`original/*`, `metal/*`), as the guides' own command does.
- The TensorRT-LLM guides start etcd and NATS with `docker compose`. Here the platform brings them to releases that need
  them: [support matrix](support.md#dynamo-releases).
- The TensorRT-LLM guide mounts its checkout at `/workspace` and reads engine files there. Here they are a ConfigMap and
  nothing is mounted there. `--override-engine-args` can be said in `extraArgs`.
- `make verify` sends the guides' requests, with low effort and temperature 0 for tools.
- The recipes' benchmark Jobs are called `gpt-oss-120b-bench` and `gpt-oss-120b-disagg-bench`, and their download has an
  hour. The Jobs here are called `benchmark`, `benchmark-run` and `model-download`, and a download has three hours.
- Images that a stack builds are in its own registry, under the project's, the stack's and the graph's name.
"""


def document() -> str:
    """The whole file."""
    parts = [
        _INTRODUCTION,
        _overview(),
        *(_target(target) for target in TARGETS.values()),
        transport_table.document(_table),
        _AGENTIC_NOTES,
        _RELEASES + "\n" + _release_costs(),
        _ENGINE_KNOBS + "\n" + knob_table.flags(_table),
        _DIFFERENCES + "\n" + _differences(),
        _BESIDE_GRAPHS,
    ]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _table(head: tuple[str, ...], rows: Iterable[Iterable[object]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return (
        "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
        + "\n"
    )


def _release_costs() -> str:
    return _table(
        ("release", "what it lacks, or does worse"),
        (
            (release, "; ".join(RELEASE_COSTS.get(line, (_NOT_LOOKED_INTO,))))
            for line, release in LATEST_PATCH.items()
        ),
    )


def _overview() -> str:
    return _table(
        ("target", "what it is", "graph", "Dynamo", "GPUs", "CPU", "source"),
        (
            (
                f"`{target.name}`",
                target.title,
                f"`{target.graph}`",
                target.releases.default,
                f"{sum(w.replicas * w.gpus for w in target.workers)} × {' or '.join(target.gpu_models)}"
                if target.gpu_models
                else "none",
                ", ".join(target.archs),
                target.source,
            )
            for target in TARGETS.values()
        ),
    )


def _target(target: Target) -> str:
    rows = [
        *_worker_rows(target),
        *((f"environment `{name}`", f"`{value}`") for name, value in target.pods.env.items()),
        ("shared memory", target.pods.shared_memory),
        (
            "router",
            target.serving.router_mode
            + (f", blocks of {target.serving.kv_block_size}" if target.serving.kv_block_size else ""),
        ),
        ("frontend requests", _pairs(target.pods.frontend_requests)),
        (
            "engine's settings are",
            f"in the {target.serving.engine_settings}"
            if target.serving.engine_settings != "arguments"
            else "arguments",
        ),
        *([("quantization", target.serving.quantization)] if target.serving.quantization else []),
        *(
            [("EAGLE3 tokens", target.serving.speculative_tokens)]
            if target.serving.speculative_tokens
            else []
        ),
        *([("ComputeDomain", "one, over the nodes of a worker")] if target.pods.compute_domain else []),
        *([("image", f"`{target.pods.image}`")] if target.pods.image else []),
        ("benchmark", _benchmark(target)),
    ]
    return f"## {target.name}\n\n{target.title}. Source: {target.source}.\n\n" + _table(("", "value"), rows)


def _worker_rows(target: Target) -> Iterator[tuple[str, object]]:
    for worker in target.workers:
        yield f"{worker.role}: replicas", worker.replicas
        for name, value in worker.knobs.values():
            yield f"{worker.role}: {KNOBS[name].title}", str(value).lower()
        if worker.cuda_graph_batch is not None:
            yield f"{worker.role}: largest CUDA graph", worker.cuda_graph_batch
        yield from (
            (f"{worker.role}: file `{key}`", f"`{value}`") for key, value in _flat(worker.engine_file)
        )
        if worker.arguments:
            yield f"{worker.role}: arguments", f"`{' '.join(worker.arguments)}`"
        if worker.requests:
            yield f"{worker.role}: requests", _pairs(worker.requests)


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _flat(inner, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(inner).lower() if isinstance(inner, bool) else str(inner)


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _benchmark(target: Target) -> str:
    shape = target.benchmark
    return (
        f"{shape.isl} tokens in, {shape.osl} out, {shape.concurrency} requests at once, {shape.requests} in all, "
        f"{shape.warmup} to warm up, {shape.dataset_entries} prompts, seed {shape.seed}"
    )


def _differences() -> str:
    return _table(
        ("what", "targets", "here", "why"),
        (
            (
                ", ".join(f"`{item}`" for item in each.items),
                "all" if set(each.targets) == set(EVERY) else ", ".join(f"`{name}`" for name in each.targets),
                each.ours,
                each.reason,
            )
            for each in DIFFERENCES
        ),
    )


if __name__ == "__main__":
    print(document(), end="")
