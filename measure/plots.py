"""Plots of benchmark runs with units on every axis: as files that say what is simulated, and for pages."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import matplotlib as mpl
import matplotlib.style
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from measure.results import METRIC, Band, Metric, Results
from pages.figures import STYLE, inline
from pages.palette import PALETTE, SERIES

FORMATS = ("png", "svg")
WATERMARK = "SIMULATED ENGINES"
FOOTNOTE = "Simulated engines: these figures describe the simulation, not GPT-OSS-120B on any hardware."

_GRID = {"axes.grid": True, "axes.axisbelow": True}
_SIZE, _ON_PAGES = (8.0, 5.0), (5.2, 3.9)
"""Inches. On pages they are as wide as a phone."""
_WARNING = PALETTE["warning"].light
_LOOKS = (("-", "o", None), ("--", "^", "white"))
"""Line, marker and its filling: of p50, then of p99."""

Runs = Sequence[tuple[str, Results]]
"""Each run with its label."""


@dataclass(frozen=True)
class _Plot:
    name: str
    title: str
    draw: Callable[[Axes], None]


def write(runs: Runs, folder: Path) -> list[str]:
    """Draw every plot for the runs as files; returns the plots' names without suffix."""
    folder.mkdir(parents=True, exist_ok=True)
    simulated = any(results.run.simulated for _, results in runs)
    plots = list(_plots(runs))
    for plot in plots:
        with mpl.style.context([STYLE, _GRID]):
            figure = _figure(plot, _SIZE)
            axes = figure.axes[0]
            axes.set_title(f"{plot.title}{_bands_note(runs)}")
            if simulated:
                axes.text(
                    0.5, 0.5, WATERMARK, transform=axes.transAxes, ha="center", va="center", rotation=25,
                    fontsize=34, fontweight="bold", color=_WARNING, alpha=0.16, zorder=0,
                )  # fmt: skip
                figure.supxlabel(FOOTNOTE, fontsize=8, color=_WARNING)
            for suffix in FORMATS:
                # Dates and program versions would make every file different.
                metadata = {"Date": None, "Creator": None} if suffix == "svg" else {"Software": None}
                figure.savefig(folder / f"{plot.name}.{suffix}", metadata=metadata)
    return [plot.name for plot in plots]


def on_page(runs: Runs) -> list[tuple[str, Markup]]:
    """Every plot for the runs with its title, to stand in a page that says itself what is simulated."""
    drawn = []
    for plot in _plots(runs):
        with mpl.style.context([STYLE, _GRID, {"axes.labelsize": 10}]):
            figure = _figure(plot, _ON_PAGES)
            drawn.append((plot.title, inline(figure, f"plot-{plot.name}", plot.title)))
    return drawn


def _plots(runs: Runs) -> Iterator[_Plot]:
    """None where one concurrency was measured, for a point is no curve; without GPUs no throughput of one."""
    if len({concurrency for _, results in runs for concurrency in results.concurrencies}) < 2:
        return
    if any(results.run.hardware.gpus for _, results in runs):
        title = "Throughput against speed; labels are concurrent requests"
        yield _Plot("pareto", title, partial(_pareto, runs=runs))
    for name in ("throughput", "ttft", "itl"):
        label = _metrics(name)[0].label.removesuffix(", p50")
        yield _Plot(name, f"{label} over concurrency", partial(_over_concurrency, runs=runs, name=name))


def _metrics(name: str) -> list[Metric]:
    """What a plot over the concurrency shows: of latencies p50 and p99."""
    return [METRIC[name]] if name in METRIC else [METRIC[f"{name}-p50"], METRIC[f"{name}-p99"]]


def _pareto(axes: Axes, runs: Runs) -> None:
    """Speed of one user against throughput of one GPU: up and to the right is better."""
    x, y = METRIC["per-user"], METRIC["throughput-per-gpu"]
    for position, ((label, results), colour) in enumerate(zip(runs, _colours(runs), strict=True)):
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
        # Of the second run on the other side, that labels of two points near each other are apart.
        side = -1 if position % 2 else 1
        for concurrency, right, top in zip(results.concurrencies, across, up, strict=True):
            axes.annotate(
                f"c{concurrency}",
                (right.mean, top.mean),
                xytext=(7 * side, -11),
                textcoords="offset points",
                ha="right" if side < 0 else "left",
                fontsize=9,
            )
    axes.set_xlabel(f"{x.label} [{x.unit}]")
    axes.set_ylabel(f"{y.label} [{y.unit}]")
    axes.set_xlim(0, 1.1 * axes.get_xlim()[1])


def _over_concurrency(axes: Axes, runs: Runs, name: str) -> None:
    """A quantity over the concurrency, with the band of its repetitions."""
    metrics = _metrics(name)
    for (label, results), colour in zip(runs, _colours(runs), strict=True):
        for metric, (line, marker, filling) in zip(metrics, _LOOKS, strict=False):
            bands = _bands(results, metric)
            axes.plot(
                results.concurrencies,
                [band.mean for band in bands],
                line,
                marker=marker,
                markerfacecolor=filling or colour,
                color=colour,
                label=f"{label}, {metric.name[-3:]}" if len(metrics) > 1 else label,
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
    axes.set_ylabel(f"{metrics[0].label.removesuffix(', p50')} [{metrics[0].unit}]")


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
    return [SERIES[position % len(SERIES)] for position in range(len(runs))]


def _bands_note(runs: Runs) -> str:
    repeated = any(
        len(results.at(concurrency)) > 1 for _, results in runs for concurrency in results.concurrencies
    )
    return "\nbands: lowest to highest of the repetitions" if repeated else ""


def _figure(plot: _Plot, size: tuple[float, float]) -> Figure:
    """The plot without a title, from zero: only then do differences look as large as they are."""
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.margins(x=0.08)
    plot.draw(axes)
    axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    columns = 2 if size == _ON_PAGES and len(axes.get_legend_handles_labels()[1]) > 1 else 1
    if size == _ON_PAGES:
        figure.legend(loc="outside upper left", ncols=columns, frameon=False, fontsize=9)
    else:
        axes.legend(frameon=False, fontsize=9, loc="lower left" if plot.name == "pareto" else "best")
    return figure
