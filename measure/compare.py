"""Runs side by side: refused where they cannot be compared, with noise bands where there are repetitions."""

from collections.abc import Iterator, Sequence

from measure.report import band
from measure.results import METRICS, Band, Metric, Results
from measure.run import RunsError


class NotComparable(RunsError):
    """The runs measured different things; the message says which."""


def check(runs: Sequence[Results]) -> None:
    """Refuse runs of different shapes, simulated beside real ones, or without a common concurrency.

    Raises NotComparable.
    """
    first = runs[0]
    for other in runs[1:]:
        for what, one, two in (
            ("tokens in and out", _tokens(first), _tokens(other)),
            ("engines", _reality(first), _reality(other)),
        ):
            if one != two:
                raise NotComparable(
                    f"{first.folder} and {other.folder} differ in {what}: {one} and {two}; "
                    "their figures say nothing about each other"
                )
    if not common(runs):
        counts = "; ".join(
            f"{run.folder}: {', '.join(map(str, run.concurrencies)) or 'none'}" for run in runs
        )
        raise NotComparable(f"no concurrency was measured in every run ({counts})")


def common(runs: Sequence[Results]) -> tuple[int, ...]:
    """Concurrencies that every run measured."""
    return tuple(sorted(set.intersection(*({*run.concurrencies} for run in runs))))


def apart(one: Band, two: Band) -> bool | None:
    """Whether two bands do not overlap; None where a band of one measurement says nothing about noise."""
    if min(one.count, two.count) < 2:
        return None
    return one.low > two.high or two.low > one.high


def table(runs: Sequence[Results]) -> str:
    """A Markdown table: a row for each concurrency and metric, a column for each run. Raises NotComparable."""
    check(runs)
    named = labels(runs)
    lines = [
        f"| Concurrency | Metric | {' | '.join(named)} | Change |",
        f"|---:|---|{'---:|' * len(runs)}---|",
        *_rows(runs),
    ]
    notes = [
        f"- {label}: {run.run.subject.target}, {_hardware(run)}, {run.folder}"
        for label, run in zip(named, runs, strict=True)
    ]
    if runs[0].run.simulated:
        notes.insert(0, f"- **Simulated: {runs[0].run.simulated}.**")
    if all(len(run.at(common(runs)[0])) < 2 for run in runs):
        notes.append("- Measured once each: how much of a change is noise is unknown (see --repetitions).")
    return "\n".join([*lines, "", *notes, ""])


def labels(runs: Sequence[Results]) -> list[str]:
    """A letter for each run, with its stack."""
    return [f"{chr(ord('A') + position)} {run.run.stack}" for position, run in enumerate(runs)]


def _rows(runs: Sequence[Results]) -> Iterator[str]:
    for concurrency in common(runs):
        for metric in METRICS:
            bands = [run.band(metric, concurrency) for run in runs]
            if any(bands):
                cells = " | ".join(map(band, bands))
                yield f"| {concurrency} | {metric.label} [{metric.unit}] | {cells} | {change(metric, bands)} |"


def change(metric: Metric, bands: Sequence[Band | None]) -> str:
    """Of the last run against the first, empty where one of them is unknown."""
    first, last = bands[0], bands[-1]
    if first is None or last is None or not first.mean:
        return ""
    percent = 100 * (last.mean / first.mean - 1)
    verdict = "better" if percent * metric.better > 0 else "worse"
    separate = apart(first, last)
    if separate is None:
        return f"{percent:+.1f} %"
    return f"{percent:+.1f} % ({verdict if separate else 'within noise'})"


def _tokens(results: Results) -> str:
    return f"{results.run.traffic.load.isl}/{results.run.traffic.load.osl}"


def _reality(results: Results) -> str:
    return "simulated" if results.run.simulated else "real"


def _hardware(results: Results) -> str:
    run = results.run
    return f"{run.hardware.gpus} × {run.hardware.gpu} of {run.hardware.nodes} × {run.hardware.instance}"
