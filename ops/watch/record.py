"""When each row of an `up` said what: the measured timeline of a stack."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ops.kept import Kept, keep
from ops.watch.view import Mark, View


@dataclass(frozen=True, kw_only=True)
class Span:
    """What a row said from the look that first saw it to the one that saw something else.

    start, end: seconds since the record began.
    """

    subject: str
    text: str
    mark: str
    start: float
    end: float


class Record:
    """Shows views as they come, and writes down when they changed. began: by default now."""

    def __init__(self, show: Callable[[View], None], began: datetime | None = None) -> None:
        self._show, self._began = show, began or datetime.now(UTC)
        self._last: dict[str, Span] = {}
        self._over: list[Span] = []

    def __call__(self, seen: View) -> None:
        """Take one."""
        at = (seen.at - self._began).total_seconds()
        for row in seen.rows:
            if not row.text:
                continue
            before = self._last.get(row.subject)
            if before is not None:
                self._last[row.subject] = before = replace(before, end=at)
                if (before.text, before.mark) == (row.text, row.mark.value):
                    continue
                self._over.append(before)
            self._last[row.subject] = Span(
                subject=row.subject, text=row.text, mark=row.mark.value, start=at, end=at
            )
        self._show(seen)

    @property
    def spans(self) -> list[Span]:
        """All of them, by subject in the order in which those were first seen, then by time."""
        order = list(self._last)
        found = [*self._over, *self._last.values()]
        return sorted(found, key=lambda span: (order.index(span.subject), span.start))

    def data(self, simulated: str) -> dict[str, Any]:
        """For a file. simulated: what of it is not real."""
        spans = [asdict(span) for span in self.spans]
        return {
            "seconds": max((span.end for span in self.spans), default=0.0),
            "spans": spans,
            "simulated": simulated,
        }

    def keep(self, stack: str, simulated: str, project: Path) -> Path | None:
        """Write it down; None where all was there already, for such an `up` has no timeline."""
        if all(span.mark == Mark.DONE.value for span in self.spans):
            return None
        return keep(Kept.UP, stack, self.data(simulated), project)
