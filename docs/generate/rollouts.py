"""What stacks of this repository pay for GPUs before the first token, as a table's rows. Simulated."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import yaml

from stacks.load import from_text
from stacks.rollout import setting
from targets.assumptions import Assumptions, name_of
from targets.capacity import CapacityKind
from targets.timeline import Copy, Setting, our_order, published_order, sensitivity, share

STACKS = ("disagg-b200", "prod", "agg-gb200")
HEAD = (
    "stack",
    "bought",
    "minutes, as shipped",
    "of the published order",
    "with `localCopy: node`",
    "with that and `image.mirror`",
    "with no copy",
    "begun with its block",
    "what moves the minutes most: halved, doubled",
)


def rows(project: Path) -> Iterator[tuple[str, ...]]:
    """One a stack."""
    for name in STACKS:
        config = yaml.safe_load((project / f"Pulumi.{name}.yaml").read_text())["config"]
        text = {key: each if isinstance(each, str) else json.dumps(each) for key, each in config.items()}
        decided = setting(from_text(text, set()))
        yield _row(name, decided, decided.assumptions())


def _row(name: str, decided: Setting, assumed: Assumptions) -> tuple[str, ...]:
    most, (halved, doubled) = next(iter(sensitivity(assumed, decided).items()))
    near = replace(decided, copy=Copy.NODE, mirror=True)
    block = decided.capacity is CapacityKind.CAPACITY_BLOCK
    return (
        f"`{name}`",
        str(decided.capacity),
        f"{our_order(assumed, decided).paid_minutes:.1f}",
        f"{share(assumed, decided):.0%}",
        f"{share(assumed, replace(decided, copy=Copy.NODE)):.0%}",
        f"{share(near.assumptions(), near):.0%}",
        f"{share(assumed, replace(decided, copy=None)):.0%}",
        f"{share(assumed, decided, prepared=False):.0%}" if block else "–",
        f"`{name_of(most)}`: {halved:.1f}, {doubled:.1f}",
    )


def limits() -> str:
    """What a prepared block pays at least, and what that rests on."""
    assumed = Assumptions()
    published = published_order(assumed, 1).paid_minutes
    least = assumed.scale_up + assumed.gpu_boot + assumed.local_load
    return (
        f"A prepared block does not reach less than {least / published:.0%}: its scale-up, "
        f"the boot of its nodes and the load from a\ncopy alone are {least:.1f} of {published:.1f} minutes. "
        f"That load, {assumed.local_load:g} minutes, was published for vLLM alone; TensorRT-LLM and\n"
        "SGLang are taken to be as fast.\n"
    )
