"""Ctrl-C, SIGTERM and a closed terminal while a verb runs: what is at work ends what it has begun, then the verb ends.

Pulumi's CLI is one: killed, it would leave a locked stack, plugins, and resources that nobody has written down.
"""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from embedded.processes import Report
from measure.guard import CODES, Ended

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Work:
    """A program at work, or about to be. ended: what this process raises once that has ended."""

    process: "subprocess.Popen[str] | None" = None
    ended: Ended | None = None
    _wanted: bool = False
    _told: bool = False

    def started(self, process: "subprocess.Popen[str]") -> None:
        """It is there; what came before is told to it now."""
        self.process = process
        if self._wanted:
            self.end()

    def end(self) -> None:
        """Tell it, once, by the signal that Pulumi takes for the wish to end in order."""
        self._wanted = True
        if self.process is not None and not self._told:
            self._told = True
            self.process.send_signal(signal.SIGINT)


_at_work: list[Work] = []


def install(report: Report) -> None:
    """Let a signal end this process: at once, or once what is at work has ended. For a process's main thread."""

    def told(number: int, frame: FrameType | None) -> None:
        if forward(report):
            _at_work[-1].ended = _at_work[-1].ended or _ended(number)
        elif number == signal.SIGINT:
            signal.default_int_handler(number, frame)
        else:
            raise _ended(number)

    for number in SIGNALS:
        signal.signal(number, told)


def forward(report: Report) -> bool:
    """Tell what is at work to end, if it was not told yet; whether something is."""
    if not _at_work:
        return False
    report(
        "waiting for Pulumi to end what it has begun; killed, it would leave a lock and half-made resources"
    )
    _at_work[-1].end()
    return True


@contextmanager
def working() -> Iterator[Work]:
    """Signals are for the program meanwhile; one that came is this process's own once that has ended."""
    work = Work()
    _at_work.append(work)
    try:
        yield work
    finally:
        _at_work.remove(work)
        if work.ended is not None:
            raise work.ended from None


def _ended(number: int) -> Ended:
    return Ended(f"ended by {signal.Signals(number).name}", CODES[signal.Signals(number)])
