"""Locks that updates hold on stacks, and those that dead ones left."""

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import psutil
from pulumi import automation

from embedded.processes import Report
from ops.pulumi.command import explain_failure
from targets.errors import UserError

Result = TypeVar("Result")
_LOCK = re.compile(r"created by (\S+)@(\S+) \(pid (\d+)\) at (\S+)")


class LockedError(UserError):
    """Somebody else is changing the stack."""


@dataclass(frozen=True)
class Holder:
    """Who locked a stack of a file or bucket backend, as Pulumi says it."""

    user: str
    host: str
    pid: str
    since: str

    def may_live(self) -> bool:
        """Whether it may still be at work; of another machine's processes nobody here can know."""
        if self.host != socket.gethostname():
            return True
        try:
            return "pulumi" in psutil.Process(int(self.pid)).name()  # a pid is given again
        except psutil.NoSuchProcess:
            return False

    def __str__(self) -> str:
        return f"{self.user}@{self.host} (process {self.pid}, since {self.since})"


def run_unlocked(stack: automation.Stack, what: str, report: Report, work: Callable[[], Result]) -> Result:
    """The work's result; a lock that a dead process of this machine left is taken away first. Raises LockedError."""
    try:
        with explain_failure(what):
            return work()
    except automation.ConcurrentUpdateError as held:
        holders = _holders(held)
        if not holders or any(holder.may_live() for holder in holders):
            raise _locked_error(stack, held) from None
    report(f"taking away the lock of {', '.join(map(str, holders))}: that process is gone")
    stack.cancel()
    try:
        with explain_failure(what):
            return work()
    except automation.ConcurrentUpdateError as held:
        raise _locked_error(stack, held) from None


def _holders(held: automation.ConcurrentUpdateError) -> list[Holder]:
    return [Holder(*found) for found in _LOCK.findall(str(held))]


def _locked_error(stack: automation.Stack, held: automation.ConcurrentUpdateError) -> LockedError:
    who = ", ".join(map(str, _holders(held))) or "another update"
    # Where the state is not in the backend that the user's own CLI is logged in to.
    chosen = {
        key: stack.workspace.env_vars.get(key) for key in ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE")
    }
    there = "".join(f"{key}={text} " for key, text in chosen.items() if text is not None)
    return LockedError(
        f"--stack: {stack.name} is being changed by {who}; wait for it, or end it "
        f"and run `{there}pulumi cancel {stack.name}`"
    )
