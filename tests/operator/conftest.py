"""Running operators, one a release, and the line that sums up what they did."""

from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from embedded.processes import Report
from tests.operator.cases import Case
from tests.operator.release import VARIABLE, Release, releases
from tests.operator.running import Operator
from tests.operator.walk import Outcome, walk

OUTCOMES = (
    "cases", "refused by the project", "admitted", "Ready", "rolled", "rolled on full nodes", "scaled", "renamed",
    "deleted",
)  # fmt: skip
"""What the summary counts; a test of a case records those that it came to as properties `outcome`."""
AT_ONCE = 4
"""Cases that are walked side by side: they wait most of the time, and two cores bear as many."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs an operator where none is given, in words that say how to give one."""
    if releases():
        return
    reason = f"set {VARIABLE} to a folder of built Dynamo operators: docs/architecture.md"
    for item in items:
        if item.get_closest_marker("operator"):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "release" in metafunc.fixturenames and "case" not in metafunc.fixturenames:
        found = releases()
        metafunc.parametrize("release", found, ids=[one.line for one in found], scope="session")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts: dict[str, Counter[str]] = {}
    for report in (one for kind in ("passed", "failed") for one in terminalreporter.stats.get(kind, ())):
        for name, value in getattr(report, "user_properties", ()) if report.when == "call" else ():
            if name == "outcome":
                line, _, outcome = value.partition(": ")
                counts.setdefault(line, Counter())[outcome] += 1
    for line, counted in sorted(counts.items()):
        text = ", ".join(f"{counted[outcome]} {outcome}" for outcome in OUTCOMES)
        terminalreporter.write_line(f"operator {line}: {text}")


class Operators:
    """Starts a release's operator when it is first asked for, and ends all of them."""

    def __init__(self, folder: Path, report: Report) -> None:
        self._folder, self._report = folder, report
        self._running: dict[str, Operator] = {}
        self._starting = Lock()

    def of(self, release: Release) -> Operator:
        with self._starting:
            if release.line not in self._running:
                self._report(f"starting the operator of {release.line}")
                self._running[release.line] = Operator(release, self._folder / release.line, self._report)
            return self._running[release.line]

    def stop(self) -> None:
        for operator in self._running.values():
            operator.stop(self._report)


@pytest.fixture(scope="session")
def operators(tmp_path_factory: pytest.TempPathFactory, progress: Report) -> Iterator[Operators]:
    running = Operators(tmp_path_factory.mktemp("operators"), progress)
    yield running
    running.stop()


class Walks:
    """Cases on their way, in the order of the session's tests, a few at once."""

    def __init__(self, operators: Operators, asked: Iterable[tuple[Release, Case]]) -> None:
        self._operators = operators
        self._threads = ThreadPoolExecutor(AT_ONCE)
        self._came_to: dict[tuple[str, str], list[str]] = {}
        self._ends: dict[tuple[str, str], Future[None]] = {}
        for release, case in asked:
            came_to = self._came_to[release.line, case.name] = []
            self._ends[release.line, case.name] = self._threads.submit(
                self._walk, release, case, came_to.append
            )

    def end(self, release: Release, case: Case, came_to: Outcome) -> None:
        """Waits for the end of a case's walk and tells what it came to. Fails as the walk did."""
        error = self._ends[release.line, case.name].exception()
        for what in self._came_to[release.line, case.name]:
            came_to(what)
        if error is not None:
            raise error

    def stop(self) -> None:
        """Begins no further walk, and waits for those that are under way."""
        self._threads.shutdown(cancel_futures=True)

    def _walk(self, release: Release, case: Case, came_to: Outcome) -> None:
        walk(self._operators.of(release), case, came_to)


@pytest.fixture(scope="session")
def walks(operators: Operators, request: pytest.FixtureRequest) -> Iterator[Walks]:
    """Of the cases that this session's tests ask for and the project takes."""
    asked: list[tuple[Any, Any]] = [
        (one.callspec.params["release"], one.callspec.params["case"])
        for one in request.session.items
        if isinstance(one, pytest.Function) and "walks" in one.fixturenames
    ]
    running = Walks(operators, ((release, case) for release, case in asked if case.is_taken()))
    yield running
    running.stop()
