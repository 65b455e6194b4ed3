"""Drawings of boxes in boxes: records with every place worked out, and the few functions that place them. Pure.

Lengths are in units of the drawing, which is shown at about a pixel each. Texts are measured in DejaVu Sans, which is
wider than the fonts that browsers choose for `system-ui`, so what fits here fits there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

LINE = 1.35
"""Height of a line of text for each unit of its size."""
NAME, SMALL = 15.0, 12.5
"""Sizes of a box's first line and of the others."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """A line of words from x to the right, its baseline at y."""

    x: float
    y: float
    words: str
    size: float = SMALL
    bold: bool = False
    kind: str = "small"

    @property
    def width(self) -> float:
        """Its width."""
        return text_width(self.words, self.size, self.bold)


@dataclass(frozen=True, kw_only=True)
class Box:
    """A rectangle with what lies in it. kind: its CSS class. title: what hovering over it says."""

    x: float = 0.0
    y: float = 0.0
    width: float
    height: float
    kind: str
    texts: tuple[Text, ...] = ()
    boxes: tuple["Box", ...] = ()
    links: tuple["Link", ...] = ()
    title: str = ""

    def moved(self, x: float, y: float) -> "Box":
        """The box and all in it, by so much."""
        return replace(
            self,
            x=self.x + x,
            y=self.y + y,
            texts=tuple(replace(text, x=text.x + x, y=text.y + y) for text in self.texts),
            boxes=tuple(box.moved(x, y) for box in self.boxes),
            links=tuple(link.moved(x, y) for link in self.links),
        )

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.height

    @property
    def middle(self) -> tuple[float, float]:
        """Its middle."""
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True, kw_only=True)
class Link:
    """A line through points, with an arrow at its end, or at both."""

    points: tuple[tuple[float, float], ...]
    kind: str = "request"
    both: bool = False
    label: Text | None = None

    def moved(self, x: float, y: float) -> "Link":
        """The line by so much."""
        label = self.label and replace(self.label, x=self.label.x + x, y=self.label.y + y)
        return replace(self, points=tuple((px + x, py + y) for px, py in self.points), label=label)


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Boxes and the lines between them. name: unique on its page. title, description: for those who do not see it."""

    name: str
    title: str
    description: str
    width: float
    height: float
    boxes: tuple[Box, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, kw_only=True)
class Words:
    """A line of a box before it is wrapped."""

    words: str
    kind: str = "small"

    @property
    def size(self) -> float:
        """Size of its letters."""
        return NAME if self.kind == "name" else SMALL


Element = Callable[[float], Box]
"""Makes a box at the origin for a width."""


@cache
def text_width(words: str, size: float, bold: bool = False) -> float:
    """Width of one line."""
    font = FontProperties(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")
    return float(TextToPath().get_text_width_height_descent(words, font, ismath=False)[0])


def wrapped(words: str, size: float, width: float, bold: bool = False) -> list[str]:
    """The words as lines of no more than the width; a word that is wider alone is broken where it must be."""
    lines: list[str] = []
    for word in words.split():
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(joined, size, bold) <= width:
            lines[-1] = joined
            continue
        rest = word
        while text_width(rest, size, bold) > width and len(rest) > 1:
            fits = max(
                (n for n in range(1, len(rest)) if text_width(rest[:n], size, bold) <= width), default=1
            )
            lines.append(rest[:fits])
            rest = rest[fits:]
        lines.append(rest)
    return lines


def frame(
    width: float,
    kind: str,
    words: Sequence[Words],
    rows: Sequence[Sequence[Box]] = (),
    *,
    padding: float = 12.0,
    gap: float = 10.0,
    title: str = "",
) -> Box:
    """A box of a width with wrapped words, and under them rows of boxes that were placed from its left padding."""
    texts: list[Text] = []
    y = padding
    for line in words:
        bold = line.kind == "name"
        for part in wrapped(line.words, line.size, width - 2 * padding, bold):
            y += line.size * LINE
            texts.append(
                Text(
                    x=padding,
                    y=y - line.size * 0.35,
                    words=part,
                    size=line.size,
                    bold=bold,
                    kind=line.kind,
                )
            )
    boxes: list[Box] = []
    for row in rows:
        y += gap if texts or boxes else 0
        boxes += [box.moved(padding, y) for box in row]
        y += max((box.bottom for box in row), default=0.0)
    return Box(
        width=width, height=y + padding, kind=kind, texts=tuple(texts), boxes=tuple(boxes), title=title
    )


def grid(elements: Sequence[Element], width: float, least: float, gap: float = 10.0) -> Iterator[list[Box]]:
    """The elements in rows of equal columns of at least that width, each row's boxes of one height."""
    columns = max(1, min(len(elements), int((width + gap) / (least + gap))))
    each = (width - gap * (columns - 1)) / columns
    for begin in range(0, len(elements), columns):
        row = [element(each) for element in elements[begin : begin + columns]]
        height = max(box.height for box in row)
        yield [replace(box, height=height).moved(n * (each + gap), 0) for n, box in enumerate(row)]
