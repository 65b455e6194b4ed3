"""Refuses a user's arguments that a command line has already. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from graphs import frontend
from graphs.deployment import worker_command
from targets.plan import GraphPlan, Refusal

_FRONTEND_KNOBS = {"--router-mode": "routerMode"}


def check_arguments(plan: GraphPlan) -> None:
    """Raise Refusal for each argument of the user's that the rendered command line says too, one a line.

    Parsers take the last of two without a word, and what hangs on the first, as Service, probes and verification hang
    on a port, would not follow.
    """
    alone = replace(
        plan,
        knobs=plan.knobs.model_copy(
            update={"frontend": plan.knobs.frontend.model_copy(update={"extra_args": ()})}
        ),
    )
    problems = list(
        _twice(f"{plan.key}.frontend", frontend.command(alone).args, plan.knobs.frontend.extra_args)
    )
    for planned in plan.workers:
        ours = worker_command(plan, replace(planned, extra_args=())).args
        problems += _twice(f"{plan.key}.{planned.role}", ours, planned.extra_args)
    if problems:
        raise Refusal("\n".join(problems))


def _twice(section: str, ours: Sequence[str], said: Sequence[str]) -> Iterator[str]:
    taken = {_option(word) for word in ours if word.startswith("--")}
    for word in said:
        if word.startswith("--") and _option(word) in taken:
            knob = _FRONTEND_KNOBS.get(_option(word))
            remedy = f"use {section}.{knob}" if knob else "leave it out"
            yield f"{section}.extraArgs: {word.split('=')[0]!r} is set already; {remedy}"


def _option(word: str) -> str:
    """The option that a word means: `--no-x` and `--x` are one, and vLLM reads `_` as `-`."""
    name = word.split("=", maxsplit=1)[0].replace("_", "-")
    return name.replace("--no-", "--", 1) if name.startswith("--no-") else name
