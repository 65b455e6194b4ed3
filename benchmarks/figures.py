"""What a benchmark found: a figure, what it is a multiple of, and what it should be. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import log
from statistics import linear_regression
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure. unit: `s CPU` (user time), `s` or `ms` (by the clock), or nothing. skipped: why nothing was measured.

    ratio: to what `beside` names, in the same run. most: the target, for the ratio where there is one and `of_value` is
    not said. mebibytes: the most memory that it had.
    """

    name: str
    value: float | None = None
    unit: str = ""
    ratio: float | None = None
    beside: str = ""
    most: float | None = None
    of_value: bool = False
    mebibytes: float | None = None
    skipped: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without a target or a measurement."""
        judged = self.value if self.of_value or self.ratio is None else self.ratio
        return None if self.most is None or judged is None else judged <= self.most

    def data(self) -> dict[str, Any]:
        """What the history keeps of it: all that is said, and whether the target is met."""
        said = {
            key: value
            for key, value in asdict(self).items()
            if value is not None and value != "" and value is not False
        }
        return said if self.met is None else {**said, "met": self.met}


def table(figures: Sequence[Figure]) -> Iterator[str]:
    """Lines of a table, a figure each."""
    rows = [("figure", "value", "ratio", "beside", "target", ""), *map(_row, figures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if place in (1, 2, 4) else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def exponent(sizes: Iterable[float], seconds: Iterable[float]) -> float:
    """The p of seconds ~ size^p that fits best: the slope of the line through their logarithms, by least squares."""
    points = [(log(size), log(each)) for size, each in zip(sizes, seconds, strict=True)]
    return linear_regression(*zip(*points, strict=True)).slope


def _row(figure: Figure) -> tuple[str, ...]:
    value = "" if figure.value is None else f"{figure.value:.2f} {figure.unit}".strip()
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}×"
    sign = "×" if figure.ratio is not None and not figure.of_value else f" {figure.unit}".rstrip()
    target = "" if figure.most is None else f"≤ {figure.most:g}{sign}"
    verdict = {True: "met", False: "not met", None: ""}[figure.met]
    return figure.name, value, ratio, figure.beside, target, figure.skipped or verdict
