"""Figures of matplotlib in a page."""

import re
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.style
from matplotlib.figure import Figure

from pages.figures import STYLE, inline
from pages.palette import PALETTE


def figure() -> Figure:
    with mpl.style.context(STYLE):
        made = Figure(figsize=(4, 3))
        axes = made.subplots()
        axes.plot([1, 2], [1, 2], color=PALETTE["series-1"].light, marker="o")
        axes.set_xlabel("x & y")
        return made


def test_its_colours_are_the_pages() -> None:
    text = inline(figure(), "one", "One")
    assert "var(--series-1)" in text
    assert "var(--quiet)" in text
    assert not re.findall("|".join(colour.light for colour in PALETTE.values()), text)


def test_two_in_one_page_have_no_name_in_common() -> None:
    one, other = (
        set(re.findall(r'\bid="([^"]*)"', inline(figure(), name, name))) for name in ("one", "other")
    )
    assert one
    assert not one & other


def test_what_it_refers_to_is_in_it() -> None:
    text = inline(figure(), "one", "One")
    referred = {*re.findall(r'href="#([^"]*)"', text), *re.findall(r"url\(#([^)]*)\)", text)}
    assert referred <= set(re.findall(r'\bid="([^"]*)"', text))
    assert referred


def test_it_says_what_it_is_and_needs_no_namespace() -> None:
    root = ElementTree.fromstring(inline(figure(), "one", 'Speed "per user" & more'))
    assert root.attrib["aria-label"] == 'Speed "per user" & more'
    assert (root.tag, root.attrib["role"]) == ("svg", "img")
    assert "width" not in root.attrib


def test_the_same_figure_is_the_same_text() -> None:
    assert inline(figure(), "one", "One") == inline(figure(), "one", "One")
