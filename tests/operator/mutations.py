"""Graphs that break one rule each, or just do not, of fields that rendered graphs have: what operators are asked."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.embedded.example_graphs import Graph, alpha, beta, changed

_DECODE = {"v1alpha1": "spec/services/TrtllmDecodeWorker", "v1beta1": "spec/components/2"}
_MAIN = {
    "v1alpha1": "spec/services/TrtllmDecodeWorker/extraPodSpec/mainContainer",
    "v1beta1": "spec/components/2/podTemplate/spec/containers/0",
}
_DIGEST = "nvcr.io/x/y@sha256:" + "a" * 64


@dataclass(frozen=True)
class Mutation:
    """A graph to be created, or to be stored in the place of `old`."""

    name: str
    graph: Graph
    old: Graph | None = None


Change = tuple[str, Any]
"""A path below the graph, and its value; DECODE and MAIN stand for the decode worker and its container."""

_CREATED: dict[str, list[Change]] = {
    "as published": [],
    "discovery mode container": [
        ("metadata/annotations/nvidia.com~1dynamo-kube-discovery-mode", "container")
    ],
    "backend mocker": [("spec/backendFramework", "mocker")],
    "no backend": [("spec/backendFramework", None)],
    "no image": [("MAIN/image", None)],
    "image tag latest": [("MAIN/image", "nvcr.io/x/y:latest")],
    "image tag 1.2": [("MAIN/image", "nvcr.io/x/y:1.2")],
    "image tag v1.3.1": [("MAIN/image", "nvcr.io/x/y:v1.3.1")],
    "image tag 1.02.1": [("MAIN/image", "nvcr.io/x/y:1.02.1")],
    "image tag release-1.2.1": [("MAIN/image", "nvcr.io/x/y:release-1.2.1")],
    "image tag 1.2.1-efa-amd64": [("MAIN/image", "nvcr.io/x/y:1.2.1-efa-amd64")],
    "image digest": [("MAIN/image", _DIGEST)],
    "image digest and runtime version": [("MAIN/image", _DIGEST), ("DECODE/runtimeVersionOverride", "1.3.1")],
    "runtime version v1.2.1": [("DECODE/runtimeVersionOverride", "v1.2.1")],
    "image of a registry with a port": [("MAIN/image", "registry.example.com:5000/x/y")],
    "nodes for one worker": [("DECODE/multinode", {"nodeCount": 2})],
    "one node for one worker": [("DECODE/multinode", {"nodeCount": 1})],
    "replicas -1": [("DECODE/replicas", -1)],
    "replicas 0": [("DECODE/replicas", 0)],
    "unknown field of the component": [("DECODE/unknownField", "x")],
    "unknown field of the container": [("MAIN/unknownField", "x")],
    "args that is a number": [("MAIN/args", [5])],
    "env value that is a number": [("MAIN/env", [{"name": "X", "value": 1}])],
    "env named twice": [("MAIN/env", [{"name": "X", "value": "1"}, {"name": "X", "value": "2"}])],
    "adapter": [("DECODE/scalingAdapter", "on")],
    **{
        f"graph name of {length}": [("metadata/name", "x" * length)]
        for length in (26, 27, 40, 44, 46, 63, 64)
    },
}
_ALPHA: dict[str, list[Change]] = {
    "shared memory without a size": [("DECODE/sharedMemory", {})],
    "shared memory of 0": [("DECODE/sharedMemory", {"size": "0"})],
    "component type router": [("DECODE/componentType", "router")],
}
_BETA: dict[str, list[Change]] = {
    "shared memory of 0": [("DECODE/sharedMemorySize", "0")],
    "component type router": [("DECODE/type", "router")],
    "component type epp": [("DECODE/type", "epp")],
    "two names that differ by case": [("DECODE/name", "trtllmprefillworker")],
    "name with a dot": [("DECODE/name", "Trtllm.Decode")],
    "no name": [("DECODE/name", None)],
    "no pod": [("DECODE/podTemplate", None)],
    "no container main": [("MAIN/name", "other")],
    "memory of 8GB": [("MAIN/resources/requests/memory", "8GB")],
    "a limit below its request": [("MAIN/resources/requests/nvidia.com~1gpu", 8)],
}
_UPDATED: dict[str, tuple[list[Change], list[Change]]] = {
    "nothing": ([], []),
    "component removed": ([], [("DECODE", None)]),
    "backend changed": ([], [("spec/backendFramework", "vllm")]),
    "backend taken away": ([], [("spec/backendFramework", None)]),
    "backend given": ([("spec/backendFramework", None)], [("spec/backendFramework", "trtllm")]),
    "one node to two": ([], [("DECODE/multinode", {"nodeCount": 2})]),
    "replicas 2": ([], [("DECODE/replicas", 2)]),
    "replicas 2 with an adapter": (
        [("DECODE/scalingAdapter", "on")],
        [("DECODE/scalingAdapter", "on"), ("DECODE/replicas", 2)],
    ),
    "adapter given": ([], [("DECODE/scalingAdapter", "on")]),
    "adapter given, and replicas 2": ([], [("DECODE/scalingAdapter", "on"), ("DECODE/replicas", 2)]),
    "adapter taken away": ([("DECODE/scalingAdapter", "on")], []),
    "adapter taken away, and replicas 2": ([("DECODE/scalingAdapter", "on")], [("DECODE/replicas", 2)]),
    "image tag latest": ([], [("MAIN/image", "nvcr.io/x/y:latest")]),
    "another worker image": ([], [("MAIN/image", "nvcr.io/x/y:1.4.2")]),
}  # fmt: skip


def mutations() -> Iterator[Mutation]:
    # Of a GPU that no node has: nothing of these is to run, and to take the place of what is.
    for version, published in (("v1alpha1", alpha(gpu_model="none")), ("v1beta1", beta(gpu_model="none"))):
        created = _CREATED | (_ALPHA if version == "v1alpha1" else _BETA)
        for name, changes in created.items():
            yield Mutation(f"{version} created: {name}", _with(published, changes, version))
        for name, (before, after) in _UPDATED.items():
            old = _with(published, before, version)
            yield Mutation(f"{version} updated: {name}", _with(published, after, version), old)


def _with(graph: Graph, changes: list[Change], version: str) -> Graph:
    for path, value in changes:
        where, given = path.replace("DECODE", _DECODE[version]).replace("MAIN", _MAIN[version]), value
        if value == "on":
            given = {"enabled": True} if version == "v1alpha1" else {}
        graph = changed(graph, where, given)
    return graph
