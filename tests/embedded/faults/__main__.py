"""Faults on embedded clusters of their own: `python -m tests.embedded.faults --rounds 50` prints each, and the sum.

A round draws its kind and its moments by the seed, and does its faults to `ops up` and `ops down` of dev. Then a plain
`up` must make exactly what synth says, and a plain `down` must leave nothing: no object, process, port or file.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from targets.errors import UserError
from tests.embedded.faults.kinds import KINDS, WEIGHTS, why_not
from tests.embedded.faults.remains import Remains
from tests.embedded.faults.stage import BrokenError, stage


@dataclass(frozen=True)
class Round:
    """What came of it. faults: how many were done. said: notes, or what its verbs said if it failed."""

    number: int
    kind: str
    faults: int
    remains: Remains
    said: tuple[str, ...]


def rounds(first: int, count: int, seed: int, only: str | None) -> Iterator[Round]:
    """Each as it is done."""
    took: dict[str, float] = {}
    for number in range(first, first + count):
        draw = random.Random(f"{seed}/{number}")
        # Also for `--only`, so that the rest of the draws stay the same.
        drawn = draw.choices([*KINDS], WEIGHTS)[0]
        kind = only or drawn
        if reason := why_not(kind):
            print(f"{number} {kind}: left out: {reason}", flush=True)
            continue
        with stage(took) as place:
            faults, wrong = 0, Remains()
            try:
                faults, wrong = KINDS[kind](place, draw)
            except (BrokenError, UserError) as broken:
                wrong.lost.append(str(broken))
            yield Round(number, kind, faults, wrong, tuple(place.protocol() if wrong else place.notes))


def table(done: list[Round]) -> Iterator[str]:
    """A line for each kind, and one of all."""
    yield f"{'kind':<12} {'rounds':>6} {'faults':>6} {'converged':>9} {'lost':>5} {'orphaned':>8}"
    for name in [kind for kind in KINDS if any(each.kind == kind for each in done)]:
        yield _row(name, [each for each in done if each.kind == name])
    converged = sum(each.faults for each in done if not each.remains)
    total = sum(each.faults for each in done)
    lost, orphaned = _counts(done)
    yield f"faults {total}, converged {converged}, lost {lost}, orphaned {orphaned}"


def _row(name: str, done: list[Round]) -> str:
    faults = sum(each.faults for each in done)
    converged = sum(each.faults for each in done if not each.remains)
    lost, orphaned = _counts(done)
    return f"{name:<12} {len(done):>6} {faults:>6} {converged:>9} {lost:>5} {orphaned:>8}"


def _counts(done: list[Round]) -> tuple[int, int]:
    return sum(len(each.remains.lost) for each in done), sum(len(each.remains.orphaned) for each in done)


def main() -> None:
    """A line for each round, a table of the kinds, and one line of all; ends with 1 if a round failed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1122)
    parser.add_argument("--first", type=int, default=0, help="number of the first round, to repeat one")
    parser.add_argument("--only", choices=[*KINDS], help="this kind alone")
    given = parser.parse_args()
    done: list[Round] = []
    began = time.monotonic()
    for each in rounds(given.first, given.rounds, given.seed, given.only):
        done.append(each)
        result = "; ".join([*each.remains.lost, *each.remains.orphaned]) or "ok"
        seconds = time.monotonic() - began
        print(f"{seconds:6.0f} s  {each.number} {each.kind}: {each.faults} faults: {result}", flush=True)
        print(*[f"          {line}\n" for line in each.said], sep="", end="", flush=True)
        if each.remains:
            again = f"--seed {given.seed} --first {each.number} --rounds 1 --only {each.kind}"
            print(f"again: python -m tests.embedded.faults {again}", flush=True)
    print(*table(done), sep="\n")
    sys.exit(any(each.remains for each in done))


if __name__ == "__main__":
    main()
