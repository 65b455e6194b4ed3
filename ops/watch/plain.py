"""A view as lines: each once, when what it says is new. For files, pipes and CI."""

import re

from embedded.processes import Report
from ops.watch.view import Mark, Row, View

_AMOUNT = re.compile(r"([\d.]+) of ([\d.]+) GB")


class PlainView:
    """Tells what changed since the view before."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._told: dict[str, str] = {}
        self._reasons: set[str] = set()
        self._tenths: dict[str, int] = {}
        self._last: View | None = None

    def _tell_amount(self, row: Row, share: float) -> None:
        """By tenths, from the second on."""
        tenth = int(share * 10)
        if tenth > self._tenths.get(row.subject, 0):
            self._tenths[row.subject] = tenth
            self._report(f"{row.subject}: {row.detail}")

    def _tell_detail(self, row: Row) -> None:
        self._told[row.subject] = row.detail
        self._report(f"{row.subject}: {row.detail}")

    def end(self) -> None:
        """Tell what changed all the time, as it is at the end."""
        for row in self._last.rows if self._last else ():
            if row.mark is Mark.PLAIN and self._told[row.subject] != row.detail:
                self._tell_detail(row)

    def __call__(self, seen: View) -> None:
        """Tell it."""
        self._last = seen
        for row in seen.rows:
            if row.mark is Mark.PLAIN and row.subject not in self._told:
                self._tell_detail(row)
            if row.text and self._told.get(row.subject) != row.text:
                self._told[row.subject] = row.text
                self._report(f"{row.subject}: {row.text}")
            if (amount := _AMOUNT.match(row.detail)) and float(amount[2]):
                self._tell_amount(row, float(amount[1]) / float(amount[2]))
        for reason in seen.reasons:
            if str(reason) not in self._reasons:
                self._reasons.add(str(reason))
                self._report(f"{'cannot go on' if reason.final else 'waits'}: {reason}")
