"""`python -m tests.stacks.fuzz --cases N --seed S`: stack files by number, held against what holds of any."""

import argparse
import contextlib
import random
import sys
import tempfile
from pathlib import Path

from tests.stacks.fuzz.grammar import case
from tests.stacks.fuzz.hold import Counts, hold, project


def main() -> int:
    """1 if something does not hold: each such case's seed, number and file are printed."""
    parser = argparse.ArgumentParser(prog="python -m tests.stacks.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="how many")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="a new one if not said")
    parser.add_argument("--first", type=int, default=0, help="number of the first one, to try a case again")
    asked = parser.parse_args()
    counts = Counts()
    # A Ctrl-C ends it with the line of what was tried.
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(KeyboardInterrupt):
        made = project(Path(folder))
        for number in range(asked.first, asked.first + asked.cases):
            tried = case(asked.seed, number)
            hold(made, tried, counts)
            if number in counts.wrong:
                print(
                    f"--seed {asked.seed} --first {number} --cases 1\n{tried.shown()}\n{counts.wrong[number]}\n",
                    flush=True,
                )
    print(counts.line())
    return 1 if counts.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
