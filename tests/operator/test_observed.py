"""What an operator makes of a few graphs is what is kept of its release; `REGENERATE=1` keeps it anew."""

import os

import pytest
import yaml

from tests.operator import observe
from tests.operator.conftest import Operators
from tests.operator.release import Release


@pytest.mark.operator
@pytest.mark.parametrize("example", observe.examples())
def test_a_graph_becomes_what_is_kept(operators: Operators, release: Release, example: str) -> None:
    operator, namespace = operators.of(release), f"observed-{example}"
    observe.prepare(operator, namespace)
    try:
        found = observe.observe(operator, namespace, observe.examples()[example])
    finally:
        operator.kubectl("delete", "namespace", namespace, "--wait=false")
    path = observe.file(release.line, example)
    if os.environ.get("REGENERATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(found, default_flow_style=None, width=118))
    assert observe.kept(release.line, example) == found
