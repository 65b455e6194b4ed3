"""Every pattern that a stack file is held to has words and an example that is taken."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from stacks.patterns import SHAPES
from tests.project import PROJECT


def patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        for each in schema.values():
            yield from patterns(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from patterns(each)


def test_every_pattern_of_the_schema_has_words() -> None:
    found = set(patterns(json.loads((PROJECT / "stacks" / "schema.json").read_text())))
    assert len(found) > 30
    assert found - SHAPES.keys() == set()


def test_no_words_are_left_of_a_pattern_that_is_gone() -> None:
    sources = "".join(
        path.read_text()
        for folder in ("stacks/sections", "targets")
        for path in (PROJECT / folder).glob("*.py")
    )
    assert [pattern for pattern in SHAPES if pattern not in sources] == []


@pytest.mark.parametrize("pattern", SHAPES)
def test_its_example_is_taken(pattern: str) -> None:
    assert re.search(pattern, SHAPES[pattern].example)
    assert SHAPES[pattern].words == SHAPES[pattern].words.strip(".")
