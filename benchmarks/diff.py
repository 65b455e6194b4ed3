"""`ops diff` of all stacks, which synthesises each of them twice."""

from collections.abc import Iterator

from benchmarks.cpu_time import PROJECT, in_turn
from benchmarks.figures import Figure
from ops.pulumi.stack_file import stacks


def figures(rounds: int) -> Iterator[Figure]:
    """Its user CPU time with that of its children, beside as many synths."""
    commands = {
        stack: ("-m", "ops", "synth", "--stack", stack, "--format", "json") for stack in stacks(PROJECT)
    }
    spent = in_turn({**commands, "": ("-m", "ops", "diff", "--base", "HEAD")}, rounds)
    own = spent.pop("").seconds
    yield Figure(
        name="diff of all stacks",
        value=own,
        unit="s CPU",
        ratio=own / sum(2 * each.seconds for each in spent.values()),
        beside="all synths, twice",
    )
