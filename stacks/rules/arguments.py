"""Refuses a user's arguments that a command line has, that a knob says, or that take other workers' GPUs. Pure.

What a command line has is read off what the renderer writes, and which knob says what off the knobs themselves. Sources
of the other spellings: the parsers of Dynamo 0.4.1 to 1.6.1, of vLLM 0.26 and of SGLang 0.5.9 to 0.5.21.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from facts.engines import Engine
from manifests.graph import frontend
from manifests.graph.workers import worker_command
from targets.engine_knobs import KNOBS
from targets.knobs import RoleKnobs
from targets.parts import WorkerPlan
from targets.plan import GraphPlan

_MODE = ("--disaggregation-mode", "--is-prefill-worker", "--is-decode-worker")
_SPELLINGS: Mapping[Engine, tuple[tuple[str, ...], ...]] = {
    Engine.VLLM: (
        _MODE,
        ("--quantization", "-q"),
        ("--speculative-config", "-sc"),
    ),
    Engine.SGLANG: (
        ("--disaggregation-mode",),
        ("--model-path", "--model"),
    ),
    Engine.TRTLLM: (
        ("--disaggregation-mode",),
        ("--model-path", "--model"),
        ("--publish-kv-events", "--publish-events-and-metrics"),
    ),
    Engine.MOCKER: (_MODE,),
}
"""Flags of one meaning. The role of a worker, which the first of each engine says, is never the user's to say."""
_OTHER_KNOBS = {"--router-mode": "frontend.routerMode", "--disaggregation-strategy": "disaggregationStrategy"}
_MORE_GPUS: Mapping[Engine, tuple[str, ...]] = {
    Engine.VLLM: (
        "--data-parallel-size", "-dp", "--data-parallel-size-local", "-dpl", "--prefill-context-parallel-size", "-pcp",
    ),
    Engine.SGLANG: ("--dp-size", "--data-parallel-size", "--base-gpu-id", "--gpu-id-step"),
}  # fmt: skip
"""Arguments by which a worker takes other GPUs than the first of those that it sees."""


def argument_problems(plan: GraphPlan) -> Iterator[str]:
    """Arguments of the user's that the rendered command line or a knob says too.

    Parsers take the last of two without a word, and what hangs on the first, as Service, probes and verification hang
    on a port, or as GPUs hang on parallelism, would not follow.
    """
    alone = replace(plan, frontend=replace(plan.frontend, extra_args=()))
    ours = dict.fromkeys(_options(frontend.command(alone).args))
    yield from _twice(plan, "frontend", ours, plan.frontend.extra_args)
    for planned in plan.workers:
        yield from _twice(plan, planned.role.value, _taken_options(plan, planned), planned.extra_args)
        yield from _of_neighbours(plan, planned)


def _taken_options(plan: GraphPlan, planned: WorkerPlan) -> dict[str, str | None]:
    """Options that are not the user's to write for a worker, in every spelling, and the role's knob to use instead."""
    spellings = _SPELLINGS[plan.target.engine]
    taken: dict[str, str | None] = dict.fromkeys(spellings[0])
    taken |= dict.fromkeys(_options(worker_command(plan, replace(planned, extra_args=())).args))
    taken |= _knobs(plan.target.engine)
    for group in spellings:
        for option in taken.keys() & {*group}:
            taken |= dict.fromkeys(group, taken[option])
    return taken


def _knobs(engine: Engine) -> dict[str, str]:
    """Options by which knobs of a role reach the engine, in every spelling, and the key of each."""
    return {
        _option(spelling): str(RoleKnobs.model_fields[name].alias)
        for name, knob in KNOBS.items()
        if (argument := knob.argument(engine)) is not None
        for spelling in argument.spellings
    }


def _twice(
    plan: GraphPlan, section: str, taken: Mapping[str, str | None], words: Sequence[str]
) -> Iterator[str]:
    for word in dict.fromkeys(word.split("=")[0] for word in words):
        option = _option(word)
        # Parsers take an option's beginning for the option.
        meant = next((each for each in sorted(taken) if option and each.startswith(option)), None)
        if meant is None and option not in _OTHER_KNOBS:
            continue
        knob = f"{section}.{taken[meant]}" if meant and taken[meant] else _OTHER_KNOBS.get(meant or option)
        remedy = f"use {plan.key}.{knob}" if knob else "leave it out"
        yield f"{plan.key}.{section}.extraArgs: {word!r} is set already; {remedy}"


def _of_neighbours(plan: GraphPlan, planned: WorkerPlan) -> Iterator[str]:
    """Workers of one pod see the GPUs of all, their own first; in pods of their own they find no more than theirs."""
    splits_its_own = "--enable-dp-attention" in planned.extra_args
    if not plan.in_one_pod or splits_its_own:
        return
    section = f"{plan.key}.{planned.role}"
    for word in dict.fromkeys(word.split("=")[0] for word in planned.extra_args):
        option = _option(word)
        if option and any(each.startswith(option) for each in _MORE_GPUS.get(plan.target.engine, ())):
            yield (
                f"{section}.extraArgs: {word!r} takes GPUs of other workers, which transport 'pod' has in one pod; use "
                f"{section}.replicas for more workers or {section}.tensorParallel for larger ones"
            )


def _options(words: Iterable[str]) -> Iterator[str]:
    return filter(None, map(_option, words))


def _option(word: str) -> str:
    """The option that a word means, or nothing for a value.

    `--no-x` and `--x` are one, vLLM reads `_` as `-`, and `--x.y` sets a part of what `--x` says.
    """
    if not word.startswith("-") or not word.lstrip("-")[:1].isalpha():
        return ""
    name = word.split("=", maxsplit=1)[0].split(".", maxsplit=1)[0].replace("_", "-")
    return name.replace("--no-", "--", 1) if name.startswith("--no-") else name
