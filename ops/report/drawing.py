"""A stack's topology as boxes: three columns on a wide page, one on a phone. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from facts.engines import Role
from ops.report.sketch import KvBand, NodeSketch, PoolSketch, Topology, Worker
from ops.report.topology import described
from pages.boxes import SMALL, Box, Drawing, Element, Link, Text, Words, frame, grid, text_width

WIDE, NARROW = 1120.0, 360.0
"""Widths of the two drawings."""
_LEFT, _MIDDLE, _GAP = 170.0, 250.0, 96.0
_TRUNK = 62.0
"""Of the gap before the pools, what is left of the line from which weights branch off."""
_CELL, _CELL_GAP = 18.0, 5.0
_LEAST_WORKER, _LEAST_NODE, _LEAST_FREE = 150.0, 300.0, 104.0
_TICK = 26.0
"""Between workers and the way of their KV cache, for its arrows."""
_RAIL = 20.0
"""Room for the arrows of what does not stand in the lowest row."""
_BELOW = 40.0
"""Between what stands below each other in a column."""


def wide(topology: Topology) -> Drawing:
    """Requests go from left to right; weights too, below them."""
    clients = _clients(topology, _LEFT)
    frontends = _frontends(topology, _MIDDLE).moved(_LEFT + _GAP, 0)
    right = _LEFT + _MIDDLE + 2 * _GAP
    pools = _below([_pool(pool, WIDE - right) for pool in topology.pools], right, 0)
    beside = (frontends.boxes[0].y + frontends.boxes[-1].bottom) / 2
    clients = clients.moved(0, max(0, beside - clients.height / 2))
    top = max(frontends.bottom, clients.bottom) + _BELOW
    cache = _words(topology.cache, _MIDDLE).moved(_LEFT + _GAP, top)
    # The cache's line meets the pools from below the frontends' lines.
    cache = cache.moved(0, max(0, min(pools[-1].bottom, pools[0].bottom) - cache.bottom))
    source = _words(topology.source, _LEFT)
    source = source.moved(0, cache.middle[1] - source.height / 2)
    links = [
        _level(clients, frontends, clients.middle[1], "request", "HTTP", both=True),
        _level(source, cache, cache.middle[1], "weights", "download"),
        *_to_pools(topology, frontends, pools),
        *_weights(topology, cache, pools),
    ]
    boxes = (clients, frontends, source, cache, *pools)
    return _drawing(topology, "wide", WIDE, boxes, links)


def narrow(topology: Topology) -> Drawing:
    """Requests go from above, weights from below; a line past a pool runs along the edge."""
    edge = 26.0 if len(topology.pools) > 1 else 0.0
    width = NARROW - 2 * edge
    column = _below(
        [
            _clients(topology, width),
            _frontends(topology, width),
            *(_pool(pool, width) for pool in topology.pools),
            _words(topology.cache, width),
            _words(topology.source, width),
        ],
        edge,
        0,
    )
    clients, frontends, *pools, cache, source = column
    links = [
        _upright(clients.bottom, frontends.y, NARROW / 2, "request", "HTTP", both=True),
        _upright(frontends.bottom, pools[0].y, NARROW / 2, "request", "prompts and tokens", both=True),
        _upright(cache.y, pools[-1].bottom, NARROW / 2, "weights", topology.weights),
        _upright(source.y, cache.bottom, NARROW / 2, "weights", "download"),
    ]
    for number, pool in enumerate(pools):
        x, y = pool.x, pool.y + 24
        if number and any(frontend.pool == number for frontend in topology.frontends):
            side = x - 6 - 3 * number
            start = (frontends.x, frontends.middle[1] + 6 * number)
            links.append(Link(points=(start, (side, start[1]), (side, y), (x, y)), both=True))
        if pool is not pools[-1]:
            right, up = pool.right, pool.bottom - 24
            points = (
                (cache.right, cache.middle[1]),
                (right + 12, cache.middle[1]),
                (right + 12, up),
                (right, up),
            )
            links.append(Link(points=points, kind="weights"))
    return _drawing(topology, "narrow", NARROW, tuple(column), links)


def _drawing(
    topology: Topology, name: str, width: float, boxes: tuple[Box, ...], links: Sequence[Link]
) -> Drawing:
    margin = 2.0  # strokes are as wide outside as inside
    return Drawing(
        name=f"topology-{name}",
        title=f"What {topology.stack} is made of",
        description=described(topology),
        width=width + 2 * margin,
        height=max(box.bottom for box in boxes) + 2 * margin,
        boxes=tuple(box.moved(margin, margin) for box in boxes),
        links=tuple(link.moved(margin, margin) for link in links),
    )


def _words(words: Sequence[str], width: float, kind: str = "thing") -> Box:
    return frame(width, kind, _lines(words))


def _lines(words: Sequence[str]) -> list[Words]:
    return [Words(words=line, kind="small" if number else "name") for number, line in enumerate(words)]


def _clients(topology: Topology, width: float) -> Box:
    return _words(("Clients", *topology.entry), width)


def _frontends(topology: Topology, width: float) -> Box:
    elements: list[Element] = [
        partial(_frontend, ("Frontend", *frontend.facts)) for frontend in topology.frontends
    ]
    return frame(width, "place", _lines(topology.cpu), list(grid(elements, width - 24, width - 24)))


def _frontend(words: Sequence[str], width: float) -> Box:
    return _words(words, width)


def _pool(pool: PoolSketch, width: float) -> Box:
    busy: list[Element] = [partial(_node, node) for node in pool.nodes if node.workers]
    free: list[Element] = [partial(_spare, node) for node in pool.nodes if not node.workers]

    def rows(inner: float) -> list[list[Box]]:
        return [*grid(busy, inner, _LEAST_NODE), *grid(free, inner, _LEAST_FREE)]

    words = [*_lines((pool.name, *pool.facts)), *([Words(words=pool.more)] if pool.more else [])]
    return _with_bands(width, "pool", words, rows, pool.kv)


def _node(node: NodeSketch, width: float) -> Box:
    elements: list[Element] = [partial(_worker, worker) for worker in node.workers]
    if node.free:
        elements.append(partial(_unused, node.free))

    def rows(inner: float) -> list[list[Box]]:
        return list(grid(elements, inner, _LEAST_WORKER))

    return _with_bands(width, "node", [Words(words=node.name, kind="name")], rows, node.kv)


def _worker(worker: Worker, width: float) -> Box:
    words = [*_lines((worker.name, *worker.facts))]
    if worker.hands:
        words.append(Words(words=worker.hands, kind="kv"))
    rows = list(_cells(worker.gpus, str(worker.role), width - 24))
    title = f"{worker.name}: {', '.join(worker.facts)}"
    return frame(width, str(worker.role), words, rows, title=title, gap=_CELL_GAP)


def _unused(free: int, width: float) -> Box:
    words = [Words(words="Free", kind="name"), Words(words=f"{free} GPU{'s' if free > 1 else ''}")]
    return frame(width, "spare", words, list(_cells(free, "idle", width - 24)), gap=_CELL_GAP)


def _spare(node: NodeSketch, width: float) -> Box:
    words = [Words(words=node.name), Words(words=f"{node.free} GPUs free" if node.free else "no worker")]
    rows = list(_cells(node.free, "idle", width - 16))
    return frame(width, "spare", words, rows, padding=8, gap=_CELL_GAP)


def _cells(gpus: int, kind: str, width: float) -> Iterator[list[Box]]:
    """A square for each GPU."""
    columns = max(1, min(gpus, int((width + _CELL_GAP) / (_CELL + _CELL_GAP))))
    for begin in range(0, gpus, columns):
        yield [
            Box(x=n * (_CELL + _CELL_GAP), width=_CELL, height=_CELL, kind=f"gpu {kind}", title="one GPU")
            for n in range(min(columns, gpus - begin))
        ]


def _with_bands(
    width: float,
    kind: str,
    words: Sequence[Words],
    rows: Callable[[float], list[list[Box]]],
    bands: Sequence[KvBand],
) -> Box:
    """A frame with the ways of KV cache below its rows, and arrows between them and what hands it over.

    Arrows go straight down where all stand in the lowest row, else along a rail at the right edge.
    """
    box = frame(width, kind, words, rows(width - 24))
    if not bands:
        return box
    lowest = max(each.bottom for each in box.boxes)
    rail = any(end.bottom < lowest for end in _ends(box))
    if rail:
        box = frame(width, kind, words, rows(width - 24 - _RAIL))
    y = max(each.bottom for each in box.boxes) + _TICK - 8
    added: list[Box] = []
    for band in bands:
        look, line = "kv slow" if band.slow else "kv", [Words(words=band.words, kind="kv")]
        made = frame(width - 24, look, line, padding=8, title=band.sentence)
        added.append(made.moved(12, y + 8))
        y = added[-1].bottom
    top, right = added[0].y, width - 12 - _RAIL / 4
    links = []
    for end in _ends(box):
        x, level = end.middle
        points = ((end.right, level), (right, level), (right, top)) if rail else ((x, end.bottom), (x, top))
        takes = end.kind == Role.DECODE
        both = end.kind not in (Role.PREFILL, Role.DECODE)
        links.append(Link(points=points[::-1] if takes else points, kind="handover", both=both))
    return replace(box, height=y + 12, boxes=(*box.boxes, *added), links=tuple(links))


def _ends(box: Box) -> list[Box]:
    """What of a node or a pool hands KV cache over."""
    return [each for each in box.boxes if not each.kind.startswith("spare")]


def _below(boxes: Sequence[Box], x: float, y: float) -> list[Box]:
    """The boxes below each other."""
    placed: list[Box] = []
    for box in boxes:
        placed.append(box.moved(x, y))
        y = placed[-1].bottom + _BELOW
    return placed


def _level(one: Box, other: Box, y: float, kind: str, words: str, *, both: bool = False) -> Link:
    middle = (one.right + other.x) / 2
    return Link(
        points=((one.right, y), (other.x, y)), kind=kind, both=both, label=_label(words, middle, y - 7)
    )


def _upright(start: float, end: float, x: float, kind: str, words: str, *, both: bool = False) -> Link:
    y = (start + end) / 2 + 4
    label = Text(x=x + 10, y=y, words=words, size=SMALL)
    return Link(points=((x, start), (x, end)), kind=kind, both=both, label=label)


def _label(words: str, middle: float, y: float) -> Text:
    return Text(x=middle - text_width(words, SMALL) / 2, y=y, words=words, size=SMALL)


def _to_pools(topology: Topology, frontends: Box, pools: Sequence[Box]) -> Iterator[Link]:
    """From each frontend to the pool of its workers: level where that is beside it, else by a step of its own."""
    steps = len(topology.frontends)
    for number, (sketch, box) in enumerate(zip(topology.frontends, frontends.boxes, strict=True)):
        pool, y = pools[sketch.pool], box.middle[1]
        at = min(max(y, pool.y + 24 + 14 * number), pool.bottom - 24)
        x = frontends.right + _TRUNK + (_GAP - _TRUNK) * (number + 1) / (steps + 1)
        level = abs(at - y) < 1
        points = ((box.right, y), (pool.x, y)) if level else ((box.right, y), (x, y), (x, at), (pool.x, at))
        label = _label("tokens", frontends.right + _GAP / 2, y - 7) if level and number == 0 else None
        yield Link(points=points, both=True, label=label)


def _weights(topology: Topology, cache: Box, pools: Sequence[Box]) -> Iterator[Link]:
    """One line out of the cache, with a branch to each pool."""
    y, x = cache.middle[1], cache.right + _TRUNK
    for number, pool in enumerate(pools):
        at = min(max(y, pool.y + 72), pool.bottom - 16)
        level = abs(at - y) < 1
        points = (
            ((cache.right, y), (pool.x, y)) if level else ((cache.right, y), (x, y), (x, at), (pool.x, at))
        )
        words = "copied" if topology.weights.startswith("copied") else "weights"
        label = _label(words, cache.right + _TRUNK / 2, y - 7) if number == 0 else None
        yield Link(points=points, kind="weights", label=label)
