"""Moments that were known stay known."""

from ops.rollout.observed import Observed, merge, observe
from tests.ops.rollout.rollouts import (
    GRAPH,
    IMAGE,
    at,
    container,
    graph,
    job,
    node,
    pod,
    pulled,
    whole,
    worker,
)


def test_objects_become_moments() -> None:
    seen = observe(whole())
    assert seen.graphs["g1"].ready == at(31)
    assert (seen.jobs["job"].started, seen.jobs["job"].completed) == (at(2), at(14))
    assert (seen.nodes["gpu-0"].created, seen.nodes["gpu-0"].ready, seen.nodes["gpu-0"].gpus) == (
        at(15),
        at(16),
        8,
    )
    assert seen.nodes["cpu-0"].gpus is None
    found = seen.pods["decode-0"]
    assert (found.of, found.role, found.gpus, found.node) == (GRAPH, "decode", 8, "gpu-0")
    assert (found.created, found.scheduled, found.ready) == (at(9.5), at(17.5), at(30.8))
    assert found.containers["main"].image == IMAGE
    assert found.containers["main"].started == at(21.8)
    assert [each.seconds for each in seen.pulls.values()] == [252.0]


def test_it_is_the_same_after_it_was_written_and_read() -> None:
    seen = observe(whole())
    assert Observed.model_validate_json(seen.model_dump_json()) == seen


def test_what_is_gone_stays_known() -> None:
    before = observe(whole())
    assert merge(before, observe([graph()])) == before


def test_a_later_moment_does_not_take_an_earlier_ones_place() -> None:
    before = observe([graph(ready=31), worker(), node("gpu-0", 15, 16, gpus=8)])
    later = observe([graph(ready=90), worker(started=80, ready=89), node("gpu-0", 15, 70, gpus=8)])
    assert merge(before, later) == before


def test_what_was_not_known_is_filled_in() -> None:
    early = observe([graph(ready=None), job(2, None), worker(ready=None), node("gpu-0", 15, 16)])
    late = observe([graph(), job(2, 14), worker(), node("gpu-0", 15, 16, gpus=8)])
    assert merge(early, late) == late


def test_a_container_that_restarted_began_when_it_first_did() -> None:
    again = container("main", IMAGE, 28)
    again["lastState"] = {"terminated": {"startedAt": at(21).isoformat(), "finishedAt": at(27).isoformat()}}
    assert observe([pod("decode-0", again)]).pods["decode-0"].containers["main"].started == at(21)


def test_another_graph_is_another_rollout() -> None:
    before = observe([*whole(), pulled(3)])
    now = observe([graph(made=100, ready=110, uid="g2")])
    assert merge(before, now) == now


def test_of_two_ups_and_two_blocks_those_of_the_graph_are_kept() -> None:
    first = Observed(began=at(-2880), block=at(-1440))
    for graphs in ([graph(made=9)], []):
        found = merge(first, merge(observe(graphs), Observed(began=at(5), block=at(8))))
        assert (found.began, found.block) == (at(5), at(8))


def test_an_up_of_a_graph_that_is_there_begins_nothing() -> None:
    first = merge(observe([graph(made=9)]), Observed(began=at(5)))
    assert merge(first, Observed(began=at(600))).began == at(5)
    assert merge(observe([graph(made=9)]), Observed(began=at(600))).began == at(600)
