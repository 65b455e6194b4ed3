"""The report of a run: `report.html`, which needs no other file, and `report.md` beside its plots."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measure import plots, rollout
from measure.results import EXPORT, METRIC, METRICS, PERCENTILES, Band, Results
from measure.run import RAW, RUN_FILE
from pages.html import environment, render
from pages.tiles import Tile

HTML, MARKDOWN, PLOTS = "report.html", "report.md", "plots"
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Row:
    """A metric of the summary. values: one for each concurrency, as text with the range of repetitions apart."""

    label: str
    unit: str
    values: tuple[tuple[str, str], ...]


def write(results: Results) -> list[Path]:
    """Write both reports and the plots into the run's folder; returns the reports' paths."""
    folder = results.folder
    runs = [(results.run.stack, results)]
    content = template_values(results)
    names = plots.write(runs, folder / PLOTS) if results.points else []
    paths = [folder / HTML, folder / MARKDOWN]
    drawn = plots.on_page(runs) if results.points else []
    paths[0].write_text(render("measure.templates", "report.html.j2", {"plots": drawn, **content}))
    markdown = environment("measure.templates").get_template("report.md.j2")
    paths[1].write_text(markdown.render({"plots": names, **content}))
    return paths


def template_values(results: Results) -> dict[str, Any]:
    """What the templates show: figures as AIPerf gave them, rounded for reading only here."""
    run = results.run
    shown = [metric for metric in METRICS if any(results.band(metric, c) for c in results.concurrencies)]
    return {
        "run": run,
        "footnote": plots.FOOTNOTE,
        "price": UNKNOWN
        if run.hardware.usd_per_hour is None
        else f"{run.hardware.usd_per_hour:.2f} USD an hour ({run.hardware.price})",
        "tiles": list(tiles(results)),
        "summary": [
            Row(
                metric.label,
                metric.unit,
                tuple(cell(results.band(metric, c)) for c in results.concurrencies),
            )
            for metric in shown
        ],
        "not_measured": [metric.label for metric in METRICS if metric not in shown],
        "concurrencies": results.concurrencies,
        "percentiles": PERCENTILES,
        "points": [
            {
                "name": point.name,
                "requests": f"{point.requests.ok} ok, {point.requests.failed} failed",
                "seconds": number(point.seconds),
                "tokens": point.output_tokens,
                "rows": [
                    (label, unit, number(spread.avg), [number(getattr(spread, p)) for p in PERCENTILES])
                    for label, unit, spread in (
                        ("Time to first token", "ms", point.ttft),
                        ("Inter-token latency", "ms", point.itl),
                        ("Request latency", "ms", point.latency),
                        ("Output speed per user", "tokens/s", point.per_user),
                    )
                ],
                "watts": None if point.energy.watts is None else number(point.energy.watts),
                "errors": point.requests.errors,
                "raw": f"{RAW}/{point.name}/{EXPORT}",
            }
            for point in results.points
        ],
        "missing": results.missing,
        "rollout": rollout.read(results.folder),
        "commands": {
            name: " ".join(_quote(word) for word in words) for name, words in run.traffic.commands.items()
        },
        "run_file": RUN_FILE,
        "began": moment(run.started),
        "ended": moment(run.ended) if run.ended else UNKNOWN,
    }


def tiles(results: Results) -> Iterator[Tile]:
    """The figures that one looks for first: the best of each, and at which concurrency."""
    for name, label in (
        ("throughput", "Most output"),
        ("ttft-p50", "Shortest time to first token, p50"),
        ("per-user", "Fastest for one user"),
        ("cost", "Cheapest million output tokens"),
    ):
        metric = METRIC[name]
        bands = [(c, b) for c in results.concurrencies if (b := results.band(metric, c)) is not None]
        if not bands:
            continue
        concurrency, best = max(bands, key=lambda each: metric.better * each[1].mean)
        at = f"at {concurrency} request{'s' if concurrency > 1 else ''} at once"
        yield Tile(label=label, value=number(best.mean), unit=metric.unit, note=at)
    if results.points:
        failed = sum(point.requests.failed for point in results.points)
        all_of_them = failed + sum(point.requests.ok for point in results.points)
        of = f"of {all_of_them:,}"
        yield Tile(label="Failed requests", value=f"{failed:,}", unit=of, warning=failed > 0)


def moment(text: str) -> str:
    """A time of a run for readers, to the minute."""
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def number(value: float) -> str:
    """Three significant digits or all before the point, thousands apart."""
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 4
    return f"{value:,.{digits}f}"


def band(found: Band | None) -> str:
    """Mean, and from repetitions the lowest and highest."""
    mean, spread = cell(found)
    return f"{mean} ({spread})" if spread else mean


def cell(found: Band | None) -> tuple[str, str]:
    """The same as two texts, the second empty without repetitions."""
    if found is None:
        return UNKNOWN, ""
    return number(found.mean), f"{number(found.low)} to {number(found.high)}" if found.count > 1 else ""


def _quote(word: str) -> str:
    return (
        word
        if word.replace(":", "").replace("/", "").replace("-", "").replace(".", "").isalnum()
        else f"'{word}'"
    )
