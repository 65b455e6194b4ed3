"""Figures that stand large at the head of a page."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Tile:
    """One figure. note: what it rests on. warning: whether it is worth a second look."""

    label: str
    value: str
    unit: str = ""
    note: str = ""
    warning: bool = False
