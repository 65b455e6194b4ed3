"""Installing AIPerf: what is said while it runs, once, and what is said when it fails."""

import sys
from pathlib import Path

import pytest

from facts.versions import AIPERF_VERSION
from measure import aiperf

WAITS = "import pathlib, sys, time\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)"


def test_it_says_again_and_again_how_far_it_is(tmp_path: Path) -> None:
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "wheel").write_bytes(bytes(3_000_000))
    lines: list[str] = []

    def report(line: str) -> None:
        lines.append(line)
        if len(lines) == 2:
            (tmp_path / "go").touch()

    command = [sys.executable, "-c", WAITS, str(tmp_path / "go")]
    aiperf.run(command, tmp_path / "half", report, seconds_between_lines=0.01)
    assert lines[:2] == ["still installing AIPerf: 3 MB so far"] * 2


def test_a_line_comes_within_20_seconds() -> None:
    assert aiperf.SECONDS_BETWEEN_LINES <= 20


def test_what_failed_is_an_error_for_users(tmp_path: Path) -> None:
    with pytest.raises(aiperf.AIPerfError, match=r"no space left$"):
        aiperf.run([sys.executable, "-c", "import sys; sys.exit('no space left')"], tmp_path, print)


def test_it_is_installed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiperf, "CACHE", tmp_path)
    ran: list[list[str]] = []

    def run(command: list[str], folder: Path, report: object) -> None:
        folder.mkdir(exist_ok=True)
        ran.append(command)

    monkeypatch.setattr(aiperf, "run", run)
    lines: list[str] = []
    python = aiperf.install(lines.append)
    assert aiperf.install(lines.append) == python
    assert len(ran) == 2
    assert lines == [
        f"installing AIPerf {AIPERF_VERSION} once (1.2 GB on disk, minutes) into {python.parents[1]}",
        f"AIPerf {AIPERF_VERSION} is installed (0 MB)",
    ]
