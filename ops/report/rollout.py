"""The measured timeline of a stack's last `up`: a row has a bar while it is under way, a line once it is done."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.style
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ops.watch.view import Mark
from pages.figures import INK, QUIET, STYLE, inline
from pages.palette import PALETTE

_SIZES = {"wide": (10.5, 34), "narrow": (4.7, 16)}
"""Inches of width, and letters that find room beside a picture of it."""
_LOOKS = {
    Mark.GOING.value: ("unpaid", "under way"),
    Mark.STUCK.value: ("paid", "cannot go on"),
    Mark.DONE.value: ("decode", "done"),
}
"""By a row's mark: colour, and what it is called."""
_MINUTES_FROM = 180.0
"""Seconds from which an axis is in minutes."""


def last_up(found: Mapping[str, Any], *, narrow: bool) -> Markup:
    """What was kept of an `up`, as a picture."""
    name = "narrow" if narrow else "wide"
    with mpl.style.context([STYLE, {"font.size": 10}]):
        return inline(_figure(found, *_SIZES[name]), f"measured-{name}", "Rollout as it was measured")


def _figure(found: Mapping[str, Any], width: float, letters: int) -> Figure:
    spans: Sequence[Mapping[str, Any]] = found["spans"]
    subjects = list(dict.fromkeys(str(span["subject"]) for span in spans))
    unit, scale = ("minutes", 60.0) if found["seconds"] >= _MINUTES_FROM else ("seconds", 1.0)
    end = max(found["seconds"] / scale, 0.1)
    figure = Figure(figsize=(width, 1.3 + 0.34 * len(subjects)), dpi=120, layout="constrained")
    axis = figure.subplots()
    for span in spans:
        row, start = subjects.index(span["subject"]), span["start"] / scale
        colour = PALETTE[_LOOKS[span["mark"]][0]].light
        if span["mark"] == Mark.DONE.value:
            axis.plot([start], [row], marker="o", color=colour)
            axis.plot([start, end], [row, row], color=colour, linewidth=1.5)
        else:
            axis.barh(row, span["end"] / scale - start, left=start, color=colour, height=0.6)
    axis.set_yticks(range(len(subjects)), [_short(subject, letters) for subject in subjects])
    axis.tick_params(axis="y", length=0)
    axis.invert_yaxis()
    axis.set_xlim(0, end * 1.02)
    axis.set_xlabel(f"{unit} since `up` began", color=INK)
    marks = {span["mark"] for span in spans}
    handles: list[Patch | Line2D] = [
        Line2D([], [], color=PALETTE[colour].light, marker="o", label=label)
        if mark == Mark.DONE.value
        else Patch(color=PALETTE[colour].light, label=label)
        for mark, (colour, label) in _LOOKS.items()
        if mark in marks
    ]
    figure.legend(
        handles=handles,
        loc="outside upper right",
        ncols=len(handles),
        columnspacing=1.2,
        handlelength=1.4,
        frameon=False,
        labelcolor=QUIET,
    )
    return figure


def _short(words: str, letters: int) -> str:
    """Names of pods are long and differ at their end."""
    return words if len(words) <= letters else f"{words[: letters - 6]}…{words[-5:]}"
