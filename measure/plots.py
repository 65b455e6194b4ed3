"""Plots of benchmark runs as PNG and SVG, with units on every axis and a watermark on what is simulated."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from measure.results import METRIC, Band, Metric, Results

FORMATS = ("png", "svg")
WATERMARK = "SIMULATED ENGINES"
FOOTNOTE = "Simulated engines: these figures describe the simulation, not GPT-OSS-120B on any hardware."

_STYLE = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 11,
    "grid.alpha": 0.3,
    "savefig.dpi": 150,
    "svg.fonttype": "none",  # words stay words: searchable, and a third of the size
    "svg.hashsalt": "dynamo-gpt-oss",  # the same run gives the same file
}
_SIZE = (8.0, 5.0)
_COLOURS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8f5fbf", "#c77d0a", "#4a4a4a")


def write(runs: Sequence[tuple[str, Results]], folder: Path) -> list[str]:
    """Draw every plot for the runs, each with its label; returns the plots' names without suffix.

    The Pareto plot takes GPUs: where no run has any, it is left out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    simulated = any(results.run.simulated for _, results in runs)
    drawn = []
    if any(results.run.hardware.gpus for _, results in runs):
        with _figure(folder, "pareto", simulated) as axes:
            _pareto(axes, runs)
        drawn.append("pareto")
    for name in ("throughput", "ttft", "itl"):
        with _figure(folder, name, simulated) as axes:
            _over_concurrency(axes, runs, name)
        drawn.append(name)
    return drawn


def _pareto(axes: Axes, runs: Sequence[tuple[str, Results]]) -> None:
    """Speed of one user against throughput of one GPU: up and to the right is better."""
    x, y = METRIC["per-user"], METRIC["throughput-per-gpu"]
    for (label, results), colour in zip(runs, _colours(runs), strict=True):
        if not results.run.hardware.gpus:
            continue
        across, up = _bands(results, x), _bands(results, y)
        axes.errorbar(
            [band.mean for band in across],
            [band.mean for band in up],
            xerr=_errors(across),
            yerr=_errors(up),
            label=label,
            color=colour,
            marker="o",
            capsize=3,
        )
        for concurrency, right, top in zip(results.concurrencies, across, up, strict=True):
            axes.annotate(
                f"c{concurrency}",
                (right.mean, top.mean),
                xytext=(6, 6),
                textcoords="offset points",
                fontsize=9,
            )
    axes.set_xlabel(f"{x.label} [{x.unit}]")
    axes.set_ylabel(f"{y.label} [{y.unit}]")
    axes.set_title(f"Throughput against speed; labels are concurrent requests{_bands_note(runs)}")
    _from_zero(axes)
    axes.legend(frameon=False, fontsize=9, loc="lower left")
    axes.set_xlim(0, 1.1 * axes.get_xlim()[1])


def _over_concurrency(axes: Axes, runs: Sequence[tuple[str, Results]], name: str) -> None:
    """A quantity over the concurrency; of latencies p50 and p99, each with the band of its repetitions."""
    several = name != "throughput"
    metrics = [METRIC[f"{name}-p50"], METRIC[f"{name}-p99"]] if several else [METRIC[name]]
    for (label, results), colour in zip(runs, _colours(runs), strict=True):
        for metric, line in zip(metrics, ("-", "--"), strict=False):
            bands = _bands(results, metric)
            axes.plot(
                results.concurrencies,
                [band.mean for band in bands],
                line,
                marker="o",
                color=colour,
                label=f"{label}, {metric.name[-3:]}" if several else label,
            )
            lows, highs = [band.low for band in bands], [band.high for band in bands]
            if any(band.count > 1 for band in bands):
                axes.fill_between(results.concurrencies, lows, highs, color=colour, alpha=0.15, linewidth=0)
    ticks = sorted({concurrency for _, results in runs for concurrency in results.concurrencies})
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("Concurrency [requests at once]")
    what = metrics[0].label.removesuffix(", p50")
    axes.set_ylabel(f"{what} [{metrics[0].unit}]")
    axes.set_title(f"{what} over concurrency{_bands_note(runs)}")
    _from_zero(axes)


def _bands(results: Results, metric: Metric) -> list[Band]:
    bands = [results.band(metric, concurrency) for concurrency in results.concurrencies]
    return [band for band in bands if band is not None]


def _errors(bands: Sequence[Band]) -> list[list[float]] | None:
    if all(band.count == 1 for band in bands):
        return None
    # The mean of equal values can lie a rounding error beside them.
    return [
        [max(0.0, band.mean - band.low) for band in bands],
        [max(0.0, band.high - band.mean) for band in bands],
    ]


def _colours(runs: Sequence[object]) -> list[str]:
    return [_COLOURS[position % len(_COLOURS)] for position in range(len(runs))]


def _bands_note(runs: Sequence[tuple[str, Results]]) -> str:
    repeated = any(len(results.at(results.concurrencies[0])) > 1 for _, results in runs)
    return "\nbands: lowest to highest of the repetitions" if repeated else ""


def _from_zero(axes: Axes) -> None:
    """Differences look as large as they are only from zero."""
    axes.margins(x=0.08)
    axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    axes.legend(frameon=False, fontsize=9)


@contextmanager
def _figure(folder: Path, name: str, simulated: bool) -> Iterator[Axes]:
    """Axes to draw on, saved as `name` in every format at the end."""
    with mpl.style.context(_STYLE):
        figure = Figure(figsize=_SIZE, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        yield axes
        if simulated:
            axes.text(
                0.5, 0.5, WATERMARK, transform=axes.transAxes, ha="center", va="center", rotation=25,
                fontsize=34, fontweight="bold", color="#b00020", alpha=0.16, zorder=0,
            )  # fmt: skip
            figure.supxlabel(FOOTNOTE, fontsize=8, color="#b00020")
        for suffix in FORMATS:
            # Dates and program versions would make every file different.
            metadata = {"Date": None, "Creator": None} if suffix == "svg" else {"Software": None}
            figure.savefig(folder / f"{name}.{suffix}", metadata=metadata)
