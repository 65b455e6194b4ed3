"""Locks of updates: one that a dead process left is taken away, one of anybody else's never."""

import os
import socket
from dataclasses import dataclass, field

import pytest
from pulumi import automation
from pulumi.automation.errors import create_command_error

from ops.pulumi.locks import Holder, LockedError, run_unlocked

GONE = 2**22 + 1
"""Above what Linux ever gives to a process."""


@dataclass
class Workspace:
    env_vars: dict[str, str] = field(default_factory=dict)


@dataclass
class Stack:
    """A stack that is locked by some processes until it is cancelled."""

    holders: list[str]
    comes_back: bool = False
    name: str = "dev"
    workspace: Workspace = field(default_factory=Workspace)
    cancelled: int = 0

    def cancel(self) -> None:
        self.cancelled += 1
        if not self.comes_back:
            self.holders = []

    def work(self) -> str:
        if self.holders:
            locks = "\n".join(
                f"  /locks/x.json: created by {each} at 2026-11-22T10:00:00Z" for each in self.holders
            )
            text = f"error: the stack is currently locked by {len(self.holders)} lock(s).\n{locks}"
            raise create_command_error(automation.CommandResult(stdout="", stderr=text, code=255))
        return "done"


def run(stack: Stack) -> tuple[str, list[str]]:
    told: list[str] = []
    return run_unlocked(stack, "deploy", told.append, stack.work), told  # type: ignore[arg-type]


def here(pid: int) -> str:
    return f"me@{socket.gethostname()} (pid {pid})"


def test_nothing_is_taken_away_where_nothing_is_locked() -> None:
    stack = Stack([])
    assert run(stack) == ("done", [])
    assert not stack.cancelled


def test_the_lock_of_a_dead_process_of_this_machine_is_taken_away() -> None:
    stack = Stack([here(GONE)])
    result, (told,) = run(stack)
    assert (result, stack.cancelled) == ("done", 1)
    assert told == (
        f"taking away the lock of me@{socket.gethostname()} (process {GONE}, since 2026-11-22T10:00:00Z): that process "
        "is gone"
    )


@pytest.mark.parametrize(
    "other", ["them@elsewhere (pid 7)", None], ids=["another machine", "a holder not named"]
)
def test_a_lock_that_may_be_alive_is_left(other: str | None) -> None:
    stack = Stack([other] if other else ["nobody that Pulumi names"])
    with pytest.raises(LockedError, match="is being changed by"):
        run(stack)
    assert not stack.cancelled


def test_one_living_holder_among_dead_ones_keeps_all_locks() -> None:
    stack = Stack([here(GONE), "them@elsewhere (pid 7)"])
    with pytest.raises(LockedError):
        run(stack)
    assert not stack.cancelled


def test_who_is_faster_after_the_lock_went_is_waited_for() -> None:
    stack = Stack([here(GONE)], comes_back=True)
    with pytest.raises(LockedError):
        run(stack)
    assert stack.cancelled == 1


def test_the_message_has_the_command_that_finds_the_state() -> None:
    stack = Stack(["them@elsewhere (pid 7)"])
    stack.workspace.env_vars["PULUMI_BACKEND_URL"] = "file:///state"
    with pytest.raises(LockedError) as error:
        run(stack)
    assert str(error.value) == (
        "--stack: dev is being changed by them@elsewhere (process 7, since 2026-11-22T10:00:00Z); wait for it, or end "
        "it and run `PULUMI_BACKEND_URL=file:///state pulumi cancel dev`"
    )


def test_a_pid_that_was_given_again_is_no_living_pulumi() -> None:
    """This very process is there, and is none."""
    assert not Holder("me", socket.gethostname(), str(os.getpid()), "now").may_live()
