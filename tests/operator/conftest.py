"""Running operators, one a release, and the line that sums up what they did."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.processes import Report
from tests.operator.release import VARIABLE, Release, releases
from tests.operator.running import Operator

OUTCOMES = ("cases", "refused by the project", "admitted", "Ready", "rolled")
"""What the summary counts; a test of a case records those that it came to as properties `outcome`."""


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

    def of(self, release: Release) -> Operator:
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
