"""Boxes are as large as what is in them, and the faults of a drawing are seen."""

from dataclasses import replace
from functools import partial

import pytest

from pages.boxes import NAME, Box, Drawing, Link, Text, Words, frame, grid, text_width, wrapped
from tests.pages.layout import faults

WORDS = "prefill and decode workers of one node hand KV cache to each other"


def drawn(*boxes: Box, links: tuple[Link, ...] = ()) -> Drawing:
    return Drawing(name="d", title="", description="", width=300, height=900, boxes=boxes, links=links)


def plain(width: float, height: float = 20) -> Box:
    return Box(width=width, height=height, kind="plain")


@pytest.mark.parametrize("width", [60, 120, 400])
def test_wrapped_lines_are_no_wider_and_lose_no_word(width: float) -> None:
    lines = wrapped(WORDS, NAME, width)
    assert " ".join(lines) == WORDS
    assert max(text_width(line, NAME) for line in lines) <= width


def test_a_word_that_is_too_wide_is_broken() -> None:
    lines = wrapped("gpt-oss-disaggregated-with-a-name-of-sixty-three-characters", NAME, 80)
    assert "".join(lines) == "gpt-oss-disaggregated-with-a-name-of-sixty-three-characters"
    assert max(text_width(line, NAME) for line in lines) <= 80


def test_bold_words_are_wider() -> None:
    assert text_width(WORDS, NAME, bold=True) > text_width(WORDS, NAME)


@pytest.mark.parametrize("width", [90, 200, 290])
def test_a_frame_holds_its_words_and_its_rows(width: float) -> None:
    rows = list(grid([plain] * 5, width - 24, least=40))
    box = frame(width, "frame", [Words(words=WORDS, kind="name"), Words(words=WORDS)], rows)
    assert faults(drawn(box)) == []
    assert box.width == width


def test_a_grid_has_as_many_columns_as_find_room_in_rows_of_one_height() -> None:
    elements = [partial(plain, height=height) for height in (10, 30, 20)]
    first, second = grid(elements, 110, least=50, gap=10)
    assert [(box.x, box.width, box.height) for box in first] == [(0, 50, 30), (60, 50, 30)]
    assert [(box.x, box.width) for box in second] == [(0, 50)]


def test_moving_a_box_moves_all_in_it() -> None:
    inner = replace(plain(10), texts=(Text(x=1, y=2, words="w"),))
    box = replace(plain(20), boxes=(inner,), links=(Link(points=((0, 0), (1, 1))),)).moved(5, 6)
    assert (box.boxes[0].x, box.boxes[0].texts[0].y, box.links[0].points[1]) == (5, 8, (6, 7))


@pytest.mark.parametrize(
    ("drawing", "fault"),
    [
        (drawn(plain(400)), "a box of kind plain leaves one of kind whole"),
        (drawn(plain(50), plain(40)), "boxes of kind plain and plain cover each other"),
        (drawn(replace(plain(50), texts=(Text(x=0, y=15, words=WORDS),))), f"{WORDS!r} leaves its box"),
        (
            drawn(plain(50), links=(Link(points=(), label=Text(x=10, y=15, words="w")),)),
            "'w' is on a box",
        ),
        (drawn(links=(Link(points=((0, 0), (301, 0))),)), "a line leaves the drawing: ((0, 0), (301, 0))"),
    ],
)
def test_faults_are_seen(drawing: Drawing, fault: str) -> None:
    assert faults(drawing) == [fault]
