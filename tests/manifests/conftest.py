"""promtool for the tests of what Prometheus is asked: built from its own Go module, unless one is on PATH."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded import build
from embedded.processes import Report
from tests.project import PROJECT

SOURCE = build.Program(
    PROJECT / "tests" / "promtool",
    "github.com/prometheus/prometheus/cmd/promtool",
    # Without the clouds' service discoveries: a third of its packages and most of the work.
    tags=("remove_all_sd",),
)
Promtool = Callable[..., str]
"""Runs promtool with these words in the test's folder, and gives what it printed."""


@pytest.fixture(scope="session")
def binary(progress: Report) -> Path:
    found = shutil.which("promtool")
    return Path(found) if found else build.build(SOURCE, progress)


@pytest.fixture
def promtool(binary: Path, tmp_path: Path) -> Promtool:
    def run(*words: str) -> str:
        done = subprocess.run(
            [binary, *words], check=False, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
