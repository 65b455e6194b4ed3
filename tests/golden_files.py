"""Comparison with files that were looked at: `REGENERATE=1 pytest` writes them anew, to be looked at in the diff."""

import difflib
import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def compare(name: str, text: str) -> None:
    """Hold `text` against `golden/<name>`."""
    path = FOLDER / name
    if os.environ.get("REGENERATE"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.exists(), f"{path} is missing; write it with REGENERATE=1"
    lines = difflib.unified_diff(path.read_text().splitlines(), text.splitlines(), name, "now", lineterm="")
    difference = "\n".join(lines)
    assert not difference, f"write it anew with REGENERATE=1 if this is meant:\n{difference}"


def names(folder: str) -> set[str]:
    """What files are in `golden/<folder>`, by their paths in it."""
    return {str(path.relative_to(FOLDER / folder)) for path in (FOLDER / folder).rglob("*") if path.is_file()}


def compare_block(page: Path, begin: str, end: str, text: str) -> None:
    """Hold `text` against what stands on a page between two lines."""
    before, found, rest = page.read_text().partition(begin)
    assert found, f"{page} has lost the line {begin!r}"
    current = before + begin + text + end + rest.partition(end)[2]
    if os.environ.get("REGENERATE"):
        page.write_text(current)
    assert page.read_text() == current, "write it anew with REGENERATE=1"
