"""What verbs found out last about a stack, kept for its page."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from embedded.files import write_whole


class Kept(StrEnum):
    """What is kept; the value is its folder in `out`."""

    VERIFY = "verify"
    UP = "up"
    ROLLOUT = "rollout"


_NEEDED = {
    Kept.VERIFY: {"time", "ok", "checks", "simulated"},
    Kept.UP: {"time", "seconds", "spans", "simulated"},
    Kept.ROLLOUT: {"time", "observed", "simulated"},
}
"""Keys that are read."""


def path_of(what: Kept, stack: str, project: Path) -> Path:
    """Where it is kept."""
    return project / "out" / what / f"{stack}.json"


def keep(what: Kept, stack: str, found: Mapping[str, Any], project: Path) -> Path:
    """Write what was found now over what was found before; returns the file."""
    path = path_of(what, stack, project)
    path.parent.mkdir(parents=True, exist_ok=True)
    time = datetime.now(UTC).isoformat(timespec="seconds")
    write_whole(path, json.dumps({"stack": stack, "time": time, **found}, indent=1) + "\n")
    return path


def last(what: Kept, stack: str, project: Path) -> dict[str, Any] | None:
    """What was kept, None where nothing was, or what cannot be read any more."""
    try:
        found: dict[str, Any] = json.loads(path_of(what, stack, project).read_text())
    except (OSError, ValueError):
        return None
    return found if _NEEDED[what] <= found.keys() else None
