"""Outcomes of checks, and what is said of them."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

OK, WARNING, FAILED, SKIPPED, NOT_TRIED = "ok", "warning", "failed", "skipped", "not tried"


@dataclass(frozen=True)
class Result:
    """Outcome of a check: ok, warning, failed, skipped or not tried.

    meaning and next_step: only of what failed or warns. attempts: how often it was tried; what a model answers freely
    gets more than one.
    """

    name: str
    outcome: str
    seconds: float
    detail: str
    meaning: str = ""
    next_step: str = ""
    attempts: int = 1

    @property
    def ok(self) -> bool:
        """Whether the graph serves; a skipped check found nothing to look at, a warning nothing that is broken."""
        return self.outcome in {OK, WARNING, SKIPPED}

    def lines(self) -> list[str]:
        """The result for a terminal or a log."""
        tried = f" ({self.attempts} attempts)" if self.attempts > 1 else ""
        head = f"{self.outcome:<11}{self.name:<15}{self.seconds:6.2f} s  {self.detail}{tried}"
        if not self.meaning:
            return [head]
        return [head, f"           It means: {self.meaning}", f"           Do next:  {self.next_step}"]


def summary(url: str, results: Iterable[Result]) -> dict[str, Any]:
    """All results as one JSON object."""
    checks = list(results)
    return {
        "url": url,
        "ok": all(check.ok for check in checks),
        "warnings": [check.name for check in checks if check.outcome == WARNING],
        "checks": [{**asdict(check), "ok": check.ok} for check in checks],
    }


class Failure(Exception):
    """A check failed; `cause` is a key of ADVICE."""

    def __init__(self, cause: str, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause


class Warned(Failure):
    """The graph serves, but not as well as it could; `cause` is a key of ADVICE."""


class Skipped(Exception):
    """There is nothing that the check could look at; the message says what is missing."""
