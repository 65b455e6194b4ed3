"""A rollout's steps, from what is left of it."""

from collections.abc import Iterable
from datetime import datetime

import pytest

from ops.rollout.observed import Line, Observed, merge, observe
from ops.rollout.phases import Bound, Happened, Phase, happened
from tests.ops.rollout.rollouts import (
    IMAGE,
    Object,
    at,
    condition,
    container,
    event,
    graph,
    job,
    node,
    pod,
    pulled,
    stamp,
    whole,
    worker,
)

SMALL = "python:3.13"


def of(objects: Iterable[Object], **more: datetime) -> Happened:
    found = happened(merge(observe(objects), Observed(**more)), None)  # type: ignore[arg-type]
    assert found is not None
    return found


def phase(name: str, objects: Iterable[Object]) -> Phase:
    return {each.name: each for each in of(objects).phases}[name]


def minutes(name: str, objects: Iterable[Object]) -> float:
    return round(phase(name, objects).minutes, 3)


def test_each_step_has_its_time_and_its_source() -> None:
    found = of(whole())
    assert {each.name: round(each.minutes, 3) for each in found.phases} == {
        "CPU nodes": 1.5,
        "download": 12.0,
        "GPU nodes": 2.5,  # the worker waited until its devices were there
        "image pull": 4.2,
        "model load": 9.0,
    }
    assert all(each.source for each in found.phases)
    assert (found.began, found.ready) == (at(0), at(31))
    assert found.unknown == {
        "platform": "not of this stack, not there, or not available",
        "scale up": "the cluster does not know when the block began; `up --wait-for-block` writes it down",
        "weights copy": "no pod copies weights, or none has done so",
    }


def test_nothing_that_was_seen_is_no_rollout() -> None:
    assert happened(Observed(), None) is None


def test_the_clock_of_a_watched_up_begins_with_it() -> None:
    found = of(whole(), began=at(-3))
    assert (found.began, found.began_with) == (at(-3), "`up`")
    assert of(whole()).began_with == "the first of the stack's objects"


def test_an_up_that_found_the_graph_there_did_not_begin_it() -> None:
    assert of(whole(), began=at(60)) == of(whole())


def test_the_clock_of_a_block_begins_with_it_and_not_with_the_wait_for_it() -> None:
    """An `up` two days before; CPU nodes and weights came then."""
    early = [
        graph(),
        worker(),
        job(-2878, -2866),
        node("cpu-0", -2880, -2878.5),
        node("gpu-0", 15, 16, gpus=8),
    ]
    found = of(early, began=at(-2881), block=at(8))
    assert (found.began, found.began_with, found.of_block) == (at(8), "the Capacity Block's begin", True)
    phases = {each.name: each for each in found.phases}
    assert (phases["scale up"].minutes, phases["scale up"].bound) == (7, Bound.AT_MOST)
    assert (phases["download"].minutes, phases["CPU nodes"].minutes) == (12, 1.5)


def test_a_block_whose_nodes_are_not_there_yet() -> None:
    nodes = [node("gpu-0", 15, 16, gpus=8)]
    assert (
        of([graph(), *nodes], block=at(20)).unknown["scale up"]
        == "no GPU node has joined since the block began"
    )


def test_of_several_the_one_that_ended_last() -> None:
    objects = [*whole(), worker("decode-1", started=22, ready=35), pulled(23, took="2m0s", of="decode-1")]
    assert phase("model load", objects).source == "pod decode-1: from its container's start to Ready"
    assert minutes("model load", objects) == 13
    assert minutes("image pull", objects) == 2


def test_nodes_that_were_there_tell_nothing_of_this_rollout() -> None:
    objects = [graph(), worker(), node("gpu-0", -600, -599, gpus=8)]
    found = of(objects)
    assert "GPU nodes" not in {each.name for each in found.phases}
    assert found.unknown["GPU nodes"] == "the nodes were there already, or are gone"
    assert found.began == at(9)


def test_a_worker_that_came_later_did_not_wait_for_the_node() -> None:
    objects = [graph(made=2), worker(made=20, scheduled=20), node("gpu-0", 5, 6, gpus=8)]
    assert minutes("GPU nodes", objects) == 1
    assert phase("GPU nodes", objects).bound is Bound.AT_LEAST


def test_without_events_a_pull_is_bounded_by_the_container() -> None:
    found = phase("image pull", [each for each in whole() if each["kind"] != "Event"])
    assert (round(found.minutes, 3), found.bound) == (4.3, Bound.AT_MOST)
    assert "its events are gone" in found.source


def test_without_events_another_image_before_it_is_not_counted() -> None:
    before = (container("copy-weights", SMALL, 18, 20),)
    copying = pod("decode-0", container("main", IMAGE, 21.8), before=before, ready=30.8)
    assert minutes("image pull", [graph(), copying]) == 1.8


def test_a_pull_whose_events_say_no_duration_is_between_them() -> None:
    words = [
        event("Pulling", "Pulling image (simulated)", 17),
        event("Pulled", "Successfully pulled image", 20),
    ]
    assert minutes("image pull", [graph(), worker(), *words]) == 3


def test_an_image_that_was_on_the_node_took_no_time() -> None:
    there = event("Pulled", f'Container image "{IMAGE}" already present on machine', 18)
    assert minutes("image pull", [graph(), worker(), there]) == 0
    by_another = pulled(17, of="image-pull-x")
    assert minutes("image pull", [graph(), worker(), there, by_another]) == 4.2, "who pulled it counts"


def test_other_images_and_other_nodes_are_other_pulls() -> None:
    other = event("Pulled", f'Successfully pulled image "{SMALL}" in 9m0s', 29)
    elsewhere = pulled(30, took="9m0s", of="model-download-x", host="cpu-0")
    assert minutes("image pull", [*whole(), other, elsewhere]) == 4.2


def test_the_nodes_own_copier_copies_and_workers_wait_for_it() -> None:
    waits = (container("copy-weights", IMAGE, 18, 25),)
    copier = pod(
        "model-copy-abc",
        container("keep-copy", SMALL, 24),
        before=(container("copy-weights", SMALL, 17.5, 23.5),),
        gpus=0,
        labels={},
    )
    waiting = pod("decode-0", container("main", IMAGE, 25), before=waits, ready=30)
    assert minutes("weights copy", [graph(), waiting, copier]) == 6
    assert minutes("weights copy", [graph(), waiting]) == 7
    keeper = pod("model-copy-abc", container("keep-copy", SMALL, 24), gpus=0, labels={})
    assert minutes("weights copy", [graph(), waiting, keeper]) == 7, (
        "of a node that keeps compiled kernels alone"
    )


@pytest.mark.parametrize(("completed", "why"), [(None, "Job model-download has not completed"), (14, "")])
def test_a_download_that_goes_on_has_no_end(completed: float | None, why: str) -> None:
    assert of([graph(), job(2, completed)]).unknown.get("download", "") == why


def test_workers_of_a_later_update_are_no_part_of_the_rollout() -> None:
    assert minutes("model load", [*whole(), worker("decode-9", made=500, started=501, ready=600)]) == 9


def test_the_platform_is_there_when_its_last_deployment_is() -> None:
    def deployment(name: str, made: float, available: float | None) -> Object:
        conditions = [] if available is None else [condition("Available", available)]
        metadata = {"name": name, "uid": name, "creationTimestamp": stamp(made)}
        return {"kind": "Deployment", "metadata": metadata, "status": {"conditions": conditions}}

    objects = [*whole(), deployment("operator", 2, 4), deployment("etcd", 2.5, 6)]
    assert minutes("platform", objects) == 4
    assert "platform" in of([*objects, deployment("nats", 2, None)]).unknown
    assert of(objects, began=at(3)).unknown["platform"] == "it was there already"


def test_what_the_engine_says_is_a_part_of_the_load() -> None:
    seen = observe(whole())
    line = Line(pod="decode-0", at=at(25), text="Model init total -- 49.14s")
    found = happened(merge(seen, Observed(lines={"a": line})), None)
    assert found is not None
    assert found.phases[-1].parts == (("weights", 49.14),)


def test_a_graph_that_is_not_ready_has_no_end() -> None:
    assert of([graph(ready=None), worker(ready=None)]).ready is None
