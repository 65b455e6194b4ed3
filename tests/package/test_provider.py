"""The package: its schema as it is kept, and every component made from the plain object that a program sends."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pulumi
import pytest

from ops.evaluate import Recorder, run
from ops.version import version
from package.provider import COMPONENTS, VERSION, Package
from package.rules import problems
from targets.catalogue import TARGETS
from tests.components.recording import named
from tests.golden_files import compare

H100 = {"target": "vllm-disagg-h100", "pool": {"instanceType": "p5.48xlarge", "nodes": 1.0}}
SUBNETS = {"us-east-2a": "subnet-0123456789abcdef0", "us-east-2b": "subnet-0123456789abcdef1"}
GIVEN: Mapping[str, dict[str, Any]] = {
    "EksCluster": {
        "subnets": SUBNETS,
        "api": {"publicFrom": ["203.0.113.7/32"]},
        "cpuNodes": {"instanceType": "m7i.4xlarge", "count": 2.0},
        "fileSystem": "efs",
    },
    "GpuNodePool": {
        "cluster": {"name": "theirs", "vpcId": "vpc-1", "securityGroupId": "sg-1"},
        "subnets": {"us-east-2a": SUBNETS["us-east-2a"]},
        "instanceType": "p5.48xlarge",
        "nodes": 2.0,
        "capacity": {"kind": "capacity-block", "reservationId": "cr-0123456789abcdef0"},
    },
    "DynamoPlatform": {"version": "1.4.2", "services": {"grove": "bundled"}},
    "ModelCache": {"namespace": "theirs", "claim": {"storageClass": "shared"}},
    "InferenceGraph": {"namespace": "theirs", "graph": {**H100, "knobs": {"decode": {"maxBatchSize": 64.0}}}},
    "Verification": {"namespace": "theirs", "graph": H100},
    "Benchmark": {"namespace": "theirs", "graph": H100, "load": {"sweep": [8.0, 16.0]}},
    "Monitoring": {"retentionDays": 3.0},
}
"""What a program sends for each: names in camelCase, every number a floating-point one."""


def construct(component: str, given: Mapping[str, Any]) -> None:
    Package(problems).construct("theirs", f"dynamo-gpt-oss:index:{component}", dict(given))


def preview(program: Callable[[], None]) -> Recorder:
    recorder = Recorder()
    run(program, recorder, project="theirs", stack="test", preview=True)
    return recorder


def made(component: str, **more: Any) -> Recorder:
    return preview(partial(construct, component, {**GIVEN[component], **more}))


def made_later(component: str, argument: str, value: object) -> Recorder:
    """With a value that another resource gives."""

    def program() -> None:
        construct(component, {**GIVEN[component], argument: pulumi.Output.from_input(value)})

    return preview(program)


def test_the_kept_schema_is_current() -> None:
    """`REGENERATE=1` writes it anew, as `python -m package schema` prints it."""
    schema = json.dumps(Package().described, indent=2, ensure_ascii=False)
    compare("../../components/schema.json", f"{schema}\n")


@pytest.mark.parametrize("component", GIVEN)
def test_a_component_is_made_from_a_plain_object(component: str) -> None:
    recorder = made(component)
    own = [each for each in recorder.recorded if each.type == f"dynamo-gpt-oss:index:{component}"]
    assert [each.name for each in own] == ["theirs"]
    assert [each for each in recorder.recorded if each.parent == own[0].urn]


def test_each_component_is_tried_and_said_in_the_schema() -> None:
    names = [each.__name__ for each in COMPONENTS]
    assert sorted(names) == sorted(GIVEN)
    assert sorted(Package().described["resources"]) == sorted(
        f"dynamo-gpt-oss:index:{name}" for name in names
    )


def test_every_argument_and_output_is_described() -> None:
    schema = Package().described
    silent = [
        f"{token}.{name}"
        for token, of in [*schema["resources"].items(), *schema["types"].items()]
        for properties in ("inputProperties", "properties")
        for name, said in of.get(properties, {}).items()
        if not said.get("description")
    ]
    assert silent == []


def test_the_schema_names_choices_and_defaults() -> None:
    types = {token.rpartition(":")[2]: of for token, of in Package().described["types"].items()}
    assert [each["value"] for each in types["Target"]["enum"]] == list(TARGETS)
    assert types["GraphPool"]["properties"]["efa"]["default"] is True
    assert types["PlatformServices"]["properties"]["grove"]["default"] == "none"
    assert types["Graph"]["required"] == ["target"]


def test_choices_have_the_names_that_languages_make_theirs_from() -> None:
    """Of `CAPACITY_BLOCK` Python's SDK would make CAPACIT_Y_BLOCK."""
    types = {token.rpartition(":")[2]: of for token, of in Package().described["types"].items()}
    names = {each["value"]: each["name"] for of in types.values() for each in of.get("enum", ())}
    assert names["capacity-block"] == "CapacityBlock"
    assert names["vllm-disagg-h100"] == "VllmDisaggH100"
    assert names["p5.48xlarge"] == "P5_48xlarge"
    assert names["1024/128"] == "T1024_128"


def test_knobs_reach_the_graph() -> None:
    graph = named(made("InferenceGraph"), "theirs", ":DynamoGraphDeployment")
    assert '"--max-num-seqs", "64"' in json.dumps(graph.inputs) or "--max-num-seqs 64" in json.dumps(
        graph.inputs
    )


@pytest.mark.parametrize("component", ["ModelCache", "InferenceGraph", "Verification", "Benchmark"])
def test_a_namespace_may_be_another_resource_s(component: str) -> None:
    """What is known only later is the same in the end."""
    later, at_once = made_later(component, "namespace", "theirs"), made(component)
    assert [each.inputs for each in later.recorded] == [each.inputs for each in at_once.recorded]


def test_what_says_what_is_made_cannot_be_another_resource_s() -> None:
    with pytest.raises(pulumi.InputPropertiesError) as refused:
        made_later("GpuNodePool", "nodes", 2)
    (problem,) = refused.value.errors or []
    assert problem["property_path"] == "nodes"
    assert problem["reason"].startswith("an output of another resource, but it says what is made")


@pytest.mark.parametrize(
    ("component", "more", "path", "reason"),
    [
        (
            "InferenceGraph",
            {"graph": {"target": "vllm"}},
            "graph.target",
            "'vllm' is not allowed; choose one of ",
        ),
        ("InferenceGraph", {"graph": {}}, "graph.target", "missing; The published system"),
        ("InferenceGraph", {"garph": {}}, "garph", "unknown; choose one of graph, namespace, image, claim"),
        ("GpuNodePool", {"nodes": 1.5}, "nodes", "1.5 is not a whole number"),
        (
            "GpuNodePool",
            {"capacity": {"kind": "block"}},
            "capacity.kind",
            "'block' is not allowed; choose one of ",
        ),
        ("GpuNodePool", {"subnets": ["a"]}, "subnets", "['a'] is not an object"),
        (
            "InferenceGraph",
            {"graph": {**H100, "knobs": {"decode": {"maxBatchSiz": 64.0}}}},
            "graph.knobs.decode.maxBatchSiz",
            "unknown key, given 64 (did you mean maxBatchSize?)",
        ),
        (
            "InferenceGraph",
            {"graph": {**H100, "pool": {"instanceType": "p6-b200.48xlarge"}}},
            "graph.pool.instanceType",
            "p6-b200.48xlarge has B200 GPUs, but target vllm-disagg-h100 is for H100",
        ),
        (
            "Verification",
            {"graph": {**H100, "knobs": {"dynamoVersion": "0.3.0"}}},
            "graph.knobs.dynamoVersion",
            "'0.3.0': ",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_its_argument(
    component: str, more: dict[str, Any], path: str, reason: str
) -> None:
    with pytest.raises(pulumi.InputPropertiesError) as refused:
        made(component, **more)
    (problem,) = refused.value.errors or []
    assert problem["property_path"] == path
    assert problem["reason"].startswith(reason)


def test_the_package_has_the_project_s_version() -> None:
    assert version() == VERSION
