"""The thread that looks."""

import threading
import time

import pytest

from ops.kubectl import KubectlError
from ops.watch.made import Made
from ops.watch.snapshot import Snapshot
from ops.watch.view import View
from ops.watch.watch import Watch
from tests.ops.watch.seen import existing, recorded
from tests.waiting import PATIENCE


def test_what_it_sees_is_shown_while_the_block_runs_and_once_more_at_its_end() -> None:
    views: list[View] = []
    first = threading.Event()

    def show(seen: View) -> None:
        views.append(seen)
        first.set()

    watch = Watch(existing().plan, lambda: recorded("full_pool"), show, embedded=True, made=Made(1))
    with watch.running():
        assert first.wait(PATIENCE)
        during = len(views)
        assert [reason.final for reason in watch.reasons()] == [True]
    assert len(views) > during


def test_a_reason_is_as_old_as_the_look_that_found_it() -> None:
    began: list[float] = []

    def look() -> Snapshot:
        began.append(time.monotonic())
        return recorded("full_pool")

    watch = Watch(existing().plan, look, lambda _: None, embedded=True, made=None)
    before = time.monotonic()
    watch.see()
    (reason,) = watch.reasons()
    assert reason.looked is not None
    assert before <= reason.looked <= began[0]


def test_a_look_that_outlasts_what_is_watched_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.watch.watch._LAST_SECONDS", 0)
    looking, answered = threading.Event(), threading.Event()

    def look() -> Snapshot:
        looking.set()
        assert answered.wait(PATIENCE)
        return recorded("full_pool")

    views: list[View] = []
    with Watch(existing().plan, look, views.append, embedded=True, made=None).running():
        assert looking.wait(PATIENCE)
        (thread,) = (each for each in threading.enumerate() if each.name == "watch")
    answered.set()
    thread.join()
    assert not views


def test_a_cluster_that_is_not_there_yet_or_does_not_answer_breaks_nothing_off() -> None:
    answers: list[Snapshot | Exception | None] = [None, KubectlError("no route"), recorded("no_class")]

    def look() -> Snapshot | None:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    views: list[View] = []
    watch = Watch(existing().plan, look, views.append, embedded=False, made=Made(1))
    for _ in range(3):
        watch.see()
    assert len(views) == 1
    assert str(watch.reasons()[0]).startswith("claim model-cache: StorageClass shared-rwx is not there")


def test_what_goes_wrong_in_looking_does_not_end_what_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda failed: failures.append(failed.exc_type))

    def look() -> Snapshot:
        raise KeyError("a field that nobody knows")

    with Watch(existing().plan, look, lambda _: None, embedded=False, made=None).running():
        pass
    assert failures == [KeyError]
