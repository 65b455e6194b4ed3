"""Whole benchmark sessions on an embedded cluster of their own: real control plane, Dynamo and AIPerf."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from embedded import cluster
from embedded.paths import PROJECT
from embedded.processes import Report
from measure import lease
from measure.results import load as load_results
from ops import reap
from ops.deploy import deploy
from ops.pulumi import automation
from ops.stack.stack import find
from tests.embedded import bench_session
from tests.waiting import PATIENCE

pytestmark = pytest.mark.xdist_group("bench")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(lease, "LEASES", tmp_path / "leases")
    monkeypatch.setattr(automation, "available", lambda: False)
    yield tmp_path / "cluster" / "state"
    cluster.stop(print, tmp_path / "cluster" / "state")


def processes_of(folder: Path) -> list[psutil.Process]:
    """Processes whose command line names something below the folder."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if process.pid != psutil.Process().pid and any(str(folder) in word for word in words):
            found.append(process)
    return found


def test_a_session_leaves_a_report_and_nothing_else(state: Path, tmp_path: Path) -> None:
    folder = bench_session.measure(state, tmp_path / "run")
    measured = load_results(folder)
    assert measured.concurrencies == (1, 4)
    assert measured.missing == ()
    assert measured.run.problem == ""
    assert measured.run.simulated
    assert {path.name for path in folder.iterdir()} == {
        "plots",
        "raw",
        "report.html",
        "report.md",
        "rollout.json",
        "run.json",
    }
    assert not state.exists()
    assert processes_of(tmp_path) == []
    assert list(lease.leases()) == []


def test_after_kill_9_aiperf_ends_by_itself_and_reap_does_the_rest(
    state: Path, tmp_path: Path, short_path: Path
) -> None:
    out, said = tmp_path / "run", tmp_path / "said.txt"
    arguments = [str(state), str(out), str(lease.LEASES)]
    with said.open("w") as log:
        driver = subprocess.Popen(
            [sys.executable, "-m", "tests.embedded.bench_session", *arguments],
            cwd=PROJECT,
            env={**os.environ, "TMPDIR": str(short_path)},
            stdout=log,
            stderr=log,
        )
    deadline = time.monotonic() + PATIENCE
    while not list(out.glob("raw/*/logs/aiperf.log")):
        assert driver.poll() is None and time.monotonic() < deadline, said.read_text()
        time.sleep(0.1)
    driver.send_signal(signal.SIGKILL)
    driver.wait()

    left = [process for process in processes_of(out) if process.is_running()]
    psutil.wait_procs(left, timeout=PATIENCE)
    assert processes_of(out) == []
    assert cluster.is_running(state), "what costs money on a real cluster runs on"

    def take_down(stack: str, embedded: bool, report: Report) -> None:
        deploy.down(find(stack, embedded=embedded), report, state=state)

    lines = list(reap.reap(None, print, take_down=take_down))
    assert lines == [f"dev: its driver, process {driver.pid}, is gone", "dev is down"]
    assert not state.exists()
    assert processes_of(tmp_path) == []
    assert list(lease.leases()) == []
