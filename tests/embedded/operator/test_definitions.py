"""The definitions and rules of the operator stand-in, on a real API server and apart from the running operator."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, get_args

import pytest

from embedded.cluster import ClusterError
from embedded.operator import definitions
from embedded.operator.platform import GraphVersion, Platform
from facts.releases import Version
from tests.embedded.conftest import NEWEST, Cluster, served_graphs
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
    quantity = definitions.structural_schema(SCHEMAS, "Quantity")
    assert quantity["x-kubernetes-int-or-string"] is True
    part = {"type": "object", "properties": {"size": quantity}}
    assert definitions.structural_schema(SCHEMAS, "Whole") == {
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
def groups(cluster: Cluster, schemas: dict[str, Any], worker_id: str) -> Iterator[dict[str, str]]:
    """Both versions side by side, each in an API group of this test run; by version."""
    platform = Platform(version=NEWEST, grove=True)
    with ExitStack() as stack:
        yield {
            version: stack.enter_context(
                served_graphs(cluster, version, schemas, f"{worker_id}.{version}.test", platform)
            )
            for version in get_args(GraphVersion)
        }


def create(cluster: Cluster, groups: dict[str, str], graph: Graph) -> None:
    version = graph["apiVersion"].partition("/")[2]
    moved = graph | {"apiVersion": f"{groups[version]}/{version}"}
    cluster.kubectl("apply", "--server-side", "--dry-run=server", "--filename=-", stdin=json.dumps(moved))


@pytest.mark.parametrize("graph", [alpha(), beta()], ids=["v1alpha1", "v1beta1"])
def test_the_published_graph_is_accepted(cluster: Cluster, groups: dict[str, str], graph: Graph) -> None:
    create(cluster, groups, graph)


def test_every_object_is_closed(schemas: dict[str, Any]) -> None:
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

    for version in get_args(GraphVersion):
        definition, _ = definitions.definitions(version, Platform(version=NEWEST), schemas)
        (served,) = definition["spec"]["versions"]
        found = list(leaves(served["schema"]["openAPIV3Schema"]["properties"]["spec"]))
        assert len(found) > 1000
        assert all("type" in one or "x-kubernetes-int-or-string" in one for one in found)
        assert not any(
            "x-kubernetes-preserve-unknown-fields" in one or one.get("additionalProperties") is True
            for one in found
        )
        assert not any(key in one for one in found for key in ("$ref", "x-since", "x-optional"))


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
        (alpha(), f"{DECODE}/sharedMemory", {"size": "0"}, "size is required when disabled is false"),
        (alpha(), f"{DECODE}/runtimeVersionOverride", "v1.3.1", "should match"),
        (alpha(), f"{DECODE}/envs", [{"name": "A"}], "envs: field not declared in schema"),
        (alpha(), f"{DECODE}/resources/claims", [{"request": "channel"}], "name: Required value"),
        (
            alpha(),
            f"{DECODE}/multinode",
            {"nodeCount": 2},
            "combined resource name length exceeds the 45-character pod-name limit",
        ),
        (beta(), "spec/components/1/type", "epp", "type epp needs the InferencePool API"),
        (
            alpha(),
            f"{DECODE}/extraPodSpec/mainContainer/image",
            "registry:5000/runtime",
            "no parseable semantic-version tag",
        ),
        (alpha(), f"{DECODE}/extraPodSpec/mainContainer/image", None, "the container main must have an image"),
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


@pytest.mark.parametrize(("release", "known"), [((1, 3, 1), False), ((1, 4, 2), True)])
def test_a_component_has_the_fields_of_its_release(
    schemas: dict[str, Any], release: tuple[int, int, int], known: bool
) -> None:
    """Server-side apply fails on a field that the operator's release does not declare."""
    for version in get_args(GraphVersion):
        definition, _ = definitions.definitions(version, Platform(version=Version(*release)), schemas)
        assert ("runtimeVersionOverride" in json.dumps(definition)) == known


@pytest.mark.parametrize(
    ("release", "grove", "left_out"),
    [
        ((1, 2, 1), True, {"image != ''", "runtimeVersionOverride", "has(c.scalingAdapter)"}),
        ((1, 3, 1), False, {"image != ''", "runtimeVersionOverride", "<= 45"}),
        ((1, 4, 2), False, {"<= 45"}),
        ((1, 4, 2), True, set()),
    ],
)
def test_rules_are_those_of_the_platform(
    release: tuple[int, int, int], grove: bool, left_out: set[str]
) -> None:
    rules, _ = definitions.policy(Platform(version=Version(*release), grove=grove))
    every, _ = definitions.policy(Platform(version=NEWEST, grove=True))
    assert len(every["spec"]["validations"]) - len(rules["spec"]["validations"]) == len(left_out)
    assert all(words in json.dumps(every) for words in left_out)
    assert not any(words in json.dumps(rules["spec"]["validations"]) for words in left_out)


def test_the_probe_of_other_rules_is_another() -> None:
    probes = {
        definitions.probe("v1beta1", definitions.policy(Platform(version=Version(1, minor)))[0])["metadata"][
            "name"
        ]
        for minor in (2, 3, 4)
    }
    assert len(probes) == 3
