"""Every graph that is rendered has only fields that the operator of its release knows; no operator is needed."""

import os
from typing import Any

import pytest

from manifests.graph.deployment import graph_deployment
from stacks.settings import ConfigError
from tests.embedded.example_graphs import alpha, beta, changed
from tests.operator import fields
from tests.operator.cases import Case, cases
from tests.operator.release import Object, releases

KNOWN = fields.read() if fields.FILE.exists() else {"since": {}}
LINES = ["1.2", *KNOWN["since"]]


def rendered() -> list[tuple[str, Case, Object]]:
    found = []
    for line in LINES:
        for case in cases(line):
            try:
                plans = case.settings().graphs
            except ConfigError:
                continue  # the project refuses it, with the reason
            found += [(line, case, graph_deployment(plan, "dynamo")) for plan in plans]
    return found


@pytest.mark.parametrize("line", LINES)
def test_graphs_have_known_fields_only(line: str) -> None:
    graphs = [(case, graph) for of, case, graph in rendered() if of == line]
    assert len(graphs) > 20
    found = {case.name: bad for case, graph in graphs if (bad := fields.faults(graph, line, KNOWN))}
    assert found == {}


@pytest.mark.parametrize(
    ("path", "value", "line", "fault"),
    [
        ("spec/components/1/unheardOf", "x", "1.4", "spec.components[1].unheardOf: no such field"),
        ("spec/components/1/replicas", "2", "1.4", "spec.components[1].replicas: '2' is no integer"),
        ("spec/components/1/name", None, "1.4", "spec.components[1].name: required"),
        (
            "spec/backendFramework",
            "mocker",
            "1.4",
            "spec.backendFramework: 'mocker' is none of sglang, vllm, trtllm",
        ),
        (
            "spec/components/1/podTemplate/spec/containers/0/args",
            "x",
            "1.4",
            "spec.components[1].podTemplate.spec.containers[0].args: 'x' is no list",
        ),
        ("spec/components/1/runtimeVersionOverride", "1.3.1", "1.4", None),
        (
            "spec/components/1/runtimeVersionOverride",
            "1.3.1",
            "1.3",
            "spec.components[1].runtimeVersionOverride: no such field yet",
        ),
    ],
)
def test_what_a_release_does_not_know_is_noticed(path: str, value: Any, line: str, fault: str | None) -> None:
    assert fields.faults(changed(beta(), path, value), line, KNOWN) == ([fault] if fault else [])


def test_published_graphs_are_fine_in_both_versions() -> None:
    assert [fields.faults(graph, line, KNOWN) for graph in (alpha(), beta()) for line in LINES] == [[]] * 8


@pytest.mark.operator
def test_the_kept_fields_are_those_of_the_definitions() -> None:
    """Of all releases at once; `REGENERATE=1` writes them anew."""
    text = fields.kept({one.line: one.definition() for one in releases()})
    if os.environ.get("REGENERATE"):
        fields.FILE.write_text(text)
    assert fields.FILE.read_text() == text
