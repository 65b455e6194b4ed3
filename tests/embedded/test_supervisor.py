"""When the supervisor starts again what ends; with real graphs it is tried in test_dataplane.py."""

import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from embedded import endpoints, supervisor
from embedded.dynamo import DynamoError, Installation
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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def ended_frontend(state: Path) -> int:
    """Its pid, once it has ended."""
    pid = int(endpoints.read(state)[LONELY.key]["processes"]["frontend"])
    eventually(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    return pid


def test_what_ends_again_and_again_starts_again_after_growing_pauses(tmp_path: Path, clock: Clock) -> None:
    supervised = Supervisor(tmp_path, lambda _: Installation(Path(sys.executable), tmp_path, tmp_path))
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
