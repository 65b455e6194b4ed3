"""Turns on an embedded cluster: one `up` or `down` of a stack at a time, and no cluster is ended under another's feet.

Pulumi's backends have locks of their own, the cluster has none. The files are not in its state folder, which ends with
the last stack. A lock ends with its process; who has one alone takes its file away.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from embedded.paths import CACHE
from embedded.processes import Report, hold, lock


@contextmanager
def turn(stack: str, report: Report, state: Path) -> Iterator[None]:
    """That of an `up` or `down` of the stack; waits for another one's end, and says so."""
    file = _file(state, f"-{stack}")
    with lock(file, report, f"another up or down of {stack}"):
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


@contextmanager
def use(report: Report, state: Path) -> Iterator[None]:
    """For as long as the block runs nobody else is `last` on the cluster."""
    with lock(_file(state), report, "the end of this cluster", shared=True):
        yield


@contextmanager
def last(state: Path) -> Iterator[bool]:
    """Whether nobody uses the cluster; then nobody begins to, for as long as the block runs."""
    file = _file(state)
    try:
        handle = hold(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
        return
    try:
        yield True
    finally:
        file.unlink(missing_ok=True)
        os.close(handle)


def _file(state: Path, of: str = "") -> Path:
    """Not of the stack's name alone: tests and copies of the project have clusters of their own."""
    locks = CACHE / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    return locks / f"{hashlib.sha256(os.fsencode(state.resolve())).hexdigest()[:16]}{of}.lock"
