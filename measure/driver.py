"""Measure a stack: up, verify, benchmark, report, down; the last whatever happens to the others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from embedded.processes import Report
from manifests.benchmark.job import LoadPoint
from measure import lease, results, rollout
from measure import report as reports
from measure.guard import Guard
from measure.run import RAW, Run

TEARDOWN_SECONDS = 1800
"""What a teardown may take until the lease counts as broken."""


class Site(Protocol):
    """A stack where it is deployed; every step raises a UserError that says what to do."""

    stack: str
    embedded: bool

    def is_up(self) -> bool:
        """Whether anything of the stack is there."""

    def up(self) -> None:
        """Deploy it, or see that it is."""

    def verify(self) -> None:
        """See that it answers."""

    def rollout(self) -> Mapping[str, Any] | None:
        """How it came up, minutes by step; None where nothing of that is known."""

    def measure(self, points: Sequence[LoadPoint], folder: Path) -> None:
        """Run AIPerf for every point, leave its files in `folder`; also what there is after a failure."""

    def clean(self) -> None:
        """Remove what the measuring itself left on the cluster."""

    def interrupt(self, number: int) -> bool:
        """Pass a signal on to what deploys; whether there is something that ends by itself now."""

    def down(self) -> None:
        """Take the whole stack down."""


def drive(
    site: Site,
    run: Run,
    points: Sequence[LoadPoint],
    folder: Path,
    *,
    teardown: bool,
    seconds: float,
    report: Report,
) -> results.Results:
    """Measure the stack into the folder; returns the results, also written as a report.

    teardown: whether the stack goes down at the end. seconds: for everything before that. Raises what went wrong,
    guard.Ended if it was ended; the report is written then too, with what was measured until then.
    """
    held = (
        lease.take(site.stack, embedded=site.embedded, seconds=seconds + TEARDOWN_SECONDS)
        if teardown
        else None
    )
    folder.mkdir(parents=True)
    run.write(folder)
    guard = Guard(seconds, report, site.interrupt)

    def work() -> None:
        report("up")
        site.up()
        guard.check()
        report("verify")
        site.verify()
        rollout.write(site.rollout(), folder)
        report(f"benchmark: {len(points)} point{'s' if len(points) != 1 else ''}")
        site.measure(points, folder / RAW)

    def end(error: BaseException | None) -> None:
        try:
            replace(run, ended=now(), problem="" if error is None else str(error)).write(folder)
            for path in reports.write(results.load(folder)):
                report(f"wrote {path}")
        finally:
            if held is None:
                site.clean()
            else:
                report("down")
                site.down()
                held.release()

    guard.run(work, end)
    return results.load(folder)


def now() -> str:
    """UTC to the second, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")
