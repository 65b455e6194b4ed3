"""Comparison with files that were looked at: `REGENERATE=1 pytest` writes them anew, to be looked at in the diff."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def compare(name: str, text: str) -> None:
    """Hold `text` against `golden/<name>`; pytest shows where they differ."""
    path = FOLDER / name
    if os.environ.get("REGENERATE"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.exists(), f"{path} is missing; write it with REGENERATE=1"
    assert text.splitlines() == path.read_text().splitlines()
