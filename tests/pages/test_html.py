"""The frame of every page."""

import re

import pytest
from jinja2 import UndefinedError

from pages.html import environment
from pages.palette import variables
from pages.tiles import Tile

COLOURS = {"light": variables("light"), "dark": variables("dark")}
PAGE = """{% extends "base.html.j2" %}{% from "parts.html.j2" import facts, notice, tiles %}
{% block title %}{{ name }}{% endblock %}
{% block content %}{{ tiles(shown) }}{{ notice("Note", name) }}{{ facts([("Name", name)]) }}{% endblock %}"""


def page(name: str) -> str:
    templates = environment()
    templates.autoescape = True  # as it is for templates that are files
    template = templates.from_string(PAGE)
    shown = [Tile(label="Price", value="3", unit="USD", note="list price", warning=True)]
    return template.render(colours=COLOURS, name=name, shown=shown)


def test_it_needs_no_other_file_and_no_program() -> None:
    text = page("one")
    assert "<script" not in text
    assert not re.findall(r"\bsrc=|@import|https?://", text)


def test_it_fits_a_phone_and_follows_the_colour_scheme() -> None:
    text = page("one")
    assert 'content="width=device-width, initial-scale=1"' in text
    assert f"(prefers-color-scheme: dark) {{ :root {{ {COLOURS['dark']}" in text
    assert "@media print" in text


def test_every_colour_of_the_stylesheet_is_known() -> None:
    text = page("one")
    assert set(re.findall(r"var\(--([\w-]+)\)", text)) <= set(re.findall(r"--([\w-]+):", text))


def test_parts_show_what_they_are_given_as_words() -> None:
    text = page("<b>one</b>")
    assert "<b>" not in text
    assert text.count("&lt;b&gt;one") == 3
    for words in ("Price", "list price", 'class="warns"'):
        assert words in text


def test_what_a_template_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        environment().get_template("base.html.j2").render()
