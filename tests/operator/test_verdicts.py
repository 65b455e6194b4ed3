"""Which graphs an operator admits is what is kept of its release; `REGENERATE=1` keeps it anew."""

import os

import pytest

from tests.operator import observe, verdicts
from tests.operator.conftest import Operators
from tests.operator.mutations import mutations
from tests.operator.release import Release


@pytest.mark.operator
def test_graphs_are_admitted_or_refused_as_kept(operators: Operators, release: Release) -> None:
    operator, namespace = operators.of(release), "verdicts"
    observe.prepare(operator, namespace)
    found = dict(verdicts.ask(operator, namespace, mutations()))
    operator.kubectl("delete", "namespace", namespace, "--wait=false")
    if os.environ.get("REGENERATE"):
        verdicts.write(release.line, found)
    kept = {name: lines.get(release.line) for name, lines in verdicts.read().items()}
    assert found == kept
