"""Verification on real frontends of the oldest, the default and the newest release, healthy and broken."""

from collections.abc import Iterator
from dataclasses import replace

import psutil
import pytest

from embedded import dynamo
from embedded.dynamo_graph import ENGINE, Graph
from facts.releases import DEFAULT, LATEST_PATCH
from pods.verification.advice import ADVICE
from pods.verification.checks import verify
from pods.verification.expectation import Expectation
from pods.verification.results import FAILED, SKIPPED, Result
from tests.live import AT_ONCE, MODEL, PARSERS, DataPlane, graph, installed, started, worker
from tests.waiting import PATIENCE

RUNNABLE = [release for release in LATEST_PATCH.values() if not dynamo.unavailable(release)]
RELEASES = sorted({*RUNNABLE[:1], DEFAULT, *RUNNABLE[-1:]})

pytestmark = pytest.mark.xdist_group("live-verify-releases")


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def plane(release: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataPlane]:
    plane = started(tmp_path_factory.mktemp(release) / "state", (*ENGINE, *AT_ONCE))
    yield plane
    plane.supervisor.close()


def disaggregated(release: str, router: str = "round-robin", name: str = "disagg") -> Graph:
    return graph(f"{name}-{router}", worker("prefill"), worker("decode"), router=router, release=release)


def aggregated(release: str, router: str = "round-robin", parsers: tuple[str, ...] = PARSERS) -> Graph:
    name = f"agg-{router}{len(parsers)}{parsers[0][6] if parsers else ''}"
    return graph(name, worker("agg", parsers=parsers), router=router, release=release)


def expected(served: Graph, model: str = MODEL) -> Expectation:
    roles = tuple("worker" if each.role == "agg" else each.role for each in served.workers)
    return Expectation(
        model,
        roles,
        "prefill" in roles,
        version=served.release,
        router_mode=served.frontend[served.frontend.index("--router-mode") + 1],
        engine="vllm",
    )


def verified(plane: DataPlane, served: Graph, model: str = MODEL) -> list[Result]:
    return list(verify(plane.url(served), expected(served, model), request_timeout=PATIENCE))


def causes(results: list[Result]) -> dict[str, str]:
    """By name of a check that failed: the key of the advice that was given."""
    by_advice = {said: cause for cause, said in ADVICE.items()}
    return {one.name: by_advice[one.meaning, one.next_step] for one in results if one.outcome == FAILED}


def test_healthy_graphs_pass(plane: DataPlane, release: str) -> None:
    graphs = [
        shape(release, router) for shape in (disaggregated, aggregated) for router in ("round-robin", "kv")
    ]
    plane.serve(*graphs)
    for served in graphs:
        results = verified(plane, served)
        assert causes(results) == {}, served.name
        skipped = {result.name for result in results if result.outcome == SKIPPED}
        old = expected(served).release < (1, 3)
        told = {"ready"} if old else set()
        if expected(served).disaggregated:
            told |= {"kv transfer"}
            told |= {"disaggregated"} if old and expected(served).router_mode != "kv" else set()
        assert skipped == told, served.name


def test_broken_graphs_are_named(plane: DataPlane, release: str) -> None:
    dying, leaving = disaggregated(release, name="dying"), disaggregated(release, name="leaving")
    without_reasoning = aggregated(release, parsers=PARSERS[2:])
    without_tools = aggregated(release, parsers=PARSERS[:2])
    plane.serve(dying, leaving, without_reasoning, without_tools)
    assert causes(verified(plane, without_reasoning)) == {"reasoning": "no reasoning"}
    assert causes(verified(plane, without_tools)) == {"tools": "no tool call"}
    assert causes(verified(plane, dying, "openai/gpt-oss-20b")) == {"models": "other model"}
    plane.kill(dying, "decode-0")
    plane.keep_registrations()
    assert causes(verified(plane, dying)) == {"chat": "not served"}
    gone = psutil.Process(plane.pid(leaving, "prefill-0"))
    plane.supervisor.step([replace(leaving, workers=(worker("decode"),))])
    gone.wait(timeout=PATIENCE)
    assert causes(verified(plane, leaving)) == {"roles": "role missing"}


def test_a_frontend_without_the_vocabulary_is_named(
    release: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("vocabulary")
    (folder / "empty").mkdir()
    without = replace(installed(release), vocabulary=folder / "empty")
    plane = started(folder / "state", (*ENGINE, *AT_ONCE), lambda _: without)
    served = aggregated(release)
    try:
        plane.serve(served)
        assert causes(verified(plane, served)) == {"reasoning": "no reasoning", "tools": "no tool call"}
    finally:
        plane.supervisor.close()
