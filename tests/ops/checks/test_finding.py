"""Findings of checks: every check says something, and one that cannot be run keeps no other from running."""

from collections.abc import Iterator

import pytest

from ops.checks.finding import Check, Finding, Verdict, ok, run_checks, unknown, wrong


class AskedInVainError(Exception):
    """Somebody did not answer."""


def fails() -> Iterator[Finding]:
    yield ok("quotas", "one is enough")
    raise AskedInVainError("no route")


GOOD = Check("zones", lambda: [ok("zones", "us-east-2a"), wrong("zones", "no us-east-2z; choose another")])


def test_a_check_that_breaks_keeps_what_it_found_and_the_next_one_runs() -> None:
    found = list(run_checks([Check("quotas", fails), GOOD], None, (AskedInVainError,)))
    assert [str(each) for each in found] == [
        "ok           quotas: one is enough",
        "cannot tell  quotas: not looked at: no route",
        "ok           zones: us-east-2a",
        "wrong        zones: no us-east-2z; choose another",
    ]


def test_without_what_all_need_nothing_is_run_and_each_says_why() -> None:
    def never() -> Iterator[Finding]:
        raise AssertionError("it was run")

    found = list(run_checks([Check("a", never), Check("b", never)], "no credentials", ()))
    assert found == [
        unknown("a", "not looked at: no credentials"),
        unknown("b", "not looked at: no credentials"),
    ]
    assert {each.verdict for each in found} == {Verdict.UNKNOWN}


def test_a_fault_of_ours_is_not_taken_for_an_answer() -> None:
    def broken() -> Iterator[Finding]:
        raise KeyError("Reservations")

    with pytest.raises(KeyError):
        list(run_checks([Check("a", broken)], None, (AskedInVainError,)))
