"""Progress of a verb, for people."""

import sys
import time
from contextlib import suppress

import typer


def tell(line: str) -> None:
    """Say it beside a verb's own output, which may be for a program; nobody need listen."""
    with suppress(OSError):
        typer.echo(line, err=True)


class Progress:
    """Prints each line with the seconds since the verb began, at once.

    A terminal that was closed, or a pipe that nobody reads any more, does not break off what is being done.
    beside: on standard error, where standard output is for a program.
    """

    def __init__(self, *, beside: bool = False) -> None:
        self._beside = beside
        self._began = time.monotonic()

    def __call__(self, text: str) -> None:
        with suppress(OSError):
            typer.echo(f"{self.seconds():6.1f} s  {text.rstrip()}", err=self._beside)
            sys.stdout.flush()

    def seconds(self) -> float:
        """Seconds since the verb began."""
        return time.monotonic() - self._began
