"""What engines say of their start, in lines that they wrote."""

from datetime import datetime
from pathlib import Path

import pytest

from ops.rollout.engine_log import TUNING, WARM_UP, WEIGHTS, is_telling, parts

LINES = Path(__file__).with_name("engine_lines.txt")


def kept() -> dict[str, list[tuple[datetime, str]]]:
    """By who wrote them."""
    found: dict[str, list[tuple[datetime, str]]] = {}
    for line in LINES.read_text().splitlines():
        if line.startswith("# "):
            found[line[2:]] = lines = []
            continue
        stamp, _, words = line.partition(" ")
        lines.append((datetime.fromisoformat(stamp), words))
    return found


@pytest.mark.parametrize(
    ("whose", "said"),
    [
        ("vLLM 0.9, one GPU", {WEIGHTS: 4.130672, WARM_UP: 47.64}),
        ("vLLM of 2026, two ranks", {WEIGHTS: 183.101873, WARM_UP: 212.68}),
        ("SGLang 0.5.9", {WEIGHTS: 228.09, WARM_UP: 54.61}),
        ("SGLang 0.5.14 and later", {WEIGHTS: 93.30, WARM_UP: 10.10}),
        ("TensorRT-LLM 1.x", {WEIGHTS: 49.14, TUNING: 42.5}),
        ("none of them", {}),
    ],
)
def test_the_engines_own_durations(whose: str, said: dict[str, float]) -> None:
    assert parts(kept()[whose]) == pytest.approx(said)


def test_only_lines_that_tell_something_are_kept() -> None:
    lines = kept()
    assert not any(is_telling(line) for _, line in lines["none of them"])
    assert [is_telling(line) for _, line in lines["TensorRT-LLM 1.x"]] == [False, True, True, True]


def test_tuning_that_has_not_ended_has_no_duration() -> None:
    assert TUNING not in parts(kept()["TensorRT-LLM 1.x"][:-1])
