"""The regression gate: a run against a baseline, metric by metric, with tolerances."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from measure.compare import apart, check, common
from measure.report import band
from measure.results import METRIC, Band, Metric, Results

TOLERANCES: Mapping[str, float] = {
    "throughput": 5.0,
    "ttft-p50": 10.0,
    "ttft-p99": 25.0,
    "itl-p50": 5.0,
    "itl-p99": 25.0,
}
"""What may get worse by how many per cent; tails are noisier than medians."""


@dataclass(frozen=True)
class Verdict:
    """One metric at one concurrency. worse: by per cent, negative if better. regressed: beyond tolerance and noise."""

    concurrency: int
    metric: Metric
    before: Band
    after: Band
    worse: float
    tolerance: float
    regressed: bool

    def __str__(self) -> str:
        verdict = "REGRESSED" if self.regressed else "ok"
        return (
            f"{verdict:<9} c{self.concurrency} {self.metric.label}: {band(self.before)} -> {band(self.after)} "
            f"{self.metric.unit}, {abs(self.worse):.1f} % {'worse' if self.worse > 0 else 'better'} "
            f"(tolerance {self.tolerance:g} %)"
        )

    def data(self) -> dict[str, Any]:
        """For programs; before and after in the metric's unit."""
        return {
            "concurrency": self.concurrency,
            "metric": self.metric.label,
            "unit": self.metric.unit,
            "before": self.before.mean,
            "after": self.after.mean,
            "worsePercent": round(self.worse, 1),
            "tolerancePercent": self.tolerance,
            "regressed": self.regressed,
        }


def findings(candidate: Results, baseline: Results, tolerances: Mapping[str, float]) -> list[Verdict]:
    """Every toleranced metric at every common concurrency. Raises compare.NotComparable.

    A change counts when it is beyond the tolerance and, where both have repetitions, the bands do not overlap. Points
    or requests that failed only in the candidate are regressions without tolerance: see `failures`.
    """
    check([baseline, candidate])
    return [
        finding
        for concurrency in common([baseline, candidate])
        for name, tolerance in tolerances.items()
        if (finding := _finding(candidate, baseline, METRIC[name], concurrency, tolerance))
    ]


def failures(candidate: Results, baseline: Results) -> list[str]:
    """What the candidate could not do: points or requests that failed in it, and not in the baseline."""
    found = [f"{name} was not measured" for name in candidate.missing if name not in baseline.missing]
    found += [f"c{c} was not measured" for c in baseline.concurrencies if c not in candidate.concurrencies]
    before = sum(point.requests.failed for point in baseline.points)
    for point in candidate.points:
        if point.requests.failed and not before:
            found.append(
                f"{point.name}: {point.requests.failed} requests failed ({'; '.join(point.requests.errors)})"
            )
    return found


def _finding(
    candidate: Results, baseline: Results, metric: Metric, concurrency: int, tolerance: float
) -> Verdict | None:
    before, after = baseline.band(metric, concurrency), candidate.band(metric, concurrency)
    if before is None or after is None or not before.mean:
        return None
    worse = -metric.better * 100 * (after.mean / before.mean - 1)
    regressed = worse > tolerance and apart(before, after) is not False
    return Verdict(concurrency, metric, before, after, worse, tolerance, regressed)
