"""What a check found."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The findings on each subject."""

    OK = "ok"
    WRONG = "wrong"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True)
class Finding:
    """about: what was looked at. text: what was found there, and after a semicolon what to do."""

    verdict: Verdict
    about: str
    text: str

    def __str__(self) -> str:
        return f"{self.verdict:<11}  {self.about}: {self.text}"


def ok(about: str, text: str) -> Finding:
    """Nothing to do."""
    return Finding(Verdict.OK, about, text)


def wrong(about: str, text: str) -> Finding:
    """The deployment would fail on it."""
    return Finding(Verdict.WRONG, about, text)


def unknown(about: str, text: str) -> Finding:
    """It could not be looked at."""
    return Finding(Verdict.UNKNOWN, about, text)


@dataclass(frozen=True)
class Check:
    """about: its subject, for when it cannot be run. look: its findings, a line each."""

    about: str
    look: Callable[[], Iterable[Finding]]


def run_checks(
    checks: Iterable[Check], without: str | None, errors: tuple[type[Exception], ...]
) -> Iterator[Finding]:
    """The findings of the checks. without: why none can be run. errors: what says that one of them could not be."""
    for check in checks:
        if without is not None:
            yield unknown(check.about, f"not looked at: {without}")
            continue
        try:
            yield from check.look()
        except errors as error:
            yield unknown(check.about, f"not looked at: {error}")
