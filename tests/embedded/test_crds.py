"""The definitions that the operator stand-in serves, on a real API server and apart from the running operator."""

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from embedded import crds
from embedded.cluster import ClusterError
from targets.releases import Version
from tests.embedded.conftest import NEWEST, Cluster, serve_graphs
from tests.embedded.example_graphs import Graph, alpha, beta, changed

SCHEMAS = {
    "Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "Part": {"type": "object", "properties": {"size": {"$ref": "#/components/schemas/Quantity"}}},
    "Whole": {
        "type": "object",
        "description": "of no use here",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "default": ""},
            "protocol": {"type": "string", "default": "TCP"},
            "part": {"allOf": [{"$ref": "#/components/schemas/Part"}], "default": {}},
            "parts": {
                "type": "array",
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-list-type": "atomic",
                "items": {"allOf": [{"$ref": "#/components/schemas/Part"}], "default": {}},
            },
        },
    },
}
DECODE = "spec/services/TrtllmDecodeWorker"


def test_references_become_closed_schemas() -> None:
    quantity = crds.structural(SCHEMAS, "Quantity")
    assert quantity["x-kubernetes-int-or-string"] is True
    part = {"type": "object", "properties": {"size": quantity}}
    assert crds.structural(SCHEMAS, "Whole") == {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "protocol": {"type": "string", "default": "TCP"},
            "part": part,
            "parts": {"type": "array", "x-kubernetes-list-type": "atomic", "items": part},
        },
    }


@pytest.fixture(scope="module")
def groups(cluster: Cluster, pod_spec: dict[str, Any], worker_id: str) -> Iterator[dict[str, str]]:
    """Both versions side by side, each in an API group of this test run; by version."""
    found = {}
    for version in get_args(crds.Version):
        found[version] = f"{worker_id}.{version}.test"
        serve_graphs(cluster, version, pod_spec, found[version])
    yield found
    for group in found.values():
        cluster.kubectl("delete", "crd", f"dynamographdeployments.{group}")


def create(cluster: Cluster, groups: dict[str, str], graph: Graph) -> None:
    version = graph["apiVersion"].partition("/")[2]
    moved = graph | {"apiVersion": f"{groups[version]}/{version}"}
    cluster.kubectl("apply", "--server-side", "--dry-run=server", "--filename=-", stdin=json.dumps(moved))


@pytest.mark.parametrize("graph", [alpha(), beta()], ids=["v1alpha1", "v1beta1"])
def test_the_published_graph_is_accepted(cluster: Cluster, groups: dict[str, str], graph: Graph) -> None:
    create(cluster, groups, graph)


def test_every_object_is_closed(pod_spec: dict[str, Any]) -> None:
    def leaves(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield schema
        children = [
            *schema.get("properties", {}).values(),
            schema.get("items"),
            schema.get("additionalProperties"),
        ]
        for child in children:
            if isinstance(child, dict):
                yield from leaves(child)

    for version in get_args(crds.Version):
        definition = crds.dynamo_graph_deployment(version, pod_spec, NEWEST)
        (served,) = definition["spec"]["versions"]
        found = list(leaves(served["schema"]["openAPIV3Schema"]))
        assert len(found) > 1000
        assert all("type" in one or "x-kubernetes-int-or-string" in one for one in found)
        assert not any(
            "x-kubernetes-preserve-unknown-fields" in one or one.get("additionalProperties") is True
            for one in found
        )


@pytest.mark.parametrize(
    ("graph", "path", "value", "words"),
    [
        (alpha(), "spec/backendFrameWork", "trtllm", "backendFrameWork: field not declared in schema"),
        (alpha(), f"{DECODE}/extraPodSpec/mainContainer/imge", "x", "imge: field not declared in schema"),
        (alpha(), f"{DECODE}/resources/limits/gpus", "4", "gpus: field not declared in schema"),
        (alpha(), f"{DECODE}/gpuMemoryService", {"enabled": True}, "gpuMemoryService: field not declared in schema"),
        (beta(), "spec/services", {}, "services: field not declared in schema"),
        (beta(), "spec/components/1/podTemplate/metadata/ownerReferences", [], "ownerReferences: field not declared"),
        (alpha(), "spec/backendFramework", "triton", 'Unsupported value: "triton"'),
        (beta(), "spec/components/1/type", "main", 'Unsupported value: "main"'),
        (beta(), "spec/components/1/name", "pre_fill", "should match"),
        (beta(), "spec/components/1/name", "FRONTEND", "component names must be unique case-insensitively"),
        (beta(), "spec/components/1/multinode", {"nodeCount": 1}, "should be greater than or equal to 2"),
        (alpha(), f"{DECODE}/replicas", -1, "should be greater than or equal to 0"),
        (alpha(), f"{DECODE}/minAvailable", 2, "minAvailable must be less than or equal to replicas unless"),
        (alpha(), f"{DECODE}/sharedMemory", {"size": "0"}, "size is required when disabled is false"),
        (alpha(), f"{DECODE}/runtimeVersionOverride", "v1.3.1", "should match"),
        (alpha(), f"{DECODE}/envs", [{"value": "1"}], "name: Required value"),
        (alpha(), "spec/pvcs", [{"name": "x", "create": True}], "When create is true, size, storageClass, and"),
        (alpha(), "spec/restart", {"id": "1"}, "spec.restart must be unset on create"),
        (
            beta(),
            "spec/components/1/podTemplate/metadata",
            {"annotations": {"nvidia.com/vllm-distributed-executor-backend": "dask"}},
            "podTemplate backend annotation must be mp or ray",
        ),
        (
            alpha(),
            "spec/services",
            {f"s{index}": {} for index in range(26)},
            "must have at most 25 items",
        ),
    ],
)  # fmt: skip
def test_refused(
    cluster: Cluster, groups: dict[str, str], graph: Graph, path: str, value: Any, words: str
) -> None:
    with pytest.raises(ClusterError) as refusal:
        create(cluster, groups, changed(graph, path, value))
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("release", "fields"),
    [
        ((1, 2, 1), set()),
        ((1, 3, 1), {"minAvailable"}),
        ((1, 4, 2), {"minAvailable", "runtimeVersionOverride"}),
    ],
)
def test_a_component_has_the_fields_of_its_release(
    pod_spec: dict[str, Any], release: tuple[int, int, int], fields: set[str]
) -> None:
    """Server-side apply fails on a field that the operator's release does not declare."""
    for version in get_args(crds.Version):
        definition = crds.dynamo_graph_deployment(version, pod_spec, Version(*release))
        (served,) = definition["spec"]["versions"]
        spec = served["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        found = (
            spec["services"]["additionalProperties"] if version == "v1alpha1" else spec["components"]["items"]
        )
        assert found["properties"].keys() & {"minAvailable", "runtimeVersionOverride"} == fields
        assert ("x-kubernetes-validations" in found) == ("minAvailable" in fields)
        assert ("priorityClassName" in spec) == ("minAvailable" in fields)
