"""What the operator stand-in makes of a graph without Grove: Deployments, generation after generation."""

from typing import Any

import pytest

from embedded.operator import deployments, generations, pods
from embedded.operator.components import components
from embedded.operator.generations import MAX_SURGE, MAX_UNAVAILABLE, Generation
from embedded.operator.platform import Platform
from embedded.operator.status import NO_ORCHESTRATOR, failure_status, status
from facts.releases import Version
from tests.embedded.example_graphs import Graph, alpha, beta, changed, stored

PLATFORM = Platform(version=Version(1, 4, 2))
NOW = "2026-01-01T00:00:00+00:00"
ROLLED = {MAX_SURGE: "0", MAX_UNAVAILABLE: "100%"}
both = pytest.mark.parametrize("graph", [stored(alpha()), stored(beta())], ids=["v1alpha1", "v1beta1"])


def made(graph: Graph, platform: Platform = PLATFORM) -> dict[str, list[dict[str, Any]]]:
    """By component: its Deployment and Service."""
    return {component.name: deployments.workload(component, platform) for component in components(graph)}


def workers(graph: Graph) -> Graph:
    """The graph with workers that roll where there is room for no more of them."""
    for worker in ("TrtllmPrefillWorker", "TrtllmDecodeWorker"):
        graph = changed(graph, f"spec/services/{worker}/extraPodMetadata", {"annotations": ROLLED})
    return graph


def generation(
    component: str, mark: str, replicas: int, serving: int | None = None, day: int = 1
) -> Generation:
    count = replicas if serving is None else serving
    return Generation(name=f"{component}-{mark}", component=component, hash=mark, created=f"2026-01-0{day}",
                      desired=replicas, available=count, ready=count)  # fmt: skip


@both
def test_workers_are_called_by_their_generation(graph: Graph) -> None:
    mark = generations.worker_hash(graph)
    names = {one["metadata"]["name"] for parts in made(graph).values() for one in parts}
    assert names == {
        "gpt-oss-disagg-frontend",
        f"gpt-oss-disagg-trtllmprefillworker-{mark}",
        f"gpt-oss-disagg-trtllmdecodeworker-{mark}",
    }
    deployment, service = made(graph)["TrtllmDecodeWorker"]
    assert [one["kind"] for one in (deployment, service)] == ["Deployment", "Service"]
    for one in (deployment, service):
        assert one["metadata"]["ownerReferences"][0]["uid"] == "11111111-2222"
    assert deployment["spec"]["selector"]["matchLabels"] == {
        "nvidia.com/selector": deployment["metadata"]["name"]
    }
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": "25%", "maxUnavailable": "25%"}


@both
def test_a_worker_has_what_the_operator_gives_every_worker(graph: Graph) -> None:
    template = made(graph)["TrtllmDecodeWorker"][0]["spec"]["template"]
    labels, main = template["metadata"]["labels"], template["spec"]["containers"][0]
    assert labels == {
        "nvidia.com/dynamo-graph-deployment-name": "gpt-oss-disagg",
        "nvidia.com/dynamo-component": "TrtllmDecodeWorker",
        "nvidia.com/dynamo-component-type": "decode",
        "nvidia.com/dynamo-sub-component-type": "decode",
        "nvidia.com/dynamo-namespace": "default-gpt-oss-disagg",
        "nvidia.com/dynamo-worker-hash": generations.worker_hash(graph),
        "nvidia.com/dynamo-discovery-backend": "kubernetes",
        "nvidia.com/dynamo-discovery-enabled": "true",
        "nvidia.com/metrics-enabled": "true",
        "nvidia.com/selector": f"gpt-oss-disagg-trtllmdecodeworker-{generations.worker_hash(graph)}",
        "dynamo-gpt-oss/simulated": "true",
    }
    environment = {one["name"]: one["value"] for one in main["env"] if "value" in one}
    assert environment == {
        "DYN_COMPONENT": "decode",
        "DYN_DISCOVERY_BACKEND": "kubernetes",
        "DYN_FORWARDPASS_METRIC_PORT": "20380",
        "DYN_HEALTH_CHECK_ENABLED": "false",
        "DYN_NAMESPACE": "default-gpt-oss-disagg",
        "DYN_NAMESPACE_WORKER_SUFFIX": generations.worker_hash(graph),
        "DYN_PARENT_DGD_K8S_NAME": "gpt-oss-disagg",
        "DYN_PARENT_DGD_K8S_NAMESPACE": "default",
        "DYN_SYSTEM_ENABLED": "true",
        "DYN_SYSTEM_PORT": "9090",
        "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
        "HF_HOME": "/opt/models",
        "NIXL_TELEMETRY_ENABLE": "n",
        "NIXL_TELEMETRY_EXPORTER": "prometheus",
        "NIXL_TELEMETRY_PROMETHEUS_PORT": "19090",
        "TRTLLM_ENABLE_PDL": "1",
    }
    assert {port["name"]: port["containerPort"] for port in main["ports"]} == {"system": 9090, "nixl": 19090}


@both
def test_a_graphs_release_reaches_its_pods_for_the_data_plane(graph: Graph) -> None:
    said = {"app.kubernetes.io/version": "1.3.1", "app.kubernetes.io/managed-by": "dynamo-gpt-oss"}
    labels = made(changed(graph, "metadata/labels", said))["Frontend"][0]["spec"]["template"]["metadata"][
        "labels"
    ]
    assert labels["app.kubernetes.io/version"] == "1.3.1"
    assert "app.kubernetes.io/managed-by" not in labels


@both
def test_a_service_selects_its_component_of_every_generation(graph: Graph) -> None:
    service = made(graph)["TrtllmDecodeWorker"][1]
    assert service["spec"]["selector"] == {
        "nvidia.com/dynamo-component-type": "decode",
        "nvidia.com/dynamo-namespace": "default-gpt-oss-disagg",
        "nvidia.com/dynamo-component": "TrtllmDecodeWorker",
    }
    assert "nvidia.com/dynamo-component-type" not in service["metadata"]["labels"]


def test_a_planner_runs_under_the_account_that_every_namespace_gets() -> None:
    graph = changed(stored(beta()), "spec/components/0/type", "planner")
    template = made(graph)["Frontend"][0]["spec"]["template"]["spec"]
    assert template["serviceAccountName"] == "planner-serviceaccount"
    ports = {port["name"]: port["containerPort"] for port in template["containers"][0]["ports"]}
    assert ports == {"metrics": 9085, "system": 9090}
    accounts = {one["metadata"]["name"]: "ownerReferences" in one["metadata"] for one in pods.accounts(graph)}
    assert accounts == {"planner-serviceaccount": False, "gpt-oss-disagg-k8s-service-discovery": True}


@pytest.mark.parametrize(
    ("path", "value", "new"),
    [
        ("spec/services/TrtllmPrefillWorker/extraPodSpec/mainContainer/args", ["other"], True),
        ("spec/services/TrtllmPrefillWorker/extraPodMetadata", {"annotations": ROLLED}, True),
        ("spec/backendFramework", "vllm", True),
        ("spec/services/TrtllmPrefillWorker/replicas", 2, False),
        ("spec/services/Frontend/extraPodSpec/mainContainer/args", ["other"], False),
    ],
)
def test_a_generation_is_of_what_makes_workers_new_ones(path: str, value: Any, new: bool) -> None:
    graph = stored(alpha())
    assert (generations.worker_hash(changed(graph, path, value)) != generations.worker_hash(graph)) == new


@pytest.mark.parametrize(
    ("annotations", "replicas", "limits"),
    [
        ({}, 1, (1, 0)),
        ({}, 8, (2, 2)),
        ({}, 6, (2, 1)),
        (ROLLED, 1, (0, 1)),
        (ROLLED, 8, (0, 8)),
        ({MAX_SURGE: "0", MAX_UNAVAILABLE: "0"}, 4, (1, 0)),
        ({MAX_SURGE: "2", MAX_UNAVAILABLE: "many"}, 4, (2, 0)),
    ],
)
def test_limits_of_a_rollout(annotations: dict[str, str], replicas: int, limits: tuple[int, int]) -> None:
    assert generations.limits(annotations, replicas) == limits


def test_one_worker_a_component_stays_until_its_successor_serves() -> None:
    graph = stored(alpha())
    mark = generations.worker_hash(graph)
    names = ("TrtllmPrefillWorker", "TrtllmDecodeWorker")
    old = [generation(name, "old", 1) for name in names]
    first = generations.rollout(graph, old)
    assert first.new == dict.fromkeys(names, 1)
    assert set(first.old.values()) == {1}
    pending = generations.rollout(graph, [*old, *(generation(name, mark, 1, 0) for name in names)])
    assert (pending.new, pending.old, pending.complete) == (first.new, first.old, False)
    served = generations.rollout(graph, [*old, *(generation(name, mark, 1) for name in names)])
    assert set(served.old.values()) == {0}
    assert not served.complete
    gone = [generation(name, "old", 0) for name in names]
    assert generations.rollout(graph, [*gone, *(generation(name, mark, 1) for name in names)]).complete


def test_with_surge_0_the_old_worker_goes_first() -> None:
    graph = workers(stored(alpha()))
    old = [generation(name, "old", 1) for name in ("TrtllmPrefillWorker", "TrtllmDecodeWorker")]
    step = generations.rollout(graph, old)
    assert set(step.new.values()) == set(step.old.values()) == {0}
    gone = [generation(name, "old", 0) for name in ("TrtllmPrefillWorker", "TrtllmDecodeWorker")]
    assert set(generations.rollout(graph, gone).new.values()) == {1}


def test_what_does_not_serve_goes_before_what_does_and_the_oldest_before_the_newest() -> None:
    graph = changed(workers(stored(alpha())), "spec/services/TrtllmDecodeWorker/replicas", 4)
    path = "spec/services/TrtllmDecodeWorker/extraPodMetadata/annotations"
    graph = changed(graph, path, {MAX_SURGE: "0", MAX_UNAVAILABLE: "25%"})
    old = [generation("TrtllmDecodeWorker", "a", 2), generation("TrtllmDecodeWorker", "b", 2, 1, day=2)]
    step = generations.rollout(graph, old)
    assert step.old == {"TrtllmDecodeWorker-a": 2, "TrtllmDecodeWorker-b": 1}
    serving = [generation("TrtllmDecodeWorker", "a", 2), generation("TrtllmDecodeWorker", "b", 2, day=2)]
    assert generations.rollout(graph, serving).old == {
        "TrtllmDecodeWorker-a": 1,
        "TrtllmDecodeWorker-b": 2,
    }


@pytest.mark.parametrize(("release", "written"), [((1, 2), 2), ((1, 4), 1)])
def test_the_complete_generation_is_an_annotation(release: tuple[int, int], written: int) -> None:
    said = generations.hashes(stored(alpha()), Platform(version=Version(*release)))
    assert len(said) == written
    assert set(said.values()) == {generations.worker_hash(stored(alpha()))}


def live(graph: Graph, **status: Any) -> list[dict[str, Any]]:
    """The graph's Deployments, each with its replica up."""
    up = {
        "replicas": 1,
        "updatedReplicas": 1,
        "readyReplicas": 1,
        "availableReplicas": 1,
        "observedGeneration": 1,
    }
    conditions = [{"type": "Available", "status": "True"}]
    found = [parts[0] for parts in made(graph).values()]
    for one in found:
        one["metadata"] |= {"generation": 1, "creationTimestamp": NOW}
    return [one | {"status": {**up, "conditions": conditions, **status}} for one in found]


@both
def test_ready_when_every_deployment_is(graph: Graph) -> None:
    found = status(graph, deployments.unready(graph, live(graph)), NOW)
    assert (found["state"], found["observedGeneration"]) == ("successful", 3)
    assert found["conditions"][0]["status"] == "True"


@pytest.mark.parametrize(
    "reported", [{"availableReplicas": 0}, {"replicas": 2}, {"observedGeneration": 0}, {"conditions": []}]
)
def test_what_is_not_ready_is_named(reported: dict[str, Any]) -> None:
    graph = stored(alpha())
    unready = deployments.unready(graph, [*live(graph)[:2], *live(graph, **reported)[2:]])
    found = status(graph, unready, NOW)
    assert (found["state"], found["conditions"][0]["reason"]) == ("pending", "some_resources_are_not_ready")
    assert found["conditions"][0]["message"] == (
        f"Resources not ready: gpt-oss-disagg-trtllmdecodeworker-{generations.worker_hash(graph)}: "
        "Component deployment not ready - Available condition not true"
    )


def test_a_graph_is_not_ready_while_a_generation_takes_over() -> None:
    graph = stored(alpha())
    found = status(graph, deployments.unready(graph, live(graph)), NOW, rolling=True)
    assert (found["state"], found["conditions"][0]["reason"]) == ("pending", "rolling_update_in_progress")


def test_workers_that_span_nodes_are_never_ready() -> None:
    graph = changed(stored(alpha()), "spec/services/TrtllmDecodeWorker/multinode", {"nodeCount": 2})
    assert deployments.spans_nodes(graph)
    found = failure_status(graph, NO_ORCHESTRATOR, NOW)
    assert (found["state"], found["conditions"][0]["reason"]) == ("failed", "no_multinode_orchestrator")
    assert "observedGeneration" not in found
