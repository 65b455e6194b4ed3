"""Verbs at the same time: each does its own, whole, and waits for another one of its stack."""

import random

from tests.embedded.faults.remains import Remains
from tests.embedded.faults.stage import STACK, BrokenError, Stage, Verb, end

_OTHER = "disagg-h100-vllm"
_APART_SECONDS = 4.0
"""At most, between the beginnings of two verbs: some go at once, in some the first is well under way."""


def concurrent(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """Two verbs of one stack, that is up already or not: what is there then is what the last one makes, whole."""
    wrong = stage.converge() if draw.random() < 0.5 else Remains()
    names = draw.choice([("up", "down"), ("down", "up"), ("up", "up")])
    verbs = []
    for name in names:
        verbs.append(stage.begin(name))
        verbs[-1].after(draw.choice([0.0, draw.random() * _APART_SECONDS]))
    for verb in verbs:
        end(verb, well=True)
    last = _last(*verbs)
    stage.notes.append(f"{' and '.join(names)}: {last or 'none'} waited")
    is_up = last.startswith("up") if last else stage.state.exists()
    wrong += stage.whole(*[STACK] * is_up)
    wrong += stage.converge()
    wrong += stage.leave()
    return 1, wrong


def _last(first: Verb, second: Verb) -> str:
    """The one that waited for the other; empty if they never met. Raises BrokenError if it does not say for whom."""
    for verb, other in ((first, second), (second, first)):
        if "waiting for another up or down" in verb.said:
            # It does not know the process that has come by the lock in this moment.
            if " (process " in verb.said and f"(process {other.process.pid})" not in verb.said:
                raise BrokenError(f"{verb.name} does not say for whom it waits: {verb.said}")
            return verb.name
    return ""


def stacks(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """`up` or `down` of two stacks: neither takes what is the other's, and the cluster ends with the last one."""
    asked = [(STACK, draw.choice(("up", "down"))), (_OTHER, draw.choice(("up", "down")))]
    draw.shuffle(asked)
    before = [stack for stack, name in asked if name == "down"]
    wrong = stage.converge(*before) if before else Remains()
    verbs = []
    for stack, name in asked:
        verbs.append(stage.begin(name, stack))
        verbs[-1].after(draw.choice([0.0, draw.random() * _APART_SECONDS]))
    for verb in verbs:
        end(verb, well=True)
    stage.notes.append(" and ".join(verb.name for verb in verbs))
    wrong += stage.whole(*(stack for stack, name in asked if name == "up"))
    wrong += stage.converge(STACK, _OTHER)
    wrong += stage.leave(STACK, _OTHER)
    return 1, wrong
