"""The evaluation of one stack with more and more graphs, each on a node of its own, in one process."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks.cpu_time import PROJECT
from benchmarks.figures import Figure, exponent
from ops.evaluate import evaluate
from ops.pulumi.stack_file import StackFile

SIZES = (1, 2, 4, 8, 16, 32, 64)
MOST = 1.1
_KEYS = "dynamo-gpt-oss"


def figures(rounds: int) -> Iterator[Figure]:
    """The evaluation with the most graphs beside one with one, and the exponent of what each further graph adds."""
    evaluate(PROJECT, stack(1))  # imports
    spent = {size: min(_seconds(size) for _ in range(rounds)) for size in SIZES}
    yield from described(SIZES, [spent[size] for size in SIZES])


def described(sizes: Sequence[int], seconds: Sequence[float]) -> Iterator[Figure]:
    """Figures of seconds by the number of graphs, the first of which is one."""
    for size, each in zip(sizes[1:], seconds[1:], strict=True):
        yield Figure(
            name=f"evaluate {size} graphs and nodes",
            value=each,
            unit="s CPU",
            ratio=each / seconds[0],
            beside="one graph",
        )
    more = [(size - 1, each - seconds[0]) for size, each in zip(sizes, seconds, strict=True)]
    # What two graphs add to one is as small as the clock's own error.
    yield Figure(
        name="evaluation's exponent",
        value=exponent(*zip(*more[2:], strict=True)),
        most=MOST,
        beside="graphs and nodes",
    )


def stack(graphs: int) -> StackFile:
    """The dev stack with so many graphs, and as many nodes."""
    dev = StackFile.load(PROJECT, "dev")
    further = [{"name": f"graph-{number}"} for number in range(1, graphs)]
    given = {"graphs": json.dumps(further), "pool": json.dumps({"nodes": graphs})}
    return replace(dev, config={**dev.config, **{f"{_KEYS}:{key}": text for key, text in given.items()}})


def _seconds(graphs: int) -> float:
    file = stack(graphs)
    began = time.process_time()
    evaluate(PROJECT, file)
    return time.process_time() - began
