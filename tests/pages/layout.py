"""What is wrong with a drawing by its own numbers."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from pages.boxes import Box, Drawing, Text

_DEPTH = 0.35
"""How far letters reach below their line, for each unit of their size."""


def faults(drawing: Drawing) -> list[str]:
    """Texts and boxes that leave what they are in, boxes that cover each other, labels that are on a box."""
    whole = Box(width=drawing.width, height=drawing.height, kind="whole", boxes=drawing.boxes)
    found = [*_in(whole)]
    for link in drawing.links:
        if any(not (0 <= x <= drawing.width and 0 <= y <= drawing.height) for x, y in link.points):
            found.append(f"a line leaves the drawing: {link.points}")
        if link.label:
            found += [
                f"{link.label.words!r} is on a box" for box in drawing.boxes if _covers(box, link.label)
            ]
            found += [f"{link.label.words!r} leaves the drawing"] * (not _holds(whole, link.label))
    return found


def texts(boxes: Sequence[Box]) -> Iterator[Text]:
    """All texts of the boxes."""
    for box in boxes:
        yield from box.texts
        yield from texts(box.boxes)


def every(boxes: Sequence[Box]) -> Iterator[Box]:
    """All boxes, and those in them."""
    for box in boxes:
        yield box
        yield from every(box.boxes)


def _in(box: Box) -> Iterator[str]:
    for text in box.texts:
        if not _holds(box, text):
            yield f"{text.words!r} leaves its box"
        for each in box.boxes:
            if _covers(each, text):
                yield f"{text.words!r} is on a box"
    for each in box.boxes:
        if (
            each.x < box.x
            or each.y < box.y
            or each.right > box.right + 0.01
            or each.bottom > box.bottom + 0.01
        ):
            yield f"a box of kind {each.kind} leaves one of kind {box.kind}"
        yield from _in(each)
    for one, other in combinations(box.boxes, 2):
        if one.x < other.right and other.x < one.right and one.y < other.bottom and other.y < one.bottom:
            yield f"boxes of kind {one.kind} and {other.kind} cover each other"


def _holds(box: Box, text: Text) -> bool:
    return (
        box.x <= text.x
        and text.x + text.width <= box.right + 0.01
        and box.y <= text.y - text.size
        and text.y + _DEPTH * text.size <= box.bottom
    )


def _covers(box: Box, text: Text) -> bool:
    return (
        text.x < box.right
        and box.x < text.x + text.width
        and text.y - text.size * 0.75 < box.bottom
        and box.y < text.y
    )
