"""Which GPUs of which node each worker takes, as the rules of a graph allow it. Pure.

On a cluster the scheduler decides, by the same rules: another worker may be on a node, but not more than find room.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from facts.engines import Role
from targets.parts import WorkerPlan
from targets.plan import GraphPlan
from targets.pool import Pool


@dataclass(frozen=True, kw_only=True)
class Share:
    """What one worker takes of one node. number: of its role, from 1. part, parts: of a worker that spans nodes."""

    graph: str
    role: Role
    number: int
    gpus: int
    planned: WorkerPlan
    part: int = 1
    parts: int = 1


@dataclass(kw_only=True)
class Node:
    """A node of a pool. number: from 1."""

    number: int
    gpus: int
    shares: list[Share] = field(default_factory=list)

    @property
    def free(self) -> int:
        """GPUs that no worker takes."""
        return self.gpus - sum(share.gpus for share in self.shares)


def placed(pool: Pool, graphs: Iterable[GraphPlan]) -> tuple[list[Node], list[Share]]:
    """The pool's nodes with the workers of these graphs, and what finds no room, which waits."""
    nodes = [Node(number=number, gpus=pool.instance.gpus) for number in range(1, pool.nodes + 1)]
    waiting: list[Share] = []
    for graph in graphs:
        for together in _together(graph):
            found = _room(nodes, together, graph)
            if found is None:
                waiting += together
                continue
            for node, share in zip(found, together, strict=True):
                node.shares.append(share)
    return nodes, waiting


def _together(graph: GraphPlan) -> Iterator[list[Share]]:
    """Shares that are placed at once: all of a graph that is kept on one node, else those of one worker."""
    workers = [list(_shares(graph, planned, n)) for planned in graph.workers for n in _numbers(planned)]
    if graph.in_one_pod or graph.on_one_node:
        yield [share for shares in workers for share in shares]
    else:
        yield from workers


def _numbers(planned: WorkerPlan) -> range:
    return range(1, planned.worker.replicas + 1)


def _shares(graph: GraphPlan, planned: WorkerPlan, number: int) -> Iterator[Share]:
    for part in range(1, planned.nodes + 1):
        yield Share(
            graph=graph.name,
            role=planned.role,
            number=number,
            gpus=planned.worker.gpus // planned.nodes,
            planned=planned,
            part=part,
            parts=planned.nodes,
        )


def _room(nodes: Sequence[Node], shares: Sequence[Share], graph: GraphPlan) -> list[Node] | None:
    """A node for each share, None where there is no room."""
    if graph.in_one_pod or graph.on_one_node:
        wanted = sum(share.gpus for share in shares)
        one = next((node for node in nodes if node.free >= wanted), None)
        return None if one is None else [one] * len(shares)
    found: list[Node] = []
    for share in shares:
        node = next(
            (n for n in nodes if n not in found and n.free >= share.gpus and _may(n, share, graph)), None
        )
        if node is None:
            return None
        found.append(node)
    return found


def _may(node: Node, share: Share, graph: GraphPlan) -> bool:
    """Over EFA prefill and decode of one graph keep off each other's nodes."""
    others = (each for each in node.shares if each.graph == share.graph)
    return not graph.uses_efa or all(each.role is share.role for each in others)
