"""`python -m benchmarks`: how fast this project itself is, as ratios within one run; every figure is kept.

Absolute seconds differ between machines and hours; the ratio of two commands run in turn does not.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import cluster, dataplane, diff, make, scaling, synth
from benchmarks.cpu_time import PROJECT
from benchmarks.figures import Figure, table
from measure.guard import CODES
from ops.pulumi import interruption
from targets.errors import UserError

KINDS: dict[str, Callable[[int], Iterator[Figure]]] = {
    "synth": synth.figures,
    "scaling": scaling.figures,
    "diff": diff.figures,
    "cluster": cluster.figures,
    "dataplane": dataplane.figures,
    "make": make.figures,
}
HISTORY = PROJECT / "benchmarks" / "history.jsonl"


def keep(figure: Figure, run: Mapping[str, Any], history: Path) -> None:
    """Append a line, with the figure's date and load and its run's commit, rounds and machine."""
    now = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "load": round(os.getloadavg()[0], 2)}
    history.parent.mkdir(parents=True, exist_ok=True)
    with history.open("a") as file:
        file.write(json.dumps({**now, **run, **figure.data()}, ensure_ascii=False) + "\n")


def _run(rounds: int) -> dict[str, Any]:
    return {
        "commit": _git("rev-parse", "HEAD"),
        "changed": bool(_git("status", "--porcelain", "--", ".", f":!{HISTORY.relative_to(PROJECT)}")),
        "rounds": rounds,
        "cores": os.cpu_count(),
    }


def _git(*arguments: str) -> str:
    found = subprocess.run(["git", *arguments], cwd=PROJECT, check=False, capture_output=True, text=True)
    return found.stdout.strip()


def main() -> None:
    """Measure what is asked for, keep each figure as it comes, and print a table. A signal ends it in order."""
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
    interruption.install(print)
    figures: list[Figure] = []
    run = _run(asked.rounds)
    try:
        for kind in asked.kinds or KINDS:
            for figure in KINDS[kind](asked.rounds):
                keep(figure, run, HISTORY)
                figures.append(figure)
    except (UserError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(CODES[signal.SIGINT])
    finally:
        if figures:
            print(*table(figures), sep="\n")
            print(f"kept in {HISTORY.relative_to(PROJECT)}")


if __name__ == "__main__":
    main()
