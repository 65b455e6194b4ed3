"""A picture of what a command shows on a terminal, as it was: `python -m docs.generate.recording FILE.svg COMMAND …`.

The command runs on a terminal of its own, 100 columns wide; the SVG plays its screens three times as fast as they came,
pauses shortened, and rests on the last. Nothing in it is made up.
"""

import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from xml.sax.saxutils import escape

import pyte

COLUMNS, ROWS = 100, 40
_EVERY_SECONDS, _LONGEST_SECONDS, _REST_SECONDS = 0.4, 2.0, 6.0
"""Between two screens; that one is shown at most; that the last is."""
_FASTER = 3
"""Times as fast as it was; the clocks on the screens are those that it had."""
_CHARACTER, _LINE, _MARGIN = 8.4, 18, 14
_COLOURS = {
    "green": "#7ee787",
    "yellow": "#e3b341",
    "brown": "#e3b341",
    "red": "#ff7b72",
    "default": "#e6edf3",
}
_BACKGROUND, _DIM = "#0d1117", "#8b949e"

Run = tuple[int, str, str, bool]
"""Column, text, colour, and whether it is bold."""


@dataclass(frozen=True)
class Frame:
    """rows: what stands in each. seconds: how long it stands."""

    rows: tuple[tuple[Run, ...], ...]
    seconds: float


class _Dim(pyte.Screen):
    """pyte has no faint text; it is shown in a colour of its own."""

    def select_graphic_rendition(self, *attributes: int, **kwargs: bool) -> None:
        """As the base class, with 2 as a colour."""
        super().select_graphic_rendition(*(90 if each == 2 else each for each in attributes), **kwargs)


def record(command: Sequence[str]) -> list[Frame]:
    """The screens of a command, one after another. Raises SystemExit with the last where it fails."""
    screen = _Dim(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    frames: list[Frame] = []
    for output, seconds in _chunks(master):
        if frames:
            frames[-1] = Frame(frames[-1].rows, min(frames[-1].seconds + seconds, _LONGEST_SECONDS))
        stream.feed(output)
        rows = _rows(screen)
        if not frames or rows != frames[-1].rows:
            frames.append(Frame(rows, 0.0))
    if process.wait():
        sys.exit("\n".join(line.rstrip() for line in screen.display if line.strip()))
    return [
        *(Frame(each.rows, each.seconds / _FASTER) for each in frames[:-1]),
        Frame(frames[-1].rows, _REST_SECONDS),
    ]


def _chunks(terminal: int) -> Iterator[tuple[bytes, float]]:
    """What came in each interval, and how long that was."""
    began = time.monotonic()
    gathered = b""
    while True:
        ready, _, _ = select.select([terminal], [], [], _EVERY_SECONDS)
        try:
            gathered += os.read(terminal, 65536) if ready else b""
        except OSError:  # Linux's word for: nobody writes to it any more
            break
        took = time.monotonic() - began
        if took >= _EVERY_SECONDS:
            yield gathered, took
            began, gathered = time.monotonic(), b""
    yield gathered, time.monotonic() - began


def _rows(screen: pyte.Screen) -> tuple[tuple[Run, ...], ...]:
    return tuple(tuple(_runs(screen, row)) for row in range(ROWS))


def _runs(screen: pyte.Screen, row: int) -> Iterator[Run]:
    """The row's text, cut where colour changes or much is blank."""
    start, text, style = 0, "", ("default", False)
    for column in range(COLUMNS + 1):
        cell = screen.buffer[row][column] if column < COLUMNS else None
        now = (cell.fg, cell.bold) if cell else None
        if now != style or (cell and cell.data == " " and text.endswith("  ")):
            if text.strip():
                yield start + len(text) - len(text.lstrip()), text.strip(), *style
            start, text, style = column, "", now or style
        text += cell.data if cell else ""


def draw(frames: Sequence[Frame], title: str) -> str:
    """The SVG. Rows that stay the same are drawn once, so that the file stays small."""
    used = max((row for frame in frames for row, runs in enumerate(frame.rows) if runs), default=0) + 1
    total = sum(frame.seconds for frame in frames)
    width, height = COLUMNS * _CHARACTER + 2 * _MARGIN, used * _LINE + 2 * _MARGIN
    shown: dict[tuple[int, tuple[Run, ...]], list[tuple[float, float]]] = {}
    at = 0.0
    for frame in frames:
        for row, runs in enumerate(frame.rows):
            if runs:
                spans = shown.setdefault((row, runs), [])
                if spans and spans[-1][1] == at:
                    spans[-1] = (spans[-1][0], at + frame.seconds)
                else:
                    spans.append((at, at + frame.seconds))
        at += frame.seconds
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        "<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre}"
        ".b{font-weight:700}"
        + "".join(f".{name}{{fill:{colour}}}" for name, colour in _COLOURS.items())
        + f".dim{{fill:{_DIM}}}</style>",
        f'<rect width="100%" height="100%" rx="8" fill="{_BACKGROUND}"/>',
    ]
    for (row, runs), spans in shown.items():
        parts.append(_row(row, runs, spans, total))
    return "\n".join([*parts, "</svg>", ""])


def _row(row: int, runs: Sequence[Run], spans: Sequence[tuple[float, float]], total: float) -> str:
    y = f"{_MARGIN + (row + 0.8) * _LINE:.1f}"
    text = "".join(_text(run, y) for run in runs)
    if spans == [(0.0, total)]:
        return text
    times, values = ["0"], ["0" if spans[0][0] else "1"]
    for begin, end in spans:
        for moment, value in ((begin, "1"), (end, "0")):
            if 0 < moment < total:
                times.append(f"{moment / total:.4f}")
                values.append(value)
    still = "1" if spans[-1][1] == total else "0"
    return (
        f'<g opacity="{still}">{text}<animate attributeName="opacity" calcMode="discrete" dur="{total:.1f}s" '
        f'repeatCount="indefinite" keyTimes="{";".join(times)}" values="{";".join(values)}"/></g>'
    )


def _text(run: Run, y: str) -> str:
    column, text, colour, bold = run
    x, length = f"{_MARGIN + column * _CHARACTER:.1f}", f"{len(text) * _CHARACTER:.1f}"
    style = f"{_class(colour)}{' b' if bold else ''}"
    return f'<text x="{x}" y="{y}" textLength="{length}" class="{style}">{escape(text)}</text>'


def _class(colour: str) -> str:
    if colour in ("brightblack", "black"):
        return "dim"
    return colour if colour in _COLOURS else "default"


def main() -> None:
    """Record a command into a file."""
    path, *command = sys.argv[1:]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(draw(record(command), " ".join(command)))
    print(path)


if __name__ == "__main__":
    main()
