"""`ops reap`: stacks whose time is over go down, and one that is stuck keeps no other running."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ops import reap
from ops.pulumi import automation
from targets.errors import UserError

LATE, IN_TIME = datetime(2026, 1, 1, tzinfo=UTC), datetime.now(UTC) + timedelta(hours=1)


@dataclass
class Held:
    """A lease as `reap` sees it."""

    stack: str
    why: str
    embedded: bool = False
    released: bool = field(default=False)

    def why_over(self) -> str:
        return self.why

    def release(self) -> None:
        self.released = True


@dataclass(frozen=True)
class Summary:
    name: str
    resource_count: int = 5
    last_update: datetime | None = None


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What leases and Pulumi's backend know. ends: by stack, an error for one that cannot be read."""

    def know(
        leases: tuple[Held, ...] = (), ends: dict[str, Any] | None = None, empty: tuple[str, ...] = ()
    ) -> None:
        clocks = ends or {}

        def end(name: str, _: object) -> datetime | None:
            found: datetime | Exception | None = clocks[name]
            if isinstance(found, Exception):
                raise found
            return found

        there = [Summary(name, 0 if name in empty else 5) for name in clocks]
        monkeypatch.setattr(reap, "leases", lambda: iter(leases))
        monkeypatch.setattr(automation, "available", lambda: True)
        monkeypatch.setattr(automation, "summaries", lambda *_, **__: there)
        monkeypatch.setattr(reap, "stacks", lambda _: sorted(clocks))
        monkeypatch.setattr(reap, "_end", end)

    return know


def run(stack: str | None = None, stuck: str = "") -> tuple[list[str], list[str]]:
    """What is told, and what was taken down."""
    gone: list[str] = []

    def take_down(name: str, embedded: bool, _: object) -> None:
        if name == stuck:
            raise UserError("a finalizer is stuck")
        gone.append(f"{name}{' on the embedded cluster' if embedded else ''}")

    told = []
    try:
        for line in reap.reap(stack, lambda _: None, take_down=take_down):
            told.append(line)
    except reap.ReapError as error:
        told.append(f"ReapError: {error}")
    return told, gone


def test_nobody_elses_time_is_over(account: Callable[..., None]) -> None:
    account((Held("measured", ""),), {"prod": IN_TIME, "for-ever": None})
    assert run() == (["nothing is due"], [])


def test_what_is_late_goes_down_and_its_lease_with_it(account: Callable[..., None]) -> None:
    lease = Held("measured", "its driver, process 7, is gone", embedded=True)
    account((lease,), {"late": LATE, "prod": IN_TIME})
    told, gone = run()
    assert gone == ["measured on the embedded cluster", "late"]
    assert lease.released
    assert told == [
        "measured: its driver, process 7, is gone",
        "measured is down",
        "late: its tags.ttl was over at 2026-01-01 00:00 UTC",
        "late is down",
    ]


def test_a_stack_that_is_stuck_keeps_its_lease_and_no_other_running(account: Callable[..., None]) -> None:
    lease = Held("measured", "its benchmark's time is over")
    account((lease,), {"late": LATE})
    told, gone = run(stuck="measured")
    assert gone == ["late"]
    assert not lease.released, "the next reap tries again"
    assert told[-1] == "ReapError: measured: a finalizer is stuck"


def test_a_stack_that_cannot_be_read_is_told_after_the_others(account: Callable[..., None]) -> None:
    account((), {"broken": UserError("no such role"), "late": LATE})
    told, gone = run()
    assert gone == ["late"]
    assert told[-1] == "ReapError: broken: no such role"


def test_one_that_is_named_alone_goes(account: Callable[..., None]) -> None:
    account((), {"a": LATE, "b": LATE})
    assert run("b")[1] == ["b"]


def test_two_reasons_take_a_stack_down_once(account: Callable[..., None]) -> None:
    account((Held("late", "its benchmark's time is over"),), {"late": LATE})
    assert run()[1] == ["late"]


def test_a_stack_without_resources_is_not_asked_for_its_clock(account: Callable[..., None]) -> None:
    account((), {"empty": UserError("it was asked")}, empty=("empty",))
    assert run() == (["nothing is due"], [])
