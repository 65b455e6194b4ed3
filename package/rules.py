"""What cannot work of what a program asks of a component, by argument: as a stack file's graphs are refused."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from components.graph.graph import Graph
from stacks.rules.arguments import argument_problems
from stacks.rules.graphs import knob_problems, release_problems
from stacks.rules.sharing import sharing_problems
from stacks.sentences import sentences
from targets.knobs import GraphKnobs


def problems(args: Any) -> Iterator[tuple[str, str]]:
    """Argument and reason of everything. args: a component's record of arguments."""
    graph = getattr(args, "graph", None)
    if isinstance(graph, Graph):
        for sentence in _of_graph(graph):
            argument, _, reason = sentence.partition(": ")
            yield argument, reason


def _of_graph(graph: Graph) -> Iterator[str]:
    try:
        plan = graph.plan
    except ValidationError as invalid:
        yield from (each.replace(":", ".", 1) for each in sentences(invalid, GraphKnobs, "graph.knobs", ()))
        return
    if plan.image.build is not None:
        yield "graph.knobs.image.build: stacks build images, components do not; give image"
    alone = [*knob_problems(plan), *release_problems(plan), *argument_problems(plan)]
    yield from alone or sharing_problems([plan])
