"""The picture of a rollout that was measured."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ops.report.rollout import last_up
from pages.palette import PALETTE
from tests.ops.report import projects


@pytest.fixture
def found(tmp_path: Path) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(projects.rollout(tmp_path).read_text())
    return kept


@pytest.mark.parametrize("narrow", [True, False])
def test_every_row_is_named_and_every_mark_explained(found: dict[str, Any], narrow: bool) -> None:
    words = set(re.findall(r"<text[^>]*>([^<]*)</text>", last_up(found, narrow=narrow)))
    assert {"weights", "under way", "cannot go on", "done"} <= words
    assert "seconds since `up` began" in words
    worker = next(text for text in words if text.startswith("worker"))
    assert worker.endswith("…pqkbz")
    assert len(worker) <= (16 if narrow else 34)


def test_a_mark_that_no_row_had_is_not_explained(found: dict[str, Any]) -> None:
    found["spans"] = [span for span in found["spans"] if span["mark"] != "stuck"]
    text = last_up(found, narrow=False)
    assert "cannot go on" not in text
    assert "var(--paid)" not in text
    assert PALETTE["paid"].light not in text


def test_a_long_one_is_in_minutes(found: dict[str, Any]) -> None:
    found["seconds"] = 3600.0
    assert "minutes since `up` began" in last_up(found, narrow=False)
