"""AIPerf in its own environment, and a run that it measured on a live graph; each once for the whole session."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from embedded.dynamo_graph import ENGINE
from manifests.benchmark import job as benchmark
from measure import aiperf
from measure import driver as measure
from measure.local import run_script
from measure.results import Results
from measure.results import load as load_results
from measure.run import RAW
from tests.live import DISAGGREGATED, NEWEST, installed, started
from tests.measure import measured as runs
from tests.waiting import PATIENCE


@pytest.fixture(scope="session")
def aiperf_python() -> Path:
    """The interpreter that has AIPerf: the first time two minutes, then none."""
    return aiperf.install(print)


@pytest.fixture(scope="session")
def live_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A disaggregated graph of the real Dynamo, whose scripted engines take their usual time."""
    plane = started(tmp_path_factory.mktemp("bench") / "state", ENGINE)
    plane.serve(DISAGGREGATED)
    yield plane.url(DISAGGREGATED)
    plane.supervisor.close()


@pytest.fixture(scope="session")
def measured(aiperf_python: Path, live_url: str, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A run of two points, measured by AIPerf as the Job measures."""
    folder = tmp_path_factory.mktemp("run") / "measured"
    (folder / RAW).mkdir(parents=True)
    plan = benchmark.run_plan(
        runs.POINTS,
        url=live_url,
        tokenizer=str(installed(NEWEST).model),
        results=str(folder / RAW),
        ready_seconds=PATIENCE,
        limit_seconds=2 * PATIENCE,
    )
    run_script(aiperf_python, plan, print)
    replace(runs.described(), ended=measure.now()).write(folder)
    return load_results(folder)
