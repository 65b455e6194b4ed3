"""What verbs found last."""

from pathlib import Path
from typing import Any

import pytest

from ops.kept import Kept, keep, last

FOUND: dict[Kept, dict[str, Any]] = {
    Kept.VERIFY: {"ok": True, "checks": [], "simulated": "", "url": "http://x"},
    Kept.UP: {"seconds": 1.0, "spans": [], "simulated": ""},
    Kept.ROLLOUT: {"observed": {}, "simulated": ""},
}


@pytest.mark.parametrize("what", Kept)
def test_what_was_kept_last_is_found_with_its_time(tmp_path: Path, what: Kept) -> None:
    keep(what, "s", FOUND[what] | {"simulated": "before"}, tmp_path)
    path = keep(what, "s", FOUND[what], tmp_path)
    assert path == tmp_path / "out" / what / "s.json"
    found = last(what, "s", tmp_path)
    assert found is not None
    assert FOUND[what].items() <= found.items()
    assert (found["stack"], found["time"][-6:]) == ("s", "+00:00")


@pytest.mark.parametrize("text", [None, "", "{", "{}"])
def test_what_is_not_there_or_is_not_ours_is_nothing(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        keep(Kept.UP, "s", FOUND[Kept.UP], tmp_path).write_text(text)
    assert last(Kept.UP, "s", tmp_path) is None
    assert last(Kept.VERIFY, "s", tmp_path) is None
