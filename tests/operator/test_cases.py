"""Every target in every release, and every option, on a real operator: admitted, Ready, rolled, renamed, deleted."""

import hashlib
from collections.abc import Callable

import pytest

from stacks.settings import ConfigError
from tests.operator.cases import Case, cases
from tests.operator.conftest import Operators
from tests.operator.release import Release, releases
from tests.operator.walk import Walk

ASKED = [(release, case) for release in releases() for case in cases(release.line)]
IDS = [f"{release.line}-{case.name}" for release, case in ASKED]
Outcome = Callable[[str], None]


@pytest.fixture
def outcome(record_property: Callable[[str, object], None], release: Release) -> Outcome:
    return lambda what: record_property("outcome", f"{release.line}: {what}")


@pytest.mark.operator
@pytest.mark.parametrize(("release", "case"), ASKED, ids=IDS)
def test_a_case_is_admitted_ready_and_rolls(
    operators: Operators, release: Release, case: Case, outcome: Outcome
) -> None:
    outcome("cases")
    try:
        case.settings().plans()
    except ConfigError:
        outcome("refused by the project")
        return
    digest = hashlib.sha256(case.name.encode()).hexdigest()[:8]
    # Short: the operator makes a label's value of namespace and graph, which leaves them 63 characters together.
    walk = Walk(operators.of(release), case, f"case-{digest}")
    with walk.prepared():
        first = walk.applied(walk.graphs())
        outcome("admitted")
        walk.ready()
        outcome("Ready")
        assert walk.applied(walk.graphs()) == first, "the same graphs once more are no change"
        before = walk.workers()
        knob = {str(planned.worker.role): {"env": {"KNOB": "turned"}} for planned in walk.plans[0].workers}
        second = walk.applied(walk.graphs(case.settings(**knob)))
        assert second != first
        walk.ready()
        assert not before & walk.workers() or len(walk.plans) > 1
        outcome("rolled")
        scaled = walk.applied(walk.graphs(case.settings(**knob, frontend={"replicas": 2})))
        assert scaled != second
        walk.ready()
        for plan in walk.plans:
            walk.delete(plan.name)
