"""The picture of what was assumed and what was measured."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ops.rollout.measured import Measured
from ops.rollout.picture import draw, on_page
from tests.ops.rollout.test_comparison import compared, in_a_block

FOUND = Measured(stack="mine", comparison=compared(), simulated="")


def words(path: Path) -> list[str]:
    return [each.text or "" for each in ElementTree.parse(path).iter() if each.tag.endswith("text")]


def test_both_are_drawn_with_every_step(tmp_path: Path) -> None:
    png, svg = draw(FOUND, tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    texts = words(svg)
    assert texts.count("download") == texts.count("model load") == 2
    assert {"36 min", "12 min", "at least 2.5 min", "not known"} <= {text.strip() for text in texts}
    assert "assumed: ready after 72 min" in texts
    assert "measured: ready after 31 min" in texts


def test_what_was_before_a_block_is_said_and_not_drawn(tmp_path: Path) -> None:
    _, svg = draw(Measured(stack="mine", comparison=in_a_block(), simulated=""), tmp_path)
    texts = [text.strip() for text in words(svg)]
    assert {"before: 12 min", "before: at least 1.5 min"} <= set(texts)
    assert "before: 36.3 min" in texts
    assert "measured: ready after 17 min" in texts
    assert "min since the Capacity Block's begin" in texts


def test_it_is_the_same_to_the_byte(tmp_path: Path) -> None:
    first, second = ([path.read_bytes() for path in draw(FOUND, tmp_path / name)] for name in ("a", "b"))
    assert first == second


@pytest.mark.parametrize("narrow", [True, False])
def test_a_page_says_what_is_simulated(narrow: bool) -> None:
    text = on_page(Measured(stack="mine", comparison=compared(), simulated="nodes"), narrow=narrow)
    assert re.search(r">[^<]*simulated: nodes<", text)
