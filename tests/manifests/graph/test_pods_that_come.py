"""What the operator admits and no pod can be made of: it would show only as pods that never come."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from embedded.operator.components import components
from manifests.graph.deployment import graph_deployment
from tests.golden_graphs import CASES, plan

KINDS_OF_PROBE = {"httpGet", "exec", "grpc", "tcpSocket"}
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
TYPES = {"frontend", "worker", "prefill", "decode", "planner", "epp"}
"""In v1alpha1 any word is admitted, and one that the operator does not know gets neither ports nor environment."""

Faults = Iterator[str]


def faults(graph: dict[str, Any]) -> Faults:
    """One sentence a fault; empty for a graph whose pods can be made."""
    for component in components(graph):
        if component.type not in TYPES:
            yield f"{component.name} is of the unknown type {component.type}"
        spec = component.pod["spec"]
        written = component.raw.get("extraPodSpec") or component.raw.get("podTemplate", {}).get("spec", {})
        volumes = Counter(volume["name"] for volume in written.get("volumes", ()))
        yield from (
            f"{component.name} has {count} volumes {name}" for name, count in volumes.items() if count > 1
        )
        there = {volume["name"] for volume in spec["volumes"]}
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            where = f"{component.name}/{container['name']}"
            yield from _probes(where, container)
            yield from _devices(where, container.get("resources", {}))
            mounted = {mount["name"] for mount in container.get("volumeMounts", ())}
            yield from (f"{where} mounts {name}, which is no volume" for name in sorted(mounted - there))


def _probes(where: str, container: dict[str, Any]) -> Faults:
    for probe in PROBES:
        kinds = KINDS_OF_PROBE & container.get(probe, {}).keys()
        if probe in container and len(kinds) != 1:
            yield f"{where}'s {probe} is of {len(kinds)} kinds"


def _devices(where: str, resources: dict[str, Any]) -> Faults:
    """Devices are whole things that nobody shares: what is asked for is the limit."""
    limits, requests = (
        {name: value for name, value in resources.get(key, {}).items() if "/" in name}
        for key in ("limits", "requests")
    )
    for name in sorted(limits.keys() | requests.keys()):
        if str(requests.get(name, limits.get(name))) != str(limits.get(name)):
            yield f"{where} asks for {requests[name]} {name} with a limit of {limits.get(name)}"


@pytest.mark.parametrize(("target", "values"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_pods_of_every_graph_can_be_made(target: str, values: dict[str, Any]) -> None:
    assert list(faults(graph_deployment(plan(target, values), "dynamo"))) == []


def test_what_is_looked_for_is_found() -> None:
    main = {
        "name": "main",
        "readinessProbe": {"exec": {}, "httpGet": {}},
        "resources": {"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "4", "cpu": "8"}},
        "volumeMounts": [{"name": "nowhere", "mountPath": "/x"}],
    }
    volumes = [{"name": "twice", "emptyDir": {}}, {"name": "twice", "emptyDir": {}}]
    component = {
        "name": "R",
        "type": "router",
        "podTemplate": {"spec": {"containers": [main], "volumes": volumes}},
    }
    assert list(faults({"spec": {"components": [component]}})) == [
        "R is of the unknown type router",
        "R has 2 volumes twice",
        "R/main's readinessProbe is of 2 kinds",
        "R/main asks for 4 nvidia.com/gpu with a limit of 2",
        "R/main mounts nowhere, which is no volume",
    ]
