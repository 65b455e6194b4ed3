"""Which assumption was wrong."""

from datetime import timedelta

import pytest

from ops.rollout.comparison import Assumption, Comparison, assumptions_of, compare
from ops.rollout.observed import Observed, merge, observe
from ops.rollout.phases import Bound, Happened, Phase, happened
from targets.assumptions import Assumptions, assume
from targets.capacity import CapacityKind
from targets.timeline import Copy, Rollout, Setting, Step, our_order
from tests.ops.rollout.rollouts import at, whole

ASSUMPTIONS = assumptions_of(Assumptions(), Setting(gpus=8))
SIMULATED = Rollout(
    name="this program",
    steps=(
        Step(name="CPU nodes", start=0, end=2, on_gpus=False),
        Step(name="platform", start=2, end=7, on_gpus=False),
        Step(name="download", start=2, end=38, on_gpus=False),
        Step(name="GPU nodes", start=38, end=43, on_gpus=True),
        Step(name="image pull", start=43, end=50, on_gpus=True),
        Step(name="model load", start=50, end=72.5, on_gpus=True),
    ),
    gpus=8,
)


def compared() -> Comparison:
    found = happened(observe(whole()), None)
    assert found is not None
    return compare(SIMULATED, found, ASSUMPTIONS)


def one(minutes: float, bound: Bound) -> Comparison:
    """A boot of five minutes that took so long."""
    phase = Phase(name="GPU nodes", start=at(0), end=at(minutes), source="s", bound=bound)
    found = Happened(began=at(0), began_with="x", phases=(phase,), unknown={}, ready=None, answered=None)
    return compare(SIMULATED, found, ASSUMPTIONS)


def test_the_largest_difference_comes_first() -> None:
    found = compared()
    gaps = {each.name: each.minutes for each in found.differences if each.minutes is not None}
    assert gaps == pytest.approx({"download": -24, "model load": -13.5, "image pull": -2.8})
    assert list(gaps) == ["download", "model load", "image pull"]
    assert found.most_wrong is not None
    assert found.most_wrong.name == "download"


def test_what_would_have_been_right() -> None:
    assert list(compared().better()) == ["weights-rate=90", "load=9", "image-rate=83.3"]


@pytest.mark.parametrize(
    ("minutes", "bound", "gap"),
    [
        (3, Bound.AT_LEAST, None),
        (8, Bound.AT_LEAST, 3),
        (8, Bound.AT_MOST, None),
        (3, Bound.AT_MOST, -2),
        (8, Bound.EXACT, 3),
    ],
)
def test_a_bound_is_compared_where_it_says_something(minutes: float, bound: Bound, gap: float | None) -> None:
    boot = next(each for each in one(minutes, bound).differences if each.name == "GPU nodes")
    assert boot.minutes == gap


def test_what_was_not_measured_says_why() -> None:
    found = {each.name: each for each in one(5, Bound.EXACT).differences}
    assert found["download"].measured is None
    assert found["download"].why == "nothing tells of it"


def test_a_step_that_nobody_assumed_is_shown() -> None:
    phase = Phase(name="weights copy", start=at(0), end=at(1), source="s")
    found = Happened(began=at(0), began_with="x", phases=(phase,), unknown={}, ready=None, answered=None)
    copy = next(
        each for each in compare(SIMULATED, found, ASSUMPTIONS).differences if each.name == "weights copy"
    )
    assert (copy.assumed, copy.minutes) == (None, None)


def test_paid_minutes_count_from_the_first_gpu_node() -> None:
    found = compared()
    assert found.paid_gpu_minutes == pytest.approx(8 * 16)
    assert found.ready == pytest.approx(31)
    assert one(5, Bound.EXACT).paid_gpu_minutes is None


def in_a_block() -> Comparison:
    """The whole of it, in a block that began a minute before its node joined; waited for since two days before."""
    assumed = our_order(Assumptions(), Setting(gpus=8, capacity=CapacityKind.CAPACITY_BLOCK))
    found = happened(merge(observe(whole()), Observed(began=at(-2880), block=at(14))), None)
    assert found is not None
    return compare(assumed, found, ASSUMPTIONS)


def test_in_a_block_both_clocks_start_with_it() -> None:
    found = in_a_block()
    assert found.ready == pytest.approx(31 - 14)
    assert found.assumed_ready == found.simulated.paid_minutes
    assert found.paid_gpu_minutes == pytest.approx(8 * 17)
    assert compared().assumed_ready == SIMULATED.first_token
    (up,) = [each for each in found.differences if each.name == "scale up"]
    assert up.measured is not None
    assert (up.assumed, up.measured.minutes) == (1, 1)


def test_a_step_that_took_no_time_has_no_rate() -> None:
    phase = Phase(name="image pull", start=at(1), end=at(1) + timedelta(0), source="it was there")
    found = Happened(began=at(0), began_with="x", phases=(phase,), unknown={}, ready=None, answered=None)
    assert list(compare(SIMULATED, found, ASSUMPTIONS).better()) == []


def test_an_assumption_that_no_value_would_have_made_right() -> None:
    """A load that has the copy off a fast file system in it."""
    assert Assumption("local-load", 3.6).corrected(8.0, 2.0) is None
    assert Assumption("local-load", 3.6).corrected(8.0, 7.0) == pytest.approx(2.6)


@pytest.mark.parametrize(
    "setting",
    [
        Setting(gpus=8),
        Setting(gpus=8, capacity=CapacityKind.CAPACITY_BLOCK, parallel_pull=True, copy=Copy.NODE),
        Setting(gpus=8, parallel_pull=True, mirror=True, copy=Copy.POD, cache="efs"),
        Setting(gpus=8, cache="fsx", cache_rate=2000.0),
    ],
)
def test_what_would_have_been_right_gives_what_was_measured(setting: Setting) -> None:
    """Whatever a step of the simulation rests on, its assumption is named here."""
    assumed = setting.assumptions()
    for step in our_order(assumed, setting).steps:
        measured = 0.95 * (step.end - step.start)
        assumption = assumptions_of(assumed, setting)[step.name]
        value = assumption.corrected(step.end - step.start, measured)
        again = our_order(assume([f"{assumption.name}={value}"], assumed), setting)
        found = next(each for each in again.steps if each.name == step.name)
        assert found.end - found.start == pytest.approx(measured), assumption.name
