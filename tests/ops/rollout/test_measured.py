"""What `timeline --measured` says."""

import json
import re
from pathlib import Path

import pytest

from ops.kept import Kept, keep
from ops.rollout import measured
from ops.rollout.measured import Measured, NothingMeasuredError, measure, of_kept
from ops.rollout.observer import Observer
from ops.stack.stack import Stack
from ops.timeline import Timeline, simulate
from targets.errors import UserError
from tests.ops.report import projects
from tests.ops.rollout.rollouts import Object, at, stamp, whole
from tests.ops.rollout.test_comparison import in_a_block
from tests.ops.watch.seen import EXISTING, existing

STACK = existing()


@pytest.fixture
def simulated(tmp_path: Path) -> Timeline:
    return simulate(projects.project(tmp_path, EXISTING, "mine"), "mine", [])


def kept(project: Path, *more: Object) -> None:
    observer = Observer()
    observer([*whole(), *more])
    observer.keep(STACK, project)


def test_a_line_a_step_and_what_follows(simulated: Timeline, tmp_path: Path) -> None:
    kept(tmp_path)
    found = of_kept(simulated, tmp_path)
    assert found is not None
    lines = found.text().splitlines()
    assert lines[0] == (
        "Rollout of mine as it happened; minutes since the first of the stack's objects, 2026-11-22 17:00:00 UTC:"
    )
    assert lines[2] == "  download           36.3      12.0       -24.3  Job model-download"
    assert "  platform            5.0   unknown              " in found.text()
    assert "  first answer              unknown  no verification was seen to get one" in lines
    assert "Most wrong: weights-rate: download took 12.0 min, 36.3 assumed." in lines
    assert lines[-1].startswith("As it was measured: --assume weights-rate=90.7 --assume ")


def test_steps_before_a_block_are_said_to_be() -> None:
    found = Measured(stack="mine", comparison=in_a_block(), simulated="").text()
    assert "minutes since the Capacity Block's begin, 2026-11-22 17:14:00 UTC" in found
    assert "  Job model-download; before the Capacity Block's begin" in found
    assert "events of pod decode-0, 21.3 GB at 85 MB/s\n" in found
    assert re.search(r"ready +\d+\.\d +17\.0  the frontend", found)
    assert "paid before it was ready: 136 GPU-minutes, " in found


def test_for_programs_each_step_has_its_source(simulated: Timeline, tmp_path: Path) -> None:
    kept(tmp_path)
    found = of_kept(simulated, tmp_path)
    assert found is not None
    data = json.loads(json.dumps(found.data()))
    steps = {each["name"]: each for each in data["phases"]}
    assert steps["image pull"]["measured"] == pytest.approx(4.2)
    assert steps["image pull"]["source"] == "events of pod decode-0, 21.3 GB at 85 MB/s"
    assert (steps["GPU nodes"]["bound"], steps["platform"]["source"]) == ("at least", None)
    assert steps["platform"]["unknown"]
    assert data["mostWrong"] == "weights-rate"
    assert data["ready"] == pytest.approx(31)
    assert data["paidGpuMinutes"]["measured"] == pytest.approx(8 * 16)


@pytest.mark.parametrize(("answered", "minutes"), [(31.5, 31.5), (5, None)])
def test_ops_verify_may_have_got_the_first_answer(
    simulated: Timeline, tmp_path: Path, answered: float, minutes: float | None
) -> None:
    """One that was before the graph was of another."""
    kept(tmp_path)
    checks = {"ok": True, "checks": [], "simulated": "", "answered": stamp(answered)}
    keep(Kept.VERIFY, "mine", checks, tmp_path)
    found = of_kept(simulated, tmp_path)
    assert found is not None
    assert found.comparison.first_token == minutes


def looking(monkeypatch: pytest.MonkeyPatch, project: Path, *objects: Object, why_not: str = "") -> None:
    """A cluster with these objects, or none that answers."""

    def look(_: Stack, observer: Observer, __: Path) -> None:
        if why_not:
            raise UserError(why_not)
        observer(objects)

    monkeypatch.setattr(measured, "PROJECT", project)
    monkeypatch.setattr(measured, "find_deployed", lambda _: STACK)
    monkeypatch.setattr(measured, "look", look)


def test_what_is_there_now_is_enough(
    simulated: Timeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after plain `pulumi up`, which nobody watched."""
    looking(monkeypatch, tmp_path, *whole())
    found = measure(simulated, "mine")
    assert found.comparison.happened.ready == at(31)
    assert not found.note


def test_a_cluster_that_is_gone_leaves_what_was_kept(
    simulated: Timeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking(monkeypatch, tmp_path, why_not="no route")
    with pytest.raises(NothingMeasuredError, match=r"nothing is known of a rollout of mine; .* no route"):
        measure(simulated, "mine")
    kept(tmp_path)
    assert measure(simulated, "mine").text().endswith("The cluster was not looked at: no route")
