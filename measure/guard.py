"""Work that is always followed by its teardown: after success, failure, timeout, Ctrl-C, SIGTERM and SIGHUP.

What no process survives, kill -9, is the lease's and the time to live's to repair: see measure/lease.py.
"""

import signal
from collections.abc import Callable
from types import FrameType

from embedded.processes import Report

CODES = {signal.SIGALRM: 1, signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


class Ended(SystemExit):
    """The work was told to end: by a signal or by its time limit. code: the exit code that says so.

    No Exception, so that nothing that catches those on its way goes on instead; and a SystemExit, since asyncio keeps
    every other one for whoever awaits the task that it hit, and nobody may.
    """

    def __init__(self, reason: str, code: int) -> None:
        super().__init__(reason)
        self.code = code


class Guard:
    """Turns signals and the time limit into `Ended` while work is done, and into a notice afterwards.

    For a process's main thread. seconds: for the work; the teardown has limits of its own. interrupt: is asked first,
    and answers whether it could tell the work to end by itself; then `Ended` waits until it has.
    """

    def __init__(self, seconds: float, report: Report, interrupt: Callable[[int], bool]) -> None:
        self._seconds, self._report, self._interrupt = seconds, report, interrupt
        self._ending = False
        self._ended: Ended | None = None

    def run(self, work: Callable[[], None], teardown: Callable[[BaseException | None], None]) -> None:
        """Do the work, then the teardown whatever happened; it is told what the work raised, which is raised again."""
        before = {number: signal.signal(number, self._told) for number in CODES}
        signal.setitimer(signal.ITIMER_REAL, self._seconds)
        raised: BaseException | None = None
        try:
            try:
                self._work(work)
            except BaseException as error:
                raised = error
                raise
            finally:
                # A signal that comes before this line has set it itself.
                self._ending = True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            try:
                teardown(raised)
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    def check(self) -> None:
        """Raise what was put off until a part of the work had ended by itself."""
        if self._ended is not None:
            raise self._ended

    def _work(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            self.check()

    def _told(self, number: int, _: FrameType | None) -> None:
        name = signal.Signals(number).name
        if self._ending:
            self._report(f"{name}: the teardown is under way and is not broken off; please wait")
            return
        self._ending = True
        over = number == signal.SIGALRM
        reason = f"the time limit of {self._seconds:.0f} s is over" if over else f"ended by {name}"
        ended = Ended(reason, CODES[signal.Signals(number)])
        if not self._interrupt(number):
            raise ended
        self._ended = ended
