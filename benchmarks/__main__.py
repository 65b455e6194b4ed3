"""`python -m benchmarks`: how fast this project itself is, as ratios within one run; every run is kept.

Absolute seconds differ between machines and hours; the ratio of two commands run in turn does not.
"""

import argparse
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import cluster, dataplane, diff, make, scaling, synth
from benchmarks.cpu_time import PROJECT
from benchmarks.figures import Figure, table

KINDS: dict[str, Callable[[int], Iterator[Figure]]] = {
    "synth": synth.figures,
    "scaling": scaling.figures,
    "diff": diff.figures,
    "cluster": cluster.figures,
    "dataplane": dataplane.figures,
    "make": make.figures,
}
HISTORY = PROJECT / "benchmarks" / "history.jsonl"


def keep(figures: Sequence[Figure], rounds: int, history: Path) -> None:
    """Append a line a figure, each with the run's date, commit, rounds and machine."""
    run = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "HEAD"),
        "changed": bool(_git("status", "--porcelain")),
        "rounds": rounds,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
    }
    history.parent.mkdir(parents=True, exist_ok=True)
    with history.open("a") as file:
        file.writelines(json.dumps({**run, **figure.data()}, ensure_ascii=False) + "\n" for figure in figures)


def _git(*arguments: str) -> str:
    found = subprocess.run(["git", *arguments], cwd=PROJECT, check=False, capture_output=True, text=True)
    return found.stdout.strip()


def main() -> None:
    """Measure what is asked for, print a table, and keep the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="How fast this project itself is."
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all by default")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured; the least counts")
    asked = parser.parse_args()
    if unknown := sorted({*asked.kinds} - {*KINDS}):
        parser.error(f"KIND: {', '.join(unknown)}; choose of {', '.join(KINDS)}")
    if asked.rounds < 1:
        parser.error(f"--rounds: {asked.rounds}: at least 1")
    figures: list[Figure] = []
    for kind in asked.kinds or KINDS:
        found = list(KINDS[kind](asked.rounds))
        keep(found, asked.rounds, HISTORY)
        figures += found
    print(*table(figures), sep="\n")
    print(f"kept in {HISTORY.relative_to(PROJECT)}")


if __name__ == "__main__":
    main()
