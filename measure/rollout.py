"""How the measured stack came up: `rollout.json` in a run's folder, and its table in the reports."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedded.files import write_whole

FILE = "rollout.json"
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Table:
    """rows: step, minutes assumed, minutes measured, and how they are known. simulated: what is not real."""

    simulated: str
    rows: tuple[tuple[str, str, str, str], ...]


def write(found: Mapping[str, Any] | None, folder: Path) -> None:
    """Keep what `timeline --measured --json` says beside the run; nothing where it is not known."""
    if found is not None:
        write_whole(folder / FILE, json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def read(folder: Path) -> Table | None:
    """None where the run has none, as those of earlier releases."""
    try:
        found = json.loads((folder / FILE).read_text())
    except FileNotFoundError:
        return None
    return Table(found["simulated"], (*map(_row, found["phases"]), *_ends(found)))


def _row(step: Mapping[str, Any]) -> tuple[str, str, str, str]:
    assumed = "–" if step["assumed"] is None else f"{step['assumed']:.1f}"
    if step["measured"] is None:
        return step["name"], assumed, UNKNOWN, step["unknown"]
    return step["name"], assumed, f"{step['bound']} {step['measured']:.1f}".strip(), step["source"]


def _ends(found: Mapping[str, Any]) -> tuple[tuple[str, str, str, str], ...]:
    assumed = f"{found['assumedFirstToken']:.1f}"
    ready = UNKNOWN if found["ready"] is None else f"{found['ready']:.1f}"
    rows = [("ready, since it began", assumed, ready, "the frontend lists the model")]
    if answer := found["firstAnswer"]:
        rows.append(("first answer, since it began", "–", f"{answer['minutes']:.1f}", answer["source"]))
    return tuple(rows)
