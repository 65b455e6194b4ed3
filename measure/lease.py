"""Leases: a file for each stack that a running verb will take down, so that `ops reap` can do it instead.

A lease outlives a driver that was killed; it goes only when its stack is down.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from embedded.files import write_whole
from embedded.paths import PROJECT
from targets.errors import UserError

LEASES = PROJECT / ".leases"


class LeaseError(UserError):
    """The stack has a lease already."""


@dataclass(frozen=True, kw_only=True)
class Lease:
    """pid and began name the driver, for pids are used again. deadline: seconds since 1970 when it must be done.

    began: seconds after the machine's start, which a clock that is set leaves as they are.
    """

    stack: str
    embedded: bool
    pid: int
    began: float
    deadline: float

    def why_over(self) -> str:
        """Why the stack should be down by now; empty while its driver is at work and in time."""
        if time.time() > self.deadline:
            return "its benchmark's time is over"
        with suppress(psutil.NoSuchProcess):
            if _began(psutil.Process(self.pid)) == self.began:
                return ""
        return f"its driver, process {self.pid}, is gone"

    def release(self) -> None:
        """The stack is down."""
        _path(self.stack).unlink(missing_ok=True)
        with suppress(OSError):  # another stack's lease, or gone already
            LEASES.rmdir()


def take(stack: str, *, embedded: bool, seconds: float) -> Lease:
    """Write down that this process will take the stack down within `seconds`. Raises LeaseError if another will."""
    for other in leases():
        if other.stack == stack and not other.why_over():
            raise LeaseError(
                f"--stack: {stack} is being measured by process {other.pid}, which will take it down"
            )
    began = _began(psutil.Process())
    lease = Lease(
        stack=stack, embedded=embedded, pid=os.getpid(), began=began, deadline=time.time() + seconds
    )
    LEASES.mkdir(exist_ok=True)
    write_whole(_path(stack), json.dumps(asdict(lease)))
    return lease


def leases() -> Iterator[Lease]:
    """Every lease, by stack."""
    for path in sorted(LEASES.glob("*.json")):
        yield Lease(**json.loads(path.read_text()))


def _began(process: psutil.Process) -> float:
    """In hundredths, as the kernel counts it: both times are of the clock as it is set now."""
    return round(process.create_time() - psutil.boot_time(), 2)


def _path(stack: str) -> Path:
    return LEASES / f"{stack}.json"
