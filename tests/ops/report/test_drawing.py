"""Drawings of all stacks: nothing leaves its box, covers another, or is lost."""

from typing import Any

import pytest

from ops.pulumi import stack_config
from ops.report.drawing import narrow, wide
from ops.report.sketch import Topology
from ops.report.topology import topology
from ops.stack.on_embedded import plan_of
from pages.boxes import Drawing
from tests.ops.report.projects import CROWDED, MANY, SCALED
from tests.pages.layout import every, faults, texts
from tests.plans import stack
from tests.project import PROJECT

SHIPPED = sorted(path.name.split(".")[1] for path in PROJECT.glob("Pulumi.*.yaml"))
SPANNING: dict[str, Any] = {
    "target": "trtllm-agg-gb200",
    "cluster": {"kind": "existing"},
    "platform": {"install": False, "grove": "external"},
    "pool": {"nodes": 18},
    "graph": {"worker": {"replicas": 3, "nodes": 2, "tensorParallel": 8, "expertParallel": 8}},
}
CONFIGS = {"many": MANY, "scaled": SCALED, "crowded": CROWDED, "spanning": SPANNING}
NAMES = [*SHIPPED, *CONFIGS]


def of(name: str) -> Topology:
    if name in CONFIGS:
        return topology(name, stack(**CONFIGS[name]))
    return topology(name, plan_of(stack_config.load(PROJECT, name)))


def both(name: str) -> tuple[Drawing, Drawing]:
    drawn = of(name)
    return wide(drawn), narrow(drawn)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_leaves_its_box_or_covers_another(name: str) -> None:
    assert [fault for drawing in both(name) for fault in faults(drawing)] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_worker_and_every_gpu_is_drawn(name: str) -> None:
    nodes = [node for pool in of(name).pools for node in pool.nodes]
    gpus = sum(node.free + sum(worker.gpus for worker in node.workers) for node in nodes)
    for drawing in both(name):
        kinds = [box.kind.split() for box in every(drawing.boxes)]
        assert sum(kind[0] == "gpu" for kind in kinds) == gpus
        workers = sum(kind[0] in {"prefill", "decode", "worker"} for kind in kinds)
        assert workers == sum(len(node.workers) for node in nodes)


@pytest.mark.parametrize("name", NAMES)
def test_both_drawings_have_the_same_words(name: str) -> None:
    said = [sorted(" ".join(text.words for text in texts(drawing.boxes)).split()) for drawing in both(name)]
    assert said[0] == said[1]


@pytest.mark.parametrize("name", NAMES)
def test_requests_and_weights_reach_every_pool_that_is_used(name: str) -> None:
    drawn = of(name)
    for drawing in both(name):
        pools = [box for box in drawing.boxes if box.kind == "pool"]
        used = {frontend.pool for frontend in drawn.frontends}
        ends = [point for link in drawing.links for point in (link.points[0], link.points[-1])]
        for number, pool in enumerate(pools):
            touching = [
                (x, y)
                for x, y in ends
                if pool.x - 1 <= x <= pool.right + 1 and pool.y - 1 <= y <= pool.bottom + 1
            ]
            assert len(touching) >= (2 if number in used else 1)


@pytest.mark.parametrize("name", ["disagg-b200", "scaled"])
def test_kv_cache_goes_out_of_prefill_and_into_decode(name: str) -> None:
    for drawing in both(name):
        holders = [box for box in every(drawing.boxes) if box.links]
        assert holders
        for holder in holders:
            band = next(box for box in holder.boxes if box.kind.startswith("kv"))
            for end, link in zip(
                (box for box in holder.boxes if box.kind in {"prefill", "decode"}), holder.links, strict=False
            ):
                away = link.points[-1 if end.kind == "prefill" else 0]
                assert away[1] == pytest.approx(band.y)


def test_names_are_unique_on_a_page() -> None:
    one, other = both("dev")
    assert one.name != other.name
