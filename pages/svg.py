"""A drawing of boxes as SVG that stands in a page: its colours are classes of the page's stylesheet. Pure."""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from markupsafe import Markup

from pages.boxes import Box, Drawing, Link, Text

_ROUND = {"gpu": 3}
"""Corners by the first word of a kind."""


def svg(drawing: Drawing) -> Markup:
    """The drawing, with its description for those who do not see it."""
    name = drawing.name
    return Markup(
        "\n".join(
            [
                f'<svg class="drawing" viewBox="0 0 {drawing.width:g} {drawing.height:.1f}" role="img" '
                f'aria-labelledby="{name}-title {name}-description">',
                f'<title id="{name}-title">{escape(drawing.title)}</title>',
                f'<desc id="{name}-description">{escape(drawing.description)}</desc>',
                "<defs>",
                *(_arrow(name, kind) for kind in sorted(_kinds(drawing))),
                "</defs>",
                *(line for box in drawing.boxes for line in _box(box, name)),
                *(line for link in drawing.links for line in _link(link, name)),
                "</svg>",
            ]
        )
    )


def _kinds(drawing: Drawing) -> set[str]:
    return {link.kind for link in drawing.links} | {kind for box in drawing.boxes for kind in _kinds_in(box)}


def _kinds_in(box: Box) -> Iterator[str]:
    yield from (link.kind for link in box.links)
    for each in box.boxes:
        yield from _kinds_in(each)


def _arrow(name: str, kind: str) -> str:
    size = 'viewBox="0 0 10 10" refX="9" refY="5" markerWidth="10" markerHeight="10" markerUnits="userSpaceOnUse"'
    return (
        f'<marker id="{name}-{kind}" class="head {kind}" {size} orient="auto-start-reverse">'
        '<path d="M0 0 10 5 0 10z"/></marker>'
    )


def _box(box: Box, name: str) -> Iterator[str]:
    yield f'<g class="box {box.kind}">'
    if box.title:
        yield f"<title>{escape(box.title)}</title>"
    corner = _ROUND.get(box.kind.split()[0], 8)
    yield (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="{corner}"/>'
    )
    yield from map(_text, box.texts)
    for each in box.boxes:
        yield from _box(each, name)
    for link in box.links:
        yield from _link(link, name)
    yield "</g>"


def _link(link: Link, name: str) -> Iterator[str]:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in link.points)
    start = f' marker-start="url(#{name}-{link.kind})"' if link.both else ""
    yield (
        f'<polyline class="link {link.kind}" points={quoteattr(points)}{start} '
        f'marker-end="url(#{name}-{link.kind})"/>'
    )
    if link.label:
        yield _text(link.label)


def _text(text: Text) -> str:
    return (
        f'<text class="{text.kind}" x="{text.x:.1f}" y="{text.y:.1f}" font-size="{text.size:g}">'
        f"{escape(text.words)}</text>"
    )
