"""What a run found, in a few words: each concurrency's figures, and the point with the most tokens a second."""

from collections.abc import Iterator
from typing import Any

from measure.results import METRIC, MeasuredPoint, Results

_FIGURES = {
    "throughput": "tokens/s",
    "throughput-per-gpu": "a GPU",
    "per-user": "a user",
    "ttft-p50": "ms to the first token (p50)",
    "itl-p50": "ms between tokens (p50)",
    "cost": "USD a million output tokens",
}
"""By metric: what follows its number."""
_SMALL = 10
"""Below it a figure has two decimals."""


def best(results: Results) -> MeasuredPoint | None:
    """The point with the most output tokens a second, None where nothing was measured."""
    return max(results.points, key=lambda point: point.tokens_per_second, default=None)


def data(results: Results) -> dict[str, Any]:
    """For programs: by point each figure, in its metric's unit, null where it is unknown."""
    top = best(results)
    points = {
        point.name: {name: METRIC[name].value(results.run, point) for name in (*_FIGURES, "errors")}
        for point in results.points
    }
    return {
        "stack": results.run.stack,
        "best": top.name if top else None,
        "points": points,
        "missing": list(results.missing),
        "simulated": results.run.simulated,
    }


def lines(results: Results) -> Iterator[str]:
    """The figures of the best point, and what casts doubt on them."""
    top = best(results)
    if top is None:
        yield "nothing was measured"
        return
    values = {name: METRIC[name].value(results.run, top) for name in _FIGURES}
    figures = [f"{_number(value)} {_FIGURES[name]}" for name, value in values.items() if value is not None]
    of = f", the best of {len(results.points)} points" if len(results.points) > 1 else ""
    yield f"concurrency {top.load.concurrency}{of}: {', '.join(figures)}"
    failed = sum(point.requests.failed for point in results.points)
    if failed:
        yield f"{failed} requests failed"
    if results.missing:
        yield f"not measured: {', '.join(results.missing)}"
    if results.run.simulated:
        yield f"SIMULATED: {results.run.simulated}"


def _number(value: float) -> str:
    return f"{value:,.2f}" if value < _SMALL else f"{value:,.0f}"
