"""A terminal as a picture: what a program really wrote, in the order in which it did."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.generate.recording import Frame, draw, record

PROGRAM = r"""
import sys, time
print("\x1b[1mbegin\x1b[0m <&>", flush=True)
print("\x1b[32mgoing\x1b[0m", end="", flush=True); time.sleep(5)
print("\rthere, wide" + " " * 10 + "\x1b[2mfaint\x1b[0m", flush=True); time.sleep(0.6)
"""


def test_its_screens_are_those_that_the_program_wrote() -> None:
    frames = record([sys.executable, "-c", PROGRAM])
    texts = [[text for row in frame.rows for _, text, _, _ in row] for frame in frames]
    assert ["begin", "<&>", "going"] in texts
    assert texts[-1] == ["begin", "<&>", "there, wide", "faint"]
    colours = {text: (colour, bold) for row in frames[-1].rows for _, text, colour, bold in row}
    assert colours["begin"] == ("default", True)
    assert colours["faint"][0] == "brightblack"


def test_a_program_that_fails_leaves_no_picture() -> None:
    with pytest.raises(SystemExit, match="no such stack"):
        record([sys.executable, "-c", "import sys; print('no such stack'); sys.exit(1)"])


def test_the_picture_plays_what_changes_and_keeps_what_stays() -> None:
    still = ((0, "title", "default", True),)
    frames = [
        Frame((still, ((0, "going", "brown", False),)), 1.0),
        Frame((still, ((0, "done & gone", "green", False),)), 3.0),
    ]
    drawn = ElementTree.fromstring(draw(frames, "make up"))
    space = {"s": "http://www.w3.org/2000/svg"}
    assert [each.text for each in drawn.findall("s:text", space)] == ["title"]
    groups = drawn.findall("s:g", space)
    assert [(each.get("opacity"), each.find("s:text", space).text) for each in groups] == [  # type: ignore[union-attr]
        ("0", "going"),
        ("1", "done & gone"),
    ]
    played = groups[1].find("s:animate", space)
    assert played is not None
    assert (played.get("keyTimes"), played.get("values")) == ("0;0.2500", "0;1")


def test_the_readme_s_picture_is_small_and_whole() -> None:
    path = Path(__file__).parents[2] / "docs" / "pictures" / "up.svg"
    assert path.stat().st_size < 150_000
    assert "is ready after" in "".join(ElementTree.parse(path).getroot().itertext())
