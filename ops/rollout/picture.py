"""The simulated rollout above what happened: the same steps in the same rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import matplotlib.style
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ops.rollout.comparison import Comparison
from ops.rollout.measured import Measured
from ops.rollout.phases import Bound
from pages.figures import INK, QUIET, STYLE, inline
from pages.palette import PALETTE

_ASSUMED, _MEASURED, _ON_COLOUR = (PALETTE[name].light for name in ("unpaid", "decode", "on-colour"))
_SIZES = {"wide": (10.5, 0.62), "narrow": (4.7, 0.72)}
"""Inches: width, and height of a row of both."""
_LETTERS = 4.5
"""Of a label, to an inch of width."""
_ALIKE = 6.0
"""Times that one may be longer than the other on one scale; beyond it the shorter one would be a stroke."""
_SECONDS_BELOW = 3.0
"""Minutes below which an axis is in seconds."""


@dataclass(frozen=True)
class _Clock:
    """The axis of time. many: how many units a minute has. letters: how many find room along all of it."""

    axis: Axes
    unit: str
    many: float
    letters: float


def draw(found: Measured, folder: Path) -> Iterator[Path]:
    """Write measured.png and measured.svg; yields each path."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.style.context(STYLE):
        figure = _figure(found.comparison, "wide", found.simulated)
        title = f"{found.stack}: assumed and measured"
        figure.suptitle(title, x=0.01, horizontalalignment="left", fontweight="bold")
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            path = folder / f"measured.{suffix}"
            figure.savefig(path, metadata=metadata)
            yield path


def on_page(found: Measured, *, narrow: bool) -> Markup:
    """The picture to stand in a page, as wide as the page or as a phone."""
    size = "narrow" if narrow else "wide"
    with mpl.style.context([STYLE, {"font.size": 10}]):
        figure = _figure(found.comparison, size, found.simulated)
        return inline(figure, f"compared-{size}", "Rollout, assumed and measured")


def _figure(found: Comparison, size: str, simulated: str) -> Figure:
    width, row = _SIZES[size]
    names = _names(found)
    lengths = (found.assumed_ready, _length(found))
    alike = max(lengths) < _ALIKE * max(min(lengths), 1e-9)
    figure = Figure(figsize=(width, 1.6 + row * len(names)), dpi=120, layout="constrained")
    above, below = figure.subplots(2, 1)
    ends = [max(lengths)] * 2 if alike else lengths
    _assumed(_clock(above, ends[0], width * _LETTERS), found, names)
    _measured(_clock(below, ends[1], width * _LETTERS), found, names)
    if simulated:
        below.set_xlabel(f"{below.get_xlabel()}; simulated: {simulated}")
    figure.legend(
        handles=[
            Patch(color=_ASSUMED, label="assumed"),
            Patch(color=_MEASURED, label="measured"),
            Patch(facecolor="none", edgecolor=_MEASURED, hatch="///", label="a bound"),
            Line2D([], [], color=INK, linestyle=":", label="ready"),
        ],
        loc="outside upper right",
        ncols=4 if size == "wide" else 2,
        frameon=False,
        columnspacing=1.2,
        handlelength=1.4,
    )
    return figure


def _names(found: Comparison) -> list[str]:
    """Of both, in the simulation's order."""
    simulated = [step.name for step in found.simulated.steps]
    return [*simulated, *(each.name for each in found.happened.phases if each.name not in simulated)]


def _length(found: Comparison) -> float:
    """Minutes until the last thing that is drawn of what happened."""
    began = found.happened.began
    ends = [(phase.end - began).total_seconds() / 60 for phase in found.happened.phases]
    return max([*ends, found.ready or 0.0])


def _clock(axis: Axes, end: float, letters: float) -> _Clock:
    """end: minutes."""
    unit, many = ("min", 1.0) if end >= _SECONDS_BELOW else ("s", 60.0)
    axis.set_xlim(0, max(1.08 * end * many, 1.0))
    return _Clock(axis, unit, many, letters)


def _assumed(clock: _Clock, found: Comparison, names: list[str]) -> None:
    for step in found.simulated.steps:
        minutes = (step.start - found.assumed_from, step.end - found.assumed_from)
        _bar(clock, names.index(step.name), minutes, _ASSUMED)
    ready = found.assumed_ready * clock.many
    clock.axis.axvline(ready, color=INK, linestyle=":")
    _rows(clock.axis, names)
    clock.axis.set_title(f"assumed: ready after {ready:.0f} {clock.unit}", loc="left", fontsize=10)
    clock.axis.set_xlabel(f"{clock.unit}, simulated from assumptions")


def _measured(clock: _Clock, found: Comparison, names: list[str]) -> None:
    happened, axis = found.happened, clock.axis
    for phase in happened.phases:
        start, end = ((at - happened.began).total_seconds() / 60 for at in (phase.start, phase.end))
        _bar(clock, names.index(phase.name), (start, end), _MEASURED, phase.bound)
    for name in names:
        if name in happened.unknown:
            axis.text(axis.get_xlim()[1] / 100, names.index(name), "not known", va="center", color=QUIET)
    ready = "not ready, as far as is known"
    if found.ready is not None:
        axis.axvline(found.ready * clock.many, color=INK, linestyle=":")
        ready = f"ready after {found.ready * clock.many:.3g} {clock.unit}"
    _rows(axis, names)
    axis.set_title(f"measured: {ready}", loc="left", fontsize=10)
    axis.set_xlabel(f"{clock.unit} since {happened.began_with}")


def _bar(
    clock: _Clock, row: int, minutes: tuple[float, float], colour: str, bound: Bound = Bound.EXACT
) -> None:
    """minutes: its start and end; what ended before the clock starts is said alone. bound: hatched where it is one."""
    start, end = (each * clock.many for each in minutes)
    length = f"{end - start:.1f}".removesuffix(".0")
    label = f"{bound} {length} {clock.unit}".strip()
    if start < 0 >= end:
        clock.axis.text(clock.axis.get_xlim()[1] / 100, row, f"before: {label}", va="center", color=QUIET)
        return
    bar = clock.axis.barh(row, end - start, left=start, height=0.7, color=colour)
    if bound:
        for patch in bar:
            patch.set(facecolor="none", edgecolor=colour, hatch="///")
    whole = clock.axis.get_xlim()[1]
    fits = not bound and (end - start) / whole * clock.letters > len(label) + 1
    at_left = not fits and end / whole > 1 - len(label) / clock.letters
    where = start + (end - start) / 2 if fits else start - whole / 100 if at_left else end + whole / 100
    clock.axis.text(
        where,
        row,
        label,
        ha="center" if fits else "right" if at_left else "left",
        va="center",
        color=_ON_COLOUR if fits else INK,
    )


def _rows(axis: Axes, names: list[str]) -> None:
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
