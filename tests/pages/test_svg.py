"""Drawings as SVG."""

from dataclasses import replace
from xml.etree import ElementTree

from pages.boxes import Box, Drawing, Link, Text
from pages.svg import svg

BOX = Box(
    width=50, height=20, kind="gpu prefill", texts=(Text(x=4, y=15, words="<a> & b"),), title="one <GPU>"
)
DRAWING = Drawing(
    name="one",
    title="A & B",
    description="From A to B.",
    width=100,
    height=40,
    boxes=(replace(BOX, links=(Link(points=((0, 0), (1, 1)), kind="handover"),)),),
    links=(Link(points=((0, 5), (9, 5)), both=True),),
)


def test_it_is_read_as_xml_with_a_name_for_those_who_do_not_see_it() -> None:
    root = ElementTree.fromstring(svg(DRAWING))
    labels = root.attrib["aria-labelledby"].split()
    named = {element.attrib.get("id"): element.text for element in root.iter()}
    assert [named[label] for label in labels] == ["A & B", "From A to B."]
    assert root.attrib["role"] == "img"


def test_words_are_no_markup() -> None:
    root = ElementTree.fromstring(svg(DRAWING))
    assert [text.text for text in root.iter("text")] == ["<a> & b"]
    assert root.find("./g/title").text == "one <GPU>"  # type: ignore[union-attr]


def test_every_line_has_the_arrow_of_its_kind() -> None:
    root = ElementTree.fromstring(svg(DRAWING))
    arrows = {f"url(#{marker.attrib['id']})" for marker in root.iter("marker")}
    lines = list(root.iter("polyline"))
    used = {value for line in lines for name, value in line.attrib.items() if name.startswith("marker")}
    assert arrows == used == {"url(#one-request)", "url(#one-handover)"}
    assert ["marker-start" in line.attrib for line in lines] == [False, True]
