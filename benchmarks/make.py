"""What a user waits for: `make up` on a machine that has nothing yet, and `make test`.

In a clone of the last commit, with a home of its own: nothing is installed, built or cached there at first. By the
clock; what packages and Go modules take to download is in it.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from benchmarks.cpu_time import PROJECT
from benchmarks.figures import Figure
from ops.pulumi import interruption

MOST_SECONDS = 480.0
AGAIN_SECONDS = 60.0
"""Between two signals to a `make` that is to end: longer than its tests take to stop their clusters."""
_CACHES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "GOPATH", "GOCACHE", "GOMODCACHE", "PIP_CACHE_DIR")
"""Variables that say where something is cached, if not at home."""
_OF_ANOTHER_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "ARGS", "PYTHON", "STACK")
"""What a `make` that runs this hands down; the clone's shall not obey."""


def figures(rounds: int) -> Iterator[Figure]:
    """One round, whatever is asked for: the second would find everything built."""
    del rounds
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        clone = Path(folder) / "project"
        subprocess.run(["git", "clone", "--quiet", PROJECT, clone], check=True)
        left_out = {*_CACHES, *_OF_ANOTHER_MAKE}
        kept = {name: value for name, value in os.environ.items() if name not in left_out}
        environment = {**kept, "HOME": folder}
        with _taken_down(clone, environment):
            yield _figure("make up, nothing installed", _make(clone, environment, "up"), most=MOST_SECONDS)
            yield _figure("make up, no change", _make(clone, environment, "up"))
        # Lint, types and the environments of the policy pack and of the site, then the collection of the tests.
        _make(clone, environment, "test", "ARGS=--collect-only --quiet")
        yield _figure("make test, again", _make(clone, environment, "test"), most=MOST_SECONDS)


def _figure(name: str, seconds: float, *, most: float | None = None) -> Figure:
    return Figure(name=name, value=seconds, unit="s", most=most)


def _make(clone: Path, environment: Mapping[str, str], *arguments: str) -> float:
    """Seconds of `make`; its output goes to stderr. Raises CalledProcessError."""
    began = time.monotonic()
    with _signals_blocked() as mask:
        process = subprocess.Popen(
            ["make", *arguments],
            cwd=clone,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            process_group=0,
            preexec_fn=partial(signal.pthread_sigmask, signal.SIG_SETMASK, mask),  # noqa: PLW1509 - no threads
        )
        try:
            # No context manager: a signal between its own lines would leave the next ones let through.
            try:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                code = process.wait()
            finally:
                signal.pthread_sigmask(signal.SIG_BLOCK, interruption.SIGNALS)
        except BaseException:  # it ends what it has begun, before its folder goes
            _end(process)
            raise
    if code:
        raise subprocess.CalledProcessError(code, process.args)
    return time.monotonic() - began


@contextmanager
def _signals_blocked() -> Iterator[set[int | signal.Signals]]:
    """Blocked meanwhile; what came comes after. Gives the mask of before."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, interruption.SIGNALS)
    try:
        yield mask
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """As Ctrl-C does, again and again: a shell loses the one that comes while it starts a command.

    Its folder goes after this: signals are blocked, and those that came meanwhile have said nothing new.
    """
    while process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(AGAIN_SECONDS)
    while came := signal.sigpending() & {*interruption.SIGNALS}:
        signal.sigwait(came)


@contextmanager
def _taken_down(clone: Path, environment: Mapping[str, str]) -> Iterator[None]:
    try:
        yield
    finally:
        if (clone / ".embedded").exists():
            _make(clone, environment, "down")
