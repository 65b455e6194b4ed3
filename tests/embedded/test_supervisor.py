"""When the supervisor starts again what ends; with real graphs it is tried in test_dataplane.py."""

import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from embedded import endpoints, processes, supervisor
from embedded.dynamo import DynamoError, Installation
from embedded.paths import PROJECT
from embedded.supervisor import Supervisor
from tests.live import graph
from tests.waiting import eventually

LONELY = graph("lonely")
"""It has no workers, and a frontend that ends at once: this Python has no Dynamo."""


class Clock:
    """Of the supervisor."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(supervisor, "time", SimpleNamespace(monotonic=lambda: self.now))


def supervise(state: Path, port: int = endpoints.USUAL_PORT) -> Supervisor:
    """With what stands in for a release: this Python."""
    state.mkdir(exist_ok=True)
    return Supervisor(state, lambda _: Installation(Path(sys.executable), state, state), port=port)


def port_given(supervised: Supervisor, state: Path) -> int:
    """To the lonely graph."""
    supervised.step([LONELY])
    return int(endpoints.read(state)[LONELY.key]["url"].rpartition(":")[2])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def ended_frontend(state: Path) -> int:
    """Its pid, once it has ended."""
    pid = int(endpoints.read(state)[LONELY.key]["processes"]["frontend"])
    eventually(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    return pid


def test_what_ends_again_and_again_starts_again_after_growing_pauses(tmp_path: Path, clock: Clock) -> None:
    supervised = supervise(tmp_path)
    supervised.step([LONELY])
    for pause in (0.5, 1.0, 2.0, 4.0, 8.0, 8.0):
        before = ended_frontend(tmp_path)
        clock.now += pause - 0.1
        supervised.step([LONELY])
        assert ended_frontend(tmp_path) == before, f"before the {pause} s are over"
        clock.now += 0.2
        supervised.step([LONELY])
        assert ended_frontend(tmp_path) != before
    for since in (31, 0.6):
        before = ended_frontend(tmp_path)
        clock.now += since
        supervised.step([LONELY])
        assert ended_frontend(tmp_path) != before, "after a long life the first pause is the shortest again"
    supervised.close()
    assert endpoints.read(tmp_path) == {}


def test_a_release_that_cannot_be_installed_is_tried_again_after_a_minute(
    tmp_path: Path, clock: Clock
) -> None:
    tries: list[str] = []

    def install(release: str) -> Installation:
        tries.append(release)
        raise DynamoError("no room left")

    supervised = Supervisor(tmp_path, install)
    for seconds in (0, 59, 2):
        clock.now += seconds
        supervised.step([LONELY])
        assert endpoints.read(tmp_path)[LONELY.key]["reason"] == "no room left"
    assert tries == [LONELY.release] * 2


def test_a_port_is_one_supervisors_before_anything_listens_on_it(tmp_path: Path) -> None:
    (port,) = processes.free_ports(1)
    first, second = supervise(tmp_path / "first", port), supervise(tmp_path / "second", port)
    assert port_given(first, tmp_path / "first") == port
    assert port_given(second, tmp_path / "second") != port
    first.close()
    third = supervise(tmp_path / "third", port)
    assert port_given(third, tmp_path / "third") == port, "its graph gone, a port is free again"
    second.close()
    third.close()


def test_a_strangers_port_is_not_given(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        supervised = supervise(tmp_path, port)
        assert port_given(supervised, tmp_path) != port
        supervised.close()


def test_a_graph_that_cannot_be_run_keeps_no_port_from_others(tmp_path: Path) -> None:
    (port,) = processes.free_ports(1)
    first, second = supervise(tmp_path / "first", port), supervise(tmp_path / "second", port)
    assert port_given(first, tmp_path / "first") == port

    def refuse(release: str) -> Installation:
        raise DynamoError(f"{release} is not run here")

    first._install = refuse
    first.step([replace(LONELY, release="0.0.1")])
    assert port_given(second, tmp_path / "second") == port
    first.close()
    second.close()


def test_a_killed_supervisors_port_is_free_again(tmp_path: Path) -> None:
    (port,) = processes.free_ports(1)
    code = (
        "import time; from pathlib import Path; from tests.embedded.test_supervisor import port_given, supervise; "
        f"state = Path({str(tmp_path / 'killed')!r}); "
        f"supervised = supervise(state, {port}); print(port_given(supervised, state), flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    ) as other:
        try:
            assert other.stdout
            assert int(other.stdout.readline()) == port
            beside = supervise(tmp_path / "beside", port)
            assert port_given(beside, tmp_path / "beside") != port
            beside.close()
        finally:
            other.kill()
    after = supervise(tmp_path / "after", port)
    assert port_given(after, tmp_path / "after") == port
    after.close()
