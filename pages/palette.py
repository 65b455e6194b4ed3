"""The colours of pages and their pictures, light and dark. Pure."""

from typing import NamedTuple


class Colour(NamedTuple):
    """A colour on light pages, and what takes its place on dark ones."""

    light: str
    dark: str


PALETTE = {
    "page": Colour("#f4f7f8", "#11181b"),
    "card": Colour("#ffffff", "#1a2327"),
    "ink": Colour("#1b2529", "#e9eff1"),
    "quiet": Colour("#4d5f67", "#a9b8bf"),
    "line": Colour("#cfd9de", "#3a4a52"),
    "accent": Colour("#00695c", "#5cc9ba"),
    "warning": Colour("#a8241d", "#ff9c91"),
    "warning-soft": Colour("#fdeeec", "#3a2220"),
    "prefill": Colour("#5b3fb5", "#b9a5ff"),
    "prefill-soft": Colour("#f0ecfb", "#2a2540"),
    "decode": Colour("#00695d", "#5cc9bb"),
    "decode-soft": Colour("#e4f3f0", "#16332f"),
    "idle": Colour("#e7edf0", "#26333a"),
    "kv": Colour("#a3195b", "#ff9cc4"),
    "kv-soft": Colour("#fbeaf2", "#3b2130"),
    "paid": Colour("#b3372d", "#f28b7d"),
    "unpaid": Colour("#2a6496", "#7cb8e8"),
    "on-colour": Colour("#fefefe", "#10171a"),
    "series-1": Colour("#1b6ca8", "#6fb7ee"),
    "series-2": Colour("#b5364a", "#f58a99"),
    "series-3": Colour("#2f6f39", "#7fce8b"),
    "series-4": Colour("#7a4bab", "#c9a2f2"),
    "series-5": Colour("#8f5a00", "#e7b25a"),
    "series-6": Colour("#4a4a4a", "#c4c4c4"),
}
"""By name; a page's CSS has each as a variable of that name. No two light ones are the same, so that a picture that was
drawn in them can be given the variables."""
SERIES = tuple(PALETTE[name].light for name in PALETTE if name.startswith("series-"))
"""Colours of curves beside each other."""


def variables(scheme: str) -> str:
    """The CSS declarations of one scheme, `light` or `dark`."""
    return " ".join(f"--{name}: {getattr(colour, scheme)};" for name, colour in PALETTE.items())
