"""The operator stand-in makes of graphs what real operators made of them, but for what is listed here."""

import copy
from typing import Any

import pytest

from embedded.operator import deployments
from embedded.operator.components import components
from embedded.operator.generations import hashes, worker_hash
from embedded.operator.platform import Platform
from facts.releases import LATEST_PATCH, Version
from tests.embedded.example_graphs import Graph, changed, stored
from tests.operator import normal, observe

OWN_LABEL = "dynamo-gpt-oss/simulated"
"""Of the stand-in's own objects."""
DEFAULT_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
"""Left out where the graph has none: simulated pods have nothing to ask, and rendered graphs say their own."""
NATS = "NATS_SERVER"
"""Left out: where the platform brings NATS, the operator names it, and the stand-in's platform brings none."""

EXAMPLES = [
    (line, name)
    for line in observe.lines()
    for name in observe.examples()
    if observe.file(line, name).exists()
]


def example(name: str) -> Graph:
    return stored(changed(observe.examples()[name], "metadata/namespace", "NAMESPACE"))


def made(graph: Graph, platform: Platform) -> dict[str, Any]:
    """The stand-in's objects of a graph, in the form in which the operator's are kept."""
    workloads: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
    for component in components(graph):
        workload, service = deployments.workload(component, platform)
        workloads.append((component.name, workload, service))
    marks = [(worker_hash(graph), "HASH")]
    found: dict[str, Any] = normal.replaced(
        {
            "deployments": {
                one["metadata"]["name"]: {
                    "replicas": one["spec"]["replicas"],
                    "selector": one["spec"]["selector"]["matchLabels"],
                    "strategy": one["spec"]["strategy"],
                }
                for _, one, _ in workloads
            },
            "pods": {name: normal.pod(copy.deepcopy(one["spec"]["template"])) for name, one, _ in workloads},
            "services": {one["metadata"]["name"]: normal.service(one) for _, _, one in workloads},
        },
        marks,
    )
    for labelled in (*found["pods"].values(), *found["services"].values()):
        del labelled["labels"][OWN_LABEL]
    return found


def kept(line: str, name: str) -> dict[str, Any]:
    found = observe.kept(line, name)
    for pod in found["pods"].values():
        del pod["name"]
        pod["containers"]["main"]["env"].pop(NATS, None)
        for probe in DEFAULT_PROBES:
            pod["containers"]["main"].pop(probe, None)
    return {key: found[key] for key in ("deployments", "pods", "services")}


@pytest.mark.parametrize(("line", "name"), EXAMPLES)
def test_a_graph_becomes_what_the_operator_made_of_it(line: str, name: str) -> None:
    platform = Platform(version=Version.parse(LATEST_PATCH[line]))
    graph = example(name)
    found, expected = made(graph, platform), kept(line, name)
    for kind, objects in expected.items():
        assert found[kind].keys() == objects.keys()
        for each in objects:
            assert found[kind][each] == objects[each], f"{kind} {each}"


@pytest.mark.parametrize(("line", "name"), EXAMPLES)
def test_a_graph_bears_the_operators_marks(line: str, name: str) -> None:
    graph = example(name)
    said = observe.kept(line, name)["graph"]
    marks = hashes(graph, Platform(version=Version.parse(LATEST_PATCH[line])))
    assert said["finalizers"] == ["nvidia.com/finalizer"]
    assert dict.fromkeys(marks, "HASH").items() <= said["annotations"].items()
