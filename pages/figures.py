"""A matplotlib figure as SVG that stands in a page and changes its colours with it."""

import io
import re

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.figure import Figure

from pages.palette import PALETTE

INK, QUIET, LINE = (PALETTE[name].light for name in ("ink", "quiet", "line"))
STYLE = {
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "font.size": 11,
    "grid.color": LINE,
    "savefig.dpi": 150,
    "savefig.facecolor": "white",
    "svg.fonttype": "none",  # words stay words: searchable, and a third of the size
    "svg.hashsalt": "dynamo-gpt-oss",  # the same figure gives the same file
    "text.color": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
}
"""matplotlib's settings for every picture; colours are those of light pages."""
_BY_HEX = {colour.light: f"var(--{name})" for name, colour in PALETTE.items()}
_HEAD = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>\s*", re.DOTALL)
_GROUP_ID = re.compile(r' id="[A-Za-z0-9.]+_\d+"')
"""Of groups, which several figures of a page would have in common; what is referred to has names of another kind."""
_SIZE = re.compile(r'<svg ([^>]*?)width="[\d.]+pt" height="[\d.]+pt"')
_FONT = re.compile(r"font: (?P<weight>bold |\d{3} )?(?P<size>[\d.]+)px [^;\"]*")


def inline(figure: Figure, name: str, title: str) -> Markup:
    """The figure, transparent, in the page's own colours and fonts.

    name: unique on the page. title: for those who do not see it.
    """
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = _METADATA.sub("", _HEAD.sub("", buffer.getvalue()))
    text = _GROUP_ID.sub("", text)
    text = _FONT.sub(lambda found: f"font: {found['weight'] or ''}{found['size']}px var(--font)", text)
    # In a page of HTML these say nothing.
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text).replace("xlink:href", "href")
    text = re.sub(r"#[0-9a-f]{6}\b", lambda found: _BY_HEX.get(found[0], found[0]), text)
    head = f'<svg class="figure" role="img" aria-label="{Markup.escape(title)}" '
    return Markup(_SIZE.sub(lambda found: head + found[1], text, count=1))
