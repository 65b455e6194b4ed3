"""The verb `timeline`."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from ops.rollout import show
from ops.rollout.measured import Measured
from tests.ops.report import projects
from tests.ops.rollout.test_comparison import compared
from tests.ops.watch.seen import EXISTING


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with stack `mine`, whose rollout was measured."""
    monkeypatch.setattr(show, "PROJECT", projects.project(tmp_path, EXISTING, "mine"))
    found = Measured(stack="mine", comparison=compared(), simulated="")
    monkeypatch.setattr(show, "measure", lambda *_: found)
    return tmp_path


def said(*arguments: str) -> str:
    app = typer.Typer()
    app.command()(show.timeline)
    done = CliRunner().invoke(app, ["--stack", "mine", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_it_simulates_or_measures(called: Path) -> None:
    assert "simulated from assumptions, not measured" in said()
    assert (called / "out" / "mine" / "timeline.png").exists()
    assert "as it happened" in said("--measured")
    assert (called / "out" / "mine" / "measured.svg").exists()


def test_either_is_one_json_object(called: Path) -> None:
    assert json.loads(said("--json"))["orders"]
    assert json.loads(said("--json", "--measured"))["phases"]
