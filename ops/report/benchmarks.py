"""Benchmark runs of a stack that are on disk, the newest with those that can be compared with it."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from measure import compare, plots
from measure.report import HTML, Row, cell, moment, number, tiles
from measure.results import METRIC, METRICS, Results, of_stack
from measure.run import RUN_FILE
from pages.tiles import Tile

COMPARED = 4
"""Runs in one picture: more are no longer told apart."""
_SHOWN = ("throughput", "ttft-p50", "itl-p50", "cost")


@dataclass(frozen=True, kw_only=True)
class RunLine:
    """A run in the list. best: figures of its best points, by column. links: files by name, from the page's folder."""

    label: str
    time: str
    shape: str
    hardware: str
    simulated: bool
    problem: str
    best: tuple[str, ...]
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Figures at one concurrency, a row each. change: of the newest against the one before it."""

    concurrency: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class Benchmarks:
    """What was measured of a stack, the newest run first. columns: label and unit of the figures that runs have.

    tiles, curves: of the newest run, the curves with those of runs like it, which are labelled.
    """

    columns: tuple[tuple[str, str], ...]
    runs: tuple[RunLine, ...]
    tiles: tuple[Tile, ...]
    curves: tuple[tuple[str, Markup], ...]
    labels: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    simulated: str


def benchmarks(stack: str, folder: Path, beside: Path) -> Benchmarks | None:
    """The runs of the folder, None without one. beside: the page's folder, from which links go."""
    runs = sorted(of_stack(stack, folder), key=lambda results: results.run.started, reverse=True)
    if not runs:
        return None
    measured = [results for results in runs if results.points]
    alike = list(_alike(measured))[:COMPARED]
    named = dict(zip((results.folder for results in reversed(alike)), "ABCDEFGH", strict=False))
    labelled = [(f"{named[each.folder]}, {moment(each.run.started)}", each) for each in reversed(alike)]
    return Benchmarks(
        columns=tuple((METRIC[name].label, METRIC[name].unit) for name in _SHOWN),
        runs=tuple(_line(results, named.get(results.folder, ""), beside) for results in runs),
        tiles=tuple(tiles(measured[0])) if measured else (),
        curves=tuple(plots.on_page(labelled)) if labelled else (),
        labels=tuple(label for label, _ in labelled),
        comparisons=tuple(_comparisons([results for _, results in labelled])) if len(alike) > 1 else (),
        simulated=measured[0].run.simulated if measured else "",
    )


def _alike(runs: Sequence[Results]) -> Iterator[Results]:
    """The newest, and those that measured the same."""
    for results in runs:
        try:
            compare.check([runs[0], results])
        except compare.NotComparable:
            continue
        yield results


def _line(results: Results, label: str, beside: Path) -> RunLine:
    run = results.run
    files = ((name, results.folder / name) for name in (HTML, RUN_FILE))
    return RunLine(
        label=label,
        time=moment(run.started),
        shape=run.traffic.shape,
        hardware=f"{run.hardware.gpus} × {run.hardware.gpu}",
        simulated=bool(run.simulated),
        problem=run.problem,
        best=tuple(_best(results, name) for name in _SHOWN),
        links=tuple((name, os.path.relpath(path, beside)) for name, path in files if path.is_file()),
    )


def _best(results: Results, name: str) -> str:
    metric = METRIC[name]
    bands = [found for c in results.concurrencies if (found := results.band(metric, c)) is not None]
    return number(max(bands, key=lambda each: metric.better * each.mean).mean) if bands else "–"


def _comparisons(runs: Sequence[Results]) -> Iterator[Comparison]:
    for concurrency in compare.common(runs):
        rows = []
        for metric in METRICS:
            bands = [results.band(metric, concurrency) for results in runs]
            if any(bands):
                cells = [cell(each) for each in bands]
                percent, _, verdict = compare.change(metric, bands[-2:]).partition(" (")
                rows.append(Row(metric.label, metric.unit, (*cells, (percent, verdict.removesuffix(")")))))
        yield Comparison(concurrency=concurrency, rows=tuple(rows))
