"""Locks of an embedded cluster: one `up` or `down` of a stack at a time, and no cluster is ended while it is in use.

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
def locked(stack: str, report: Report, state: Path) -> Iterator[None]:
    """For as long as the block runs no other `up` or `down` of the stack does; waits for one, and says so."""
    file = _file(state, f"-{stack}")
    with lock(file, report, f"another up or down of {stack}"):
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


@contextmanager
def in_use(report: Report, state: Path) -> Iterator[None]:
    """For as long as the block runs the cluster is `unused` for nobody else."""
    with lock(_file(state), report, "the end of this cluster", shared=True):
        yield


@contextmanager
def unused(state: Path) -> Iterator[bool]:
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
