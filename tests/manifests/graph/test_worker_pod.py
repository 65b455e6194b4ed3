"""All workers of a graph in one pod: its container, its GPUs and ports, and how discovery tells its workers apart."""

import json
from typing import Any

import pytest

from embedded.dynamo_graph import graphs_of
from manifests.graph.deployment import graph_deployment
from manifests.graph.worker_pod import script_config_map
from pods.run_workers import Worker, parse
from targets.plan import GraphPlan
from tests import plans


def plan(target: str, **graph: Any) -> GraphPlan:
    return plans.graph(target, graph={"transport": "pod", "dynamoVersion": "1.4.2", **graph})


def pod(graph: GraphPlan) -> tuple[dict[str, Any], dict[str, Any]]:
    """The component of the workers, and the specification of its pod, in v1beta1."""
    _, component = graph_deployment(graph, "dynamo")["spec"]["components"]
    return component, component["podTemplate"]["spec"]


def workers(graph: GraphPlan) -> dict[str, Worker]:
    return {worker.name: worker for worker in map(parse, pod(graph)[1]["containers"][0]["args"])}


def test_one_container_has_all_gpus_and_each_worker_its_own_first() -> None:
    graph = plan("trtllm-disagg-b200")
    component, spec = pod(graph)
    assert (component["name"], component["type"], component["replicas"]) == ("TrtllmWorkers", "worker", 1)
    main, *beside = spec["containers"]
    assert main["resources"]["limits"] == {"nvidia.com/gpu": "8"}
    assert not any("nvidia.com/gpu" in each["resources"].get("limits", {}) for each in beside)
    visible = {name: worker.variables["CUDA_VISIBLE_DEVICES"] for name, worker in workers(graph).items()}
    assert visible == {"decode-0": "0,1,2,3,4,5,6,7", "prefill-0": "4,5,6,7,0,1,2,3"}


def test_each_worker_is_a_container_to_discovery() -> None:
    """A worker is listed while the container of its name is ready, which asks that worker's own port."""
    graph = plan("vllm-disagg-agentic-b200")
    manifest = graph_deployment(graph, "dynamo")
    assert manifest["metadata"]["annotations"] == {"nvidia.com/dynamo-kube-discovery-mode": "container"}
    ports = {
        each["name"]: str(each["readinessProbe"]["httpGet"]["port"])
        for each in pod(graph)[1]["containers"][1:]
    }
    said = workers(graph)
    assert {worker.variables["CONTAINER_NAME"] for worker in said.values()} == ports.keys() == said.keys()
    assert {name: worker.variables["DYN_SYSTEM_PORT"] for name, worker in said.items()} == ports
    assert len(ports) == 8


@pytest.mark.parametrize("target", ["vllm-disagg-agentic-b200", "sglang-disagg-h100", "trtllm-disagg-8k"])
def test_no_two_workers_share_a_port(target: str) -> None:
    graph = plan(target)
    said = list(workers(graph).values())
    for name in (
        "DYN_SYSTEM_PORT",
        "DYN_FORWARDPASS_METRIC_PORT",
        "NIXL_TELEMETRY_PROMETHEUS_PORT",
        "VLLM_NIXL_SIDE_CHANNEL_PORT",
    ):
        assert len({worker.variables[name] for worker in said}) == len(said)
    assert "9090" not in {worker.variables["DYN_SYSTEM_PORT"] for worker in said}, "the pod's own"
    events = [
        json.loads(worker.argv[worker.argv.index("--kv-events-config") + 1])["endpoint"]
        for worker in said
        if "--kv-events-config" in worker.argv
    ]
    assert len(set(events)) == len(events)


def test_prefill_workers_of_one_pod_have_bootstrap_ports_of_their_own() -> None:
    graph = plan("sglang-disagg-h100", prefill={"replicas": 2, "tensorParallel": 2})
    said = {
        worker.argv[worker.argv.index("--disaggregation-bootstrap-port") + 1]
        for name, worker in workers(graph).items()
        if name.startswith("prefill")
    }
    assert len(said) == 2


def test_vllm_s_buffer_stays_on_the_gpu() -> None:
    assert not any(
        "kv_buffer_device" in " ".join(worker.argv) for worker in workers(plan("vllm-disagg-h100")).values()
    )


def test_the_pod_requests_what_its_workers_do_and_is_probed_for_all() -> None:
    main = pod(plan("vllm-disagg-agentic-b200"))[1]["containers"][0]
    assert main["resources"]["requests"]["memory"] == "1200Gi", "the recipe's one pod"
    assert main["readinessProbe"]["httpGet"] == {"path": "/health", "port": 9090}
    assert {"name": "SYSTEM_PORT", "value": "9090"} in main["env"]


def test_a_changed_engine_file_of_either_role_restarts_the_pod() -> None:
    def digest(**knobs: Any) -> str:
        component, _ = pod(plan("trtllm-disagg-8k", **knobs))
        return str(component["podTemplate"]["metadata"]["annotations"]["dynamo-gpt-oss/engine-files"])

    assert len({digest(), digest(prefill={"maxBatchSize": 32}), digest(decode={"maxBatchSize": 640})}) == 3


def test_up_to_1_2_it_is_written_in_v1alpha1() -> None:
    service = graph_deployment(plan("vllm-disagg-h100", dynamoVersion="1.2.1"), "dynamo")["spec"]["services"][
        "VllmWorkers"
    ]
    assert service["componentType"] == "worker"
    assert "subComponentType" not in service
    assert [each["name"] for each in service["extraPodSpec"]["containers"]] == ["decode-0", "prefill-0"]
    assert service["resources"]["limits"] == {"gpu": "8"}


def test_the_script_comes_in_a_config_map() -> None:
    graph = plan("vllm-disagg-h100")
    made = script_config_map(graph, "dynamo")
    assert made["metadata"]["name"] == "gpt-oss-disagg-run-workers"
    assert {"name": "run-workers", "configMap": {"name": made["metadata"]["name"]}} in pod(graph)[1][
        "volumes"
    ]


def test_the_embedded_cluster_runs_each_worker_of_the_pod() -> None:
    labels = {"nvidia.com/dynamo-graph-deployment-name": "gpt-oss-disagg"}
    graph = plan("vllm-disagg-h100")

    def running(name: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        type_label = {"nvidia.com/dynamo-component-type": kind}
        metadata = {"name": name, "namespace": "dynamo", "uid": name, "labels": {**labels, **type_label}}
        return {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}

    frontend = graph_deployment(graph, "dynamo")["spec"]["components"][0]["podTemplate"]["spec"]
    (served,) = graphs_of([running("f", "frontend", frontend), running("w", "worker", pod(graph)[1])])
    found = [(worker.pod, worker.role) for worker in served.workers]
    assert found == [("w-prefill-0", "prefill"), ("w-decode-0", "decode")]
