"""The report of a run: `report.html`, which needs no other file, and `report.md` beside its plots."""

import base64
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from measure import plots
from measure.results import METRICS, PERCENTILES, Band, Results

HTML, MARKDOWN, PLOTS = "report.html", "report.md", "plots"
UNKNOWN = "unknown"


def write(results: Results) -> list[Path]:
    """Write both reports and the plots into the run's folder; returns the reports' paths."""
    folder = results.folder
    names = plots.write([(results.run.stack, results)], folder / PLOTS) if results.points else []
    images = {name: _data_uri(folder / PLOTS / f"{name}.svg") for name in names}
    content = {"plots": names, "images": images, **template_values(results)}
    paths = [folder / HTML, folder / MARKDOWN]
    for path in paths:
        path.write_text(_environment().get_template(f"{path.name}.j2").render(content))
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
        "summary": [
            (
                f"{metric.label} [{metric.unit}]",
                [band(results.band(metric, c)) for c in results.concurrencies],
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
                    (label, number(spread.avg), [number(getattr(spread, p)) for p in PERCENTILES])
                    for label, spread in (
                        ("Time to first token [ms]", point.ttft),
                        ("Inter-token latency [ms]", point.itl),
                        ("Request latency [ms]", point.latency),
                        ("Output speed per user [tokens/s]", point.per_user),
                    )
                ],
                "watts": None if point.energy.watts is None else number(point.energy.watts),
                "errors": point.requests.errors,
            }
            for point in results.points
        ],
        "missing": results.missing,
        "commands": {
            name: " ".join(_quote(word) for word in words) for name, words in run.traffic.commands.items()
        },
    }


def number(value: float) -> str:
    """Three significant digits or all before the point, thousands apart."""
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 4
    return f"{value:,.{digits}f}"


def band(found: Band | None) -> str:
    """Mean, and from repetitions the lowest and highest."""
    if found is None:
        return UNKNOWN
    return number(found.mean) + (f" ({number(found.low)} to {number(found.high)})" if found.count > 1 else "")


def _quote(word: str) -> str:
    return (
        word
        if word.replace(":", "").replace("/", "").replace("-", "").replace(".", "").isalnum()
        else f"'{word}'"
    )


def _environment() -> Environment:
    templates = files("measure.templates")
    return Environment(
        loader=FunctionLoader(lambda name: templates.joinpath(name).read_text()),
        autoescape=lambda name: name is not None and ".html" in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _data_uri(path: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}"
