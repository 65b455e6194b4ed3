"""What a drawing of a stack shows, as records of words. Pure."""

from dataclasses import dataclass

from facts.engines import Role


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A worker on a node, or its part there. hands: what it does with KV cache, None for nothing."""

    name: str
    role: Role
    gpus: int
    facts: tuple[str, ...]
    hands: str | None


@dataclass(frozen=True, kw_only=True)
class KvBand:
    """The way of KV cache between workers. sentence: all that is known of it."""

    words: str
    sentence: str
    slow: bool


@dataclass(frozen=True, kw_only=True)
class NodeSketch:
    """A node. free: GPUs that no worker takes. kv: ways of KV cache that stay on the node."""

    name: str
    workers: tuple[Worker, ...]
    free: int
    kv: tuple[KvBand, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PoolSketch:
    """A pool of nodes. more: nodes that are not drawn, and no worker is on them. kv: ways that leave nodes."""

    name: str
    facts: tuple[str, ...]
    nodes: tuple[NodeSketch, ...]
    more: str
    kv: tuple[KvBand, ...]


@dataclass(frozen=True, kw_only=True)
class FrontendSketch:
    """A graph's frontend. pool: the position of its workers' pool."""

    graph: str
    facts: tuple[str, ...]
    pool: int


@dataclass(frozen=True, kw_only=True)
class Topology:
    """What is drawn. entry: what clients meet first. cpu: where frontends run. weights: the way to the pools."""

    stack: str
    entry: tuple[str, ...]
    cpu: tuple[str, ...]
    frontends: tuple[FrontendSketch, ...]
    pools: tuple[PoolSketch, ...]
    source: tuple[str, ...]
    cache: tuple[str, ...]
    weights: str
