"""What `bench` says at its end. The figures are made up; that figures are AIPerf's own is test_results.py's."""

import json
from pathlib import Path

from measure.headline import data, lines
from measure.results import Distribution, Energy, MeasuredPoint, Requests, Results
from measure.run import Load
from tests.measure import measured as runs


def point(concurrency: int, tokens_per_second: float, failed: int = 0) -> MeasuredPoint:
    flat = Distribution(**dict.fromkeys(Distribution.__dataclass_fields__, 33.4))
    return MeasuredPoint(
        name=f"c{concurrency:05d}-r1",
        load=Load(isl=64, osl=16, concurrency=concurrency, requests=24, warmup=2, dataset_entries=24, seed=1),
        tokens_per_second=tokens_per_second,
        input_tokens_per_second=1.0,
        per_user=flat,
        ttft=flat,
        itl=flat,
        latency=flat,
        requests=Requests(ok=24 - failed, failed=failed, errors=(), per_second=1.0),
        output_tokens=100,
        seconds=1.0,
        energy=Energy(joules=None, watts=None),
    )


def results(*points: MeasuredPoint, simulated: str = "") -> Results:
    return Results(Path("run"), runs.described(simulated=simulated), points)


def test_the_best_point_is_told_with_its_price() -> None:
    assert list(lines(results(point(1, 500.0), point(4, 1968.0)))) == [
        "concurrency 4, the best of 2 points: 1,968 tokens/s, 246 a GPU, 33 a user, 33 ms to the first token (p50), "
        "33 ms between tokens (p50), 16 USD a million output tokens"
    ]


def test_what_casts_doubt_is_told_too() -> None:
    said = list(lines(results(point(1, 500.0, failed=3), simulated="engines (scripted)")))
    assert said[1:] == ["3 requests failed", "not measured: c00004-r1", "SIMULATED: engines (scripted)"]
    assert list(lines(results())) == ["nothing was measured"]


def test_for_programs_it_is_data() -> None:
    found = data(results(point(1, 500.0), point(4, 1968.0)))
    assert json.loads(json.dumps(found)) == found
    assert found["best"] == "c00004-r1"
    assert found["points"]["c00001-r1"]["throughput"] == 500.0
    assert data(results())["best"] is None
