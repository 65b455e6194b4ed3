"""Whatever ends a benchmark, its stack goes down: by the driver itself, or after kill -9 by `ops reap`.

The driver, its guard and its lease are the real ones, in a process of their own; the stack is a file and a process.
tests/embedded/test_benchmark.py has the same on an embedded cluster, with real AIPerf.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from measure import lease
from measure.description import commands
from ops import bench, reap, sites
from ops.stack.stack import find
from targets.errors import UserError
from tests.ops.bench_driver import Pretended
from tests.project import PROJECT
from tests.waiting import PATIENCE


@pytest.fixture(autouse=True)
def no_pulumi(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases alone say here what is due, whatever CLI this machine has and wherever that is logged in."""
    monkeypatch.setattr("ops.pulumi.automation.available", lambda: False)


class Driver:
    """The driver's process."""

    def __init__(self, folder: Path, way: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.ops.bench_driver", str(folder), way],
            cwd=PROJECT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def until(self, happened: Callable[[], bool]) -> None:
        while not happened():
            assert self.process.poll() is None, self.process.communicate()[0]
            time.sleep(0.01)

    def until_there(self, name: str) -> int:
        """Waits for a file; returns the pid of what is deployed."""
        self.until((self.folder / name).exists)
        self.until(lambda: bool((self.folder / "deployed").read_text()))
        return int((self.folder / "deployed").read_text())

    def ended(self) -> tuple[int, str]:
        said, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said

    def problem(self) -> str:
        return str(json.loads((self.folder / "run" / "run.json").read_text())["problem"])

    def nothing_left(self) -> bool:
        return not (self.folder / "deployed").exists() and not (self.folder / "leases").exists()


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Callable[[str], Driver]]:
    started: list[Driver] = []

    def start(way: str) -> Driver:
        started.append(Driver(tmp_path, way))
        return started[-1]

    yield start
    for driver in started:
        driver.process.kill()
        driver.process.wait()
        if (driver.folder / "deployed").exists():
            Pretended(driver.folder, "").down()


def is_gone(pid: int) -> bool:
    """Whether the process has ended, or does within seconds of a signal that it was sent; a zombie has."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if is_ended(pid):
            return True
        time.sleep(0.01)
    return False


def is_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_success(drive: Callable[[str], Driver]) -> None:
    driver = drive("success")
    assert driver.ended()[0] == 0
    assert driver.nothing_left()
    assert driver.problem() == ""


def test_failure(drive: Callable[[str], Driver]) -> None:
    driver = drive("failure")
    code, said = driver.ended()
    assert code == 1
    assert said.endswith("error: AIPerf ended with code 1\n")
    assert driver.nothing_left()
    assert driver.problem() == "AIPerf ended with code 1"


def test_timeout(drive: Callable[[str], Driver]) -> None:
    driver = drive("timeout")
    code, said = driver.ended()
    assert code == 1
    assert said.endswith("error: the time limit of 5 s is over\n")
    assert (driver.folder / "measuring").exists()
    assert driver.nothing_left()


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=str,
)
def test_ctrl_c_and_sigterm(drive: Callable[[str], Driver], number: int, code: int) -> None:
    driver = drive("hang")
    pid = driver.until_there("measuring")
    driver.process.send_signal(number)
    ended, said = driver.ended()
    assert ended == code
    assert said.endswith(f"error: ended by {signal.Signals(number).name}\n")
    assert driver.nothing_left()
    assert is_gone(pid)
    assert driver.problem() == f"ended by {signal.Signals(number).name}"


def test_a_second_ctrl_c_does_not_stop_the_teardown(drive: Callable[[str], Driver]) -> None:
    driver = drive("impatient")
    driver.until_there("measuring")
    driver.process.send_signal(signal.SIGINT)
    driver.until((driver.folder / "going down").exists)
    driver.process.send_signal(signal.SIGINT)
    driver.process.send_signal(signal.SIGTERM)
    (driver.folder / "signalled").touch()
    code, said = driver.ended()
    assert code == 130
    assert "SIGINT: the teardown is under way and is not broken off; please wait" in said
    assert driver.nothing_left()


def test_an_engine_that_deploys_may_end_what_it_has_begun(drive: Callable[[str], Driver]) -> None:
    driver = drive("engine")
    driver.until_there("measuring")
    driver.process.send_signal(signal.SIGTERM)
    code, said = driver.ended()
    assert code == 143
    assert said.endswith("error: ended by SIGTERM\n")
    assert (driver.folder / "finished").exists()
    assert driver.nothing_left()
    assert driver.problem() == "ended by SIGTERM"


def test_kill_9_is_repaired_by_reap(drive: Callable[[str], Driver], monkeypatch: pytest.MonkeyPatch) -> None:
    driver = drive("hang")
    pid = driver.until_there("measuring")
    monkeypatch.setattr(lease, "LEASES", driver.folder / "leases")
    assert list(reap.due(print)) == []
    assert list(reap.reap(None, print)) == ["nothing is due"]

    driver.process.kill()
    driver.process.wait()
    assert not driver.nothing_left()
    assert not is_ended(pid)
    told = []

    def take_down(stack: str, embedded: bool, _: object) -> None:
        told.append((stack, embedded))
        Pretended(driver.folder, "").down()

    said = list(reap.reap(None, print, take_down=take_down))
    assert said == [f"pretended: its driver, process {driver.process.pid}, is gone", "pretended is down"]
    assert told == [("pretended", True)]
    assert driver.nothing_left()
    assert is_gone(pid)
    assert list(reap.reap(None, print)) == ["nothing is due"]


def test_a_stack_that_was_up_before_stays_up_without_the_measurings_own_objects(
    drive: Callable[[str], Driver],
) -> None:
    driver = drive("kept")
    driver.until_there("measuring")
    driver.process.send_signal(signal.SIGTERM)
    assert driver.ended()[0] == 143
    assert (driver.folder / "deployed").exists()
    assert (driver.folder / "cleaned").exists()
    assert not (driver.folder / "leases").exists()


def test_a_lease_is_over_when_its_time_is_though_its_driver_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "LEASES", tmp_path)
    assert lease.take("one", embedded=False, seconds=60).why_over() == ""
    assert lease.take("two", embedded=False, seconds=-1).why_over() == "its benchmark's time is over"


def test_a_clock_that_is_set_ends_no_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASES", tmp_path)
    held = lease.take("one", embedded=False, seconds=60)
    began, started = psutil.Process().create_time(), psutil.boot_time()
    # psutil reckons both back from the clock as it is now.
    monkeypatch.setattr(psutil.Process, "create_time", lambda _: began + 30)
    monkeypatch.setattr(psutil, "boot_time", lambda: started + 30)
    assert held.why_over() == ""


def test_a_stack_is_measured_by_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASES", tmp_path / "leases")
    held = lease.take("one", embedded=False, seconds=60)
    with pytest.raises(lease.LeaseError, match=f"one is being measured by process {os.getpid()}"):
        lease.take("one", embedded=False, seconds=60)
    lease.take("two", embedded=False, seconds=60).release()
    held.release()
    lease.take("one", embedded=False, seconds=60)


def test_a_pid_that_is_used_again_is_no_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASES", tmp_path)
    lease.take("one", embedded=False, seconds=60)
    path = tmp_path / "one.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"began": 1.0}))
    (held,) = lease.leases()
    assert held.why_over() == f"its driver, process {os.getpid()}, is gone"


def test_a_stack_that_is_stuck_keeps_its_lease_and_the_others_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "LEASES", tmp_path)
    for stack in ("one", "two"):
        lease.take(stack, embedded=False, seconds=-1)

    def take_down(stack: str, *_: object) -> None:
        if stack == "one":
            raise UserError("a finalizer is stuck")

    with pytest.raises(reap.ReapError, match="one: a finalizer is stuck"):
        list(reap.reap(None, print, take_down=take_down))
    assert [held.stack for held in lease.leases()] == ["one"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--stack", "dev", "--sweep", "1,x"],
            "'1,x': whole numbers with commas between them, for example 1,8,64",
        ),
        ([], "say which stack"),
        (["--stack", "dev", "--repetitions", "0"], "--repetitions"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: list[str], says: str) -> None:
    done = CliRunner().invoke(bench.app, options, env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert says in done.output


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"shape": "9/9"}, "benchmark.shape: '9/9' is no shape here; choose one of 1024/128, 128/1000, "),
        ({"sweep": (0,)}, "--sweep: 0: Input should be greater than or equal to 1"),
        ({"sweep": (4, 4)}, "sweep names a concurrency twice; raise repetitions instead"),
    ],
)
def test_loads_that_make_no_sense_are_refused(chosen: dict[str, object], says: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        sites.measure(
            "dev", chosen, embedded=False, teardown=True, seconds=1, out=tmp_path / "run", report=print
        )
    assert says in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_commands_are_printed_for_both_tools() -> None:
    (aiperf,) = commands(find("disagg-b200").plan, "aiperf")
    assert aiperf.startswith("aiperf profile --model openai/gpt-oss-120b --tokenizer /opt/models/hub/")
    assert "--artifact-dir /tmp/benchmark-results/" in aiperf
    note, genai = commands(find("disagg-b200").plan, "genai-perf")
    assert note.startswith("# For the container of Dynamo 0.4; from PyPI it does not run")
    assert genai.startswith("genai-perf profile ")
