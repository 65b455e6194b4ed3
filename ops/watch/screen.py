"""Where an `up` is shown: rows on a terminal, lines in a file or a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console

from embedded.processes import Report
from ops.progress import Progress
from ops.watch.plain import PlainView
from ops.watch.terminal import TerminalView
from ops.watch.view import View

GOES_ON = "Ctrl-C ends the wait; what is made stays, and the verb goes on from there when it is run again."


@dataclass(frozen=True)
class Screen:
    """report: takes lines. show: takes views. seconds: since it began."""

    report: Report
    show: Callable[[View], None]
    seconds: Callable[[], float]


@contextmanager
def screen(title: str, *, hint: str = GOES_ON, beside: bool = False) -> Iterator[Screen]:
    """For as long as the block runs. hint: what Ctrl-C does. beside: on standard error, of a verb that writes JSON."""
    if (sys.stderr if beside else sys.stdout).isatty():
        console = Console(highlight=False, stderr=beside)
        with TerminalView(title, hint, console).running() as terminal:
            yield Screen(terminal.report, terminal, terminal.seconds)
        return
    progress = Progress(beside=beside)
    plain = PlainView(progress)
    yield Screen(progress, plain, progress.seconds)
    plain.end()
