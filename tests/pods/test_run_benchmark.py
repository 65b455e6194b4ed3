"""The benchmark Job's script around AIPerf: what it tells meanwhile, and how a point ends.

The stand-in for AIPerf writes its records when it is told to. tests/measure has the real one.
"""

from pathlib import Path

import pytest

from pods import run_benchmark

STANDS_IN = """
import os, pathlib, sys, time
folder, code = pathlib.Path(sys.argv[1]), int(sys.argv[2])
(folder / "profile_export.jsonl").write_text("{}\\n{}\\n")
while not (folder / "told").exists():
    time.sleep(0.01)
(folder / "inputs.json").write_text("{}")
sys.exit(code)
"""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What it says; the stand-in goes on once it has said something."""
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text.rpartition(" after ")[0])
        if text.startswith("c4: 2 of 8"):
            (tmp_path / "c4" / "told").touch()

    (tmp_path / "stands_in.py").write_text(STANDS_IN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(run_benchmark, "say", say)
    monkeypatch.setattr(run_benchmark, "SECONDS_BETWEEN_WORDS", 0.05)
    return said


@pytest.mark.parametrize("code, problem", [(0, ""), (3, "AIPerf ended with code 3, see console.log")])
def test_requests_are_counted_while_a_point_is_measured(
    code: int, problem: str, told: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "c4"
    assert run_benchmark.measure(["stands_in", str(folder), str(code)], folder, 60, 8) == problem
    assert told[-1] == "c4: 2 of 8 requests"
    assert not (folder / "inputs.json").exists()


def test_a_point_ends_with_its_time(told: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "c5"
    problem = run_benchmark.measure(["stands_in", str(folder), "0"], folder, 0.2, 8)
    assert problem == "the time for all measurements was over"
    assert set(told) <= {"c5: 0 of 8 requests", "c5: 2 of 8 requests"}
