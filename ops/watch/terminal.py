"""A view on a terminal: rows that change in place, under the lines of what was done."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ops.watch.view import Mark, Row, View

_SIGNS = {
    Mark.DONE: ("✔", "green"),
    Mark.GOING: ("•", "yellow"),
    Mark.STUCK: ("✘", "red"),
    Mark.PLAIN: (" ", ""),
}
_SUBJECT_WIDTH = 34


class TerminalView:
    """Shows the last view until the next, with clocks that go on. hint: the last line, while it runs."""

    def __init__(self, title: str, hint: str, console: Console | None = None) -> None:
        self._title, self._hint, self._console = title, hint, console or Console(highlight=False)
        self._began = time.monotonic()
        self._seen: View | None = None
        self._live: Live | None = None

    @contextmanager
    def running(self) -> Iterator["TerminalView"]:
        """The terminal is ours for as long as the block runs; the last view stays on it."""
        with Live(
            get_renderable=self.render,
            console=self._console,
            refresh_per_second=4,
            vertical_overflow="ellipsis",
        ) as self._live:
            yield self
            self._hint = ""

    def report(self, text: str) -> None:
        """A line that stays, above the view; a terminal that was closed breaks nothing off."""
        with suppress(OSError):
            self._console.print(f"[dim]{self.seconds():6.1f} s[/]  {escape(text.rstrip())}", soft_wrap=True)

    def __call__(self, seen: View) -> None:
        """Show it."""
        self._seen = seen

    def seconds(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._began

    def render(self) -> RenderableType:
        """The view as it is now."""
        head = Text.assemble((self._title, "bold"), f"  {span(self.seconds())}")
        if self._seen is None:
            return head
        rows = Table.grid(padding=(0, 1))
        rows.add_column(width=1)
        rows.add_column(width=_SUBJECT_WIDTH, no_wrap=True, overflow="ellipsis")
        rows.add_column(ratio=1, overflow="fold")
        rows.add_column(justify="right", no_wrap=True)
        now = datetime.now(UTC)
        for row in self._seen.rows:
            sign, colour = _SIGNS[row.mark]
            said = ", ".join(filter(None, (row.text, row.detail)))
            clock = span((now - row.since).total_seconds()) if row.since and row.mark is not Mark.DONE else ""
            rows.add_row(Text(sign, colour), _subject(row), Text(said), Text(clock, "dim"))
        why = [
            Text.assemble(("! ", "bold red" if reason.final else "bold yellow"), (str(reason), ""))
            for reason in self._seen.reasons
        ]
        hint = [Text(self._hint, "dim")] if self._hint else []
        return Group(Text(""), head, rows, *why, *hint)


def span(seconds: float) -> str:
    """A time as people say it."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _subject(row: Row) -> Text:
    """Of a long name its end, which tells one pod from another."""
    kind, _, name = row.subject.partition(" ")
    room = _SUBJECT_WIDTH - len(kind) - 1
    return Text(f"{kind} {name if len(name) <= room else '…' + name[1 - room :]}".strip())
