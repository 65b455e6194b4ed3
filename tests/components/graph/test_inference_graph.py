"""A graph as a component: what it waits for, its images, its aliases, its local copy."""

from dataclasses import replace
from typing import Any

import pulumi
import pytest

from components.graph.graph import Graph
from components.graph.inference_graph import InferenceGraph, InferenceGraphArgs
from manifests.graph.deployment import graph_deployment
from ops.evaluate import Resource, run
from targets.plan import GraphPlan
from tests.components.recording import Deployed, deploy, named
from tests.plans import resolved


def copying(graph: GraphPlan, local_copy: bool) -> GraphPlan:
    return replace(graph, cache=replace(graph.cache, local_copy=local_copy))


def pod(graph: Resource, component: str) -> Any:
    """The pod of one component, as the graph says it in v1beta1."""
    (found,) = (each for each in graph.inputs["spec"]["components"] if each["name"] == component)
    return found["podTemplate"]["spec"]


def test_the_graph_waits_for_its_engine_files_and_asks_to_be_waited_for() -> None:
    def program() -> None:
        InferenceGraph("graph", InferenceGraphArgs(graph=Graph.of(resolved()), namespace="dynamo"))

    recorder = deploy(program)
    files = named(recorder, "gpt-oss-disagg-llm-config", ":ConfigMap")
    graph = named(recorder, "graph", ":DynamoGraphDeployment")
    script = named(recorder, "gpt-oss-disagg-run-workers", ":ConfigMap")
    component = named(recorder, "graph", ":InferenceGraph")
    assert files.parent == script.parent == graph.parent == component.urn
    assert set(graph.dependencies) == {files.urn, script.urn}
    assert graph.inputs["metadata"]["annotations"]["pulumi.com/waitFor"] == "condition=Ready"
    assert sorted(files.inputs["data"]) == ["decode.yaml", "prefill.yaml"]
    assert recorder.registered_outputs["graph"] == {
        "name": "gpt-oss-disagg",
        "endpoint": "http://gpt-oss-disagg-frontend.dynamo.svc:8000",
    }


def test_what_the_graph_tells_the_operator_reaches_it() -> None:
    in_one_pod = resolved("vllm-disagg-h100", "p5.48xlarge", transport="pod")

    def program() -> None:
        InferenceGraph("graph", InferenceGraphArgs(graph=Graph.of(in_one_pod), namespace="dynamo"))

    written = graph_deployment(in_one_pod, "dynamo")["metadata"]["annotations"]
    graph = named(deploy(program), "graph", ":DynamoGraphDeployment")
    assert written["nvidia.com/dynamo-kube-discovery-mode"] == "container"
    assert written.items() <= graph.inputs["metadata"]["annotations"].items()


def test_an_image_of_one_s_own_is_run_by_all_but_the_endpoint_picker() -> None:
    behind = resolved("vllm-disagg-h100", "p5.48xlarge", dynamoVersion="1.6.1", inference_extension=True)
    recorder = deploy(
        lambda: InferenceGraph(
            "graph",
            InferenceGraphArgs(
                graph=Graph.of(behind), namespace="dynamo", image=pulumi.Output.from_input("r/x@1")
            ),
        )
    )
    spec = named(recorder, "graph", ":DynamoGraphDeployment").inputs["spec"]
    images = {
        component["name"]: [each["image"] for each in component["podTemplate"]["spec"]["containers"]]
        for component in spec["components"]
    }
    assert images == {
        "Frontend": ["r/x@1"],
        "Epp": ["nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.6.1"],
        "VllmPrefillWorker": ["r/x@1", "r/x@1"],
        "VllmDecodeWorker": ["r/x@1", "r/x@1"],
    }


def test_a_local_copy_brings_its_script_and_replaces_no_graph() -> None:
    def deployed(local_copy: bool) -> Deployed:
        args = InferenceGraphArgs(graph=Graph.of(copying(resolved(), local_copy)), namespace="dynamo")
        return deploy(lambda: InferenceGraph("graph", args))

    with_copy, without = deployed(True), deployed(False)
    graph, before = (named(each, "graph", ":DynamoGraphDeployment") for each in (with_copy, without))
    script = named(with_copy, "gpt-oss-disagg-copy-weights", ":ConfigMap")
    assert script.urn in graph.dependencies
    assert script.inputs["metadata"]["namespace"] == "dynamo"
    (name,) = script.inputs["data"]
    worker = pod(graph, "TrtllmWorkers")
    assert worker["initContainers"][0]["command"] == ["python3", f"/opt/dynamo-gpt-oss/{name}"]
    # What a replacement hangs on.
    assert graph.inputs["metadata"] == before.inputs["metadata"]
    assert not [r for r in without.recorded if r.name == script.name]


def test_a_built_image_is_what_copies_too() -> None:
    def program() -> None:
        args = InferenceGraphArgs(
            graph=Graph.of(copying(resolved(), True)),
            namespace="dynamo",
            image=pulumi.Output.from_input("r/x@y"),
        )
        InferenceGraph("graph", args)

    worker = pod(named(deploy(program), "graph", ":DynamoGraphDeployment"), "TrtllmWorkers")
    assert worker["initContainers"][0]["image"] == worker["containers"][0]["image"] == "r/x@y"


def test_gb200_workers_wait_for_their_compute_domain() -> None:
    def program() -> None:
        gb200 = resolved("trtllm-agg-gb200", "p6e-gb200.36xlarge")
        InferenceGraph("graph", InferenceGraphArgs(graph=Graph.of(gb200), namespace="dynamo"))

    recorder = deploy(program)
    domain = named(recorder, "gpt-oss-agg-compute-domain", ":ComputeDomain")
    graph = named(recorder, "graph", ":DynamoGraphDeployment")
    assert domain.urn in graph.dependencies
    claims = pod(graph, "TrtllmWorker")["resourceClaims"]
    template = domain.inputs["spec"]["channel"]["resourceClaimTemplate"]["name"]
    assert [claim["resourceClaimTemplateName"] for claim in claims] == [template]


class Aliases(Deployed):
    """Keeps the types that a graph may have had before."""

    def __init__(self) -> None:
        super().__init__()
        self.types: list[str] = []

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        if request.type.endswith(":DynamoGraphDeployment"):
            self.types += [alias.spec.type for alias in request.aliases]
        return super().RegisterResource(request)


@pytest.mark.parametrize(("version", "before"), [("1.2.1", "v1beta1"), ("1.4.2", "v1alpha1")])
def test_a_graph_in_the_other_api_version_is_the_same_resource(version: str, before: str) -> None:
    def program() -> None:
        graph = resolved(dynamoVersion=version)
        InferenceGraph("graph", InferenceGraphArgs(graph=Graph.of(graph), namespace="dynamo"))

    recorder = Aliases()
    run(program, recorder, project="dynamo-gpt-oss", stack="test", preview=False)
    assert recorder.types == [f"kubernetes:nvidia.com/{before}:DynamoGraphDeployment"]
