"""The operator stand-in on a real control plane with the real scheduler.

A cluster of its own: these tests use all of a node's GPUs, kill the operator and change the version it serves.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from embedded import cluster as embedded_cluster
from embedded import processes
from embedded.cluster import ClusterError
from embedded.operator.generations import MAX_SURGE, MAX_UNAVAILABLE
from embedded.operator.platform import GraphVersion, Platform
from facts import releases
from tests.embedded.example_graphs import GPU_TOLERATION, Graph, alpha, beta, changed
from tests.waiting import PATIENCE, eventually

NAME = "gpt-oss-disagg"
DECODE = "TrtllmDecodeWorker"
COMPONENT = "nvidia.com/dynamo-component"
WORKERS = ("TrtllmPrefillWorker", "TrtllmDecodeWorker")
DECODE_GPUS = {
    "v1alpha1": "spec/services/TrtllmDecodeWorker/resources/limits/gpu",
    "v1beta1": "spec/components/2/podTemplate/spec/containers/0/resources/limits/nvidia.com~1gpu",
}


WORKER_METADATA = {
    "v1alpha1": [f"spec/services/{worker}/extraPodMetadata" for worker in WORKERS],
    "v1beta1": [f"spec/components/{index}/podTemplate/metadata" for index in (1, 2)],
}


def claim(name: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "100Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


@dataclass(frozen=True)
class Served:
    """A running cluster that serves graphs in one version, as one platform."""

    state: Path
    version: GraphVersion
    platform: Platform

    def start(self, version: GraphVersion | None = None) -> None:
        embedded_cluster.start(print, self.state, version or self.version, self.platform)

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        return embedded_cluster.kubectl(*arguments, stdin=stdin, state=self.state)

    def apply(self, *manifests: dict[str, Any]) -> None:
        self.kubectl("apply", "--server-side", "--filename=-", stdin=yaml.safe_dump_all(manifests))

    def get(self, *what: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", *what, "--output=json"))
        return found

    def items(self, kind: str) -> dict[str, dict[str, Any]]:
        return {one["metadata"]["name"]: one for one in self.get(kind)["items"]}

    def await_ready(self, name: str = NAME) -> None:
        """Until the graph as it is now is ready: a condition may be of what it was before."""

        def ready() -> bool:
            graph, condition = self.get("dgd", name), self.condition(name)
            generation = graph["metadata"]["generation"]
            return (condition.get("status"), condition.get("observedGeneration")) == ("True", generation)

        eventually(ready)

    def pods(self, component: str | None = None) -> dict[str, str]:
        """Names and uids of a component's pods, or of all, that stay."""
        return {
            name: pod["metadata"]["uid"]
            for name, pod in self.items("pods").items()
            if component in (None, pod["metadata"]["labels"][COMPONENT])
            and "deletionTimestamp" not in pod["metadata"]
        }

    def pod(self, component: str) -> str:
        (name,) = self.pods(component)
        return name

    def condition(self, name: str = NAME) -> dict[str, Any]:
        conditions = self.get("dgd", name).get("status", {}).get("conditions", [{}])
        return dict(conditions[0])

    def graph(self) -> Graph:
        return alpha() if self.version == "v1alpha1" else beta()

    def operator(self) -> Any:
        found = processes.find(self.state, "operator")
        assert found
        return found


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("operator") / "cluster"
    yield folder
    embedded_cluster.stop(print, folder)


SERVED: dict[str, tuple[GraphVersion, Platform]] = {
    "v1alpha1": ("v1alpha1", Platform(version=releases.Version(1, 2, 1))),
    "v1beta1": ("v1beta1", Platform(version=releases.Version(1, 4, 2))),
    "grove": ("v1beta1", Platform(version=releases.Version(1, 4, 2), grove=True)),
}


@pytest.fixture(scope="module", params=SERVED)
def running(state: Path, request: pytest.FixtureRequest) -> Served:
    one = Served(state, *SERVED[request.param])
    one.start()
    one.apply(claim("model-cache"))
    return one


one_version = pytest.mark.parametrize("running", ["v1alpha1"], indirect=True)
"""For what does not depend on the version."""
without_grove = pytest.mark.parametrize("running", ["v1alpha1", "v1beta1"], indirect=True)
with_grove = pytest.mark.parametrize("running", ["grove"], indirect=True)


@pytest.fixture
def served(running: Served) -> Iterator[Served]:
    yield running
    if not embedded_cluster.is_running(running.state):
        running.start()
    running.kubectl("delete", "dgd", "--all", "--cascade=foreground", f"--timeout={PATIENCE}s")
    eventually(lambda: not running.items("pods"))


def test_the_published_graph_becomes_ready(served: Served) -> None:
    served.apply(served.graph())
    served.await_ready()
    assert served.get("dgd", NAME)["status"]["state"] == "successful"
    nodes = {
        pod["metadata"]["labels"][COMPONENT]: pod["spec"]["nodeName"] for pod in served.items("pods").values()
    }
    assert nodes == {"Frontend": "cpu-0", "TrtllmPrefillWorker": "b200-0", DECODE: "b200-0"}
    limits = [
        pod["spec"]["containers"][0].get("resources", {}).get("limits", {})
        for pod in served.items("pods").values()
    ]
    assert sum(int(limit.get("nvidia.com/gpu", 0)) for limit in limits) == 8


@one_version
def test_the_frontend_service_leads_to_its_pod(served: Served) -> None:
    served.apply(served.graph())
    served.await_ready()
    address = served.get("pod", served.pod("Frontend"))["status"]["podIP"]
    selector = f"--selector=kubernetes.io/service-name={NAME}-frontend"

    def endpoints() -> list[tuple[list[str], int]]:
        slices = served.get("endpointslices", selector)["items"]
        return [
            (one["addresses"], part["ports"][0]["port"]) for part in slices for one in part["endpoints"] or ()
        ]

    eventually(lambda: endpoints() == [([address], 8000)])


@one_version
def test_other_kinds_of_the_group_may_be_there_in_a_newer_version(served: Served) -> None:
    """As NVIDIA's GPU operator brings them; the group's preferred version is then theirs."""
    names = {"kind": "ClusterPolicy", "plural": "clusterpolicies", "singular": "clusterpolicy"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    served.apply(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "clusterpolicies.nvidia.com"},
            "spec": {"group": "nvidia.com", "names": names, "scope": "Cluster", "versions": [version]},
        }
    )
    eventually(
        lambda: (
            json.loads(served.kubectl("get", "--raw=/apis/nvidia.com"))["preferredVersion"]["version"] == "v1"
        )
    )
    time.sleep(2)  # until the stand-in has looked at the group's kinds anew
    served.apply(served.graph())
    served.await_ready()
    # Read once before: until the API server has a kind's cache, it cannot delete the definition, and it looks again
    # only after five minutes (seen with 1.34.3 on a busy machine).
    assert not served.items("clusterpolicies")
    served.kubectl("delete", "crd", "clusterpolicies.nvidia.com")


def test_a_second_apply_changes_nothing(served: Served) -> None:
    served.apply(served.graph())
    served.await_ready()
    before = served.get("dgd", NAME)
    pods = served.pods()
    served.apply(served.graph())
    assert served.kubectl("diff", "--server-side", "--filename=-", stdin=yaml.safe_dump(served.graph())) == ""
    after = served.get("dgd", NAME)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert served.pods() == pods


def test_the_operator_marks_a_graph_as_its_own(served: Served) -> None:
    served.apply(served.graph())
    served.await_ready()
    metadata = served.get("dgd", NAME)["metadata"]
    assert metadata["finalizers"] == ["nvidia.com/finalizer"]
    marks = {key.removeprefix("nvidia.com/"): value for key, value in metadata["annotations"].items()}
    assert marks["dynamo-operator-origin-version"] == str(served.platform.version)
    assert marks["workload-provider"] == ("grove" if served.platform.grove else "component")
    assert len(marks["current-worker-hash-v2"]) == 8


@pytest.mark.parametrize("running", ["v1beta1"], indirect=True)
def test_a_graph_that_breaks_a_rule_is_refused(served: Served) -> None:
    image = {
        "v1alpha1": "spec/services/Frontend/extraPodSpec/mainContainer/image",
        "v1beta1": "spec/components/0/podTemplate/spec/containers/0/image",
    }
    with pytest.raises(ClusterError, match=r"runtimeVersionOverride is required .* runtime:latest"):
        served.apply(changed(served.graph(), image[served.version], "runtime:latest"))
    assert served.items("dgd") == {}


@one_version
def test_an_update_that_breaks_a_rule_is_refused(served: Served) -> None:
    served.apply(served.graph())
    with pytest.raises(ClusterError, match=r"backendFramework is immutable .* trtllm to vllm"):
        served.apply(changed(served.graph(), "spec/backendFramework", "vllm"))


@with_grove
def test_a_graph_without_room_quotes_the_scheduler(served: Served) -> None:
    gpus: Any = "8" if served.version == "v1alpha1" else 8
    path = DECODE_GPUS[served.version]
    graph = changed(changed(served.graph(), path, gpus), path.replace("limits", "requests"), gpus)
    served.apply(graph)

    def unscheduled() -> list[str]:
        pods = [(name, pod["status"].get("conditions", [])) for name, pod in served.items("pods").items()]
        return [
            f"pod {name}: {one['message']}"
            for name, conditions in pods
            for one in conditions
            if one["type"] == "PodScheduled" and one["status"] == "False"
        ]

    eventually(lambda: len(unscheduled()) == 1 and unscheduled()[0] in served.condition().get("message", ""))
    assert "Insufficient nvidia.com/gpu" in unscheduled()[0]
    assert served.get("dgd", NAME)["status"]["state"] == "pending"


@one_version
def test_a_pod_that_the_api_server_refuses_keeps_its_component_away(served: Served) -> None:
    path = DECODE_GPUS[served.version].replace("limits", "requests")
    served.apply(changed(rolled(served), path, "2"))

    eventually(lambda: "must be equal to nvidia.com/gpu limit of 4" in served.condition().get("message", ""))
    served.apply(rolled(served))
    served.await_ready()


@without_grove
def test_a_changed_worker_on_a_full_node_waits_for_ever_for_the_room_of_the_one_before(
    served: Served,
) -> None:
    """maxSurge and maxUnavailable are 25 % where nothing is said: one more, and none less, of one replica."""
    served.apply(served.graph())
    served.await_ready()
    before = served.pods()
    other = renewed(served, served.graph())
    served.apply(other)
    eventually(lambda: len(served.pods()) == 5)
    eventually(lambda: served.condition()["reason"] == "rolling_update_in_progress")
    pods = served.items("pods")
    nodes = {name: pod["spec"].get("nodeName") for name, pod in pods.items() if name not in before}
    assert set(nodes.values()) == {None}
    assert before.items() <= served.pods().items()
    served.apply(served.graph())
    served.await_ready()
    eventually(lambda: served.pods() == before)  # what is taken back is as if it had never been


@without_grove
def test_with_surge_0_a_changed_worker_takes_the_room_of_the_one_before(served: Served) -> None:
    graph = rolled(served)
    served.apply(graph)
    served.await_ready()
    before = served.pods()
    hashed = served.get("dgd", NAME)["metadata"]["annotations"]["nvidia.com/current-worker-hash-v2"]
    served.apply(renewed(served, graph))
    served.await_ready()
    eventually(lambda: len(served.pods()) == 3)
    assert before.keys() & served.pods().keys() == {served.pod("Frontend")}
    metadata = served.get("dgd", NAME)["metadata"]
    assert metadata["annotations"]["nvidia.com/current-worker-hash-v2"] != hashed
    assert len(served.items("deployments")) == len(served.items("services")) - 1 == 3


@without_grove
def test_workers_that_span_nodes_are_admitted_and_never_come(served: Served) -> None:
    place = {
        "v1alpha1": "spec/services/TrtllmDecodeWorker/multinode",
        "v1beta1": "spec/components/2/multinode",
    }
    served.apply(changed(served.graph(), place[served.version], {"nodeCount": 2}))
    eventually(lambda: served.condition().get("message") == "no multinode orchestrator available")
    assert "observedGeneration" not in served.get("dgd", NAME)["status"]
    assert served.items("pods") == {}


def test_a_deleted_graph_takes_everything_along(served: Served) -> None:
    served.apply(served.graph())
    served.await_ready()
    served.kubectl("delete", "dgd", NAME)
    mine = f"--selector=nvidia.com/dynamo-graph-deployment-name={NAME}"
    eventually(lambda: not served.get("deployments,pods,services,serviceaccounts", mine)["items"])
    assert "planner-serviceaccount" in served.items("serviceaccounts"), (
        "the operator leaves it in the namespace"
    )
    with pytest.raises(ClusterError, match="NotFound"):
        served.kubectl("delete", "dgd", NAME)


@one_version
@pytest.mark.parametrize("end", ["delete", "fail"])
def test_a_dead_pod_is_replaced(served: Served, end: str) -> None:
    served.apply(served.graph())
    served.await_ready()
    before = served.pods(DECODE)
    (name,) = before
    if end == "delete":
        served.kubectl("delete", "pod", name, "--wait=false")
    else:
        failed = json.dumps({"status": {"phase": "Failed"}})
        served.kubectl("patch", "pod", name, "--subresource=status", "--type=merge", f"--patch={failed}")
    eventually(lambda: set(served.pods(DECODE).values()) - set(before.values()))
    served.await_ready()


def test_scaling(served: Served) -> None:
    path = {"v1alpha1": "spec/services/Frontend/replicas", "v1beta1": "spec/components/0/replicas"}
    served.apply(changed(served.graph(), path[served.version], 3))
    eventually(lambda: len(served.pods("Frontend")) == 3)
    served.await_ready()
    served.apply(served.graph())
    eventually(lambda: len(served.pods("Frontend")) == 1)


def test_an_autoscaler_scales_by_the_adapter_and_nobody_else_does(served: Served) -> None:
    """What a HorizontalPodAutoscaler does, `kubectl scale` does here: both use the scale subresource."""
    as_alpha = served.version == "v1alpha1"
    component = "spec/services/TrtllmDecodeWorker" if as_alpha else "spec/components/2"
    graph = (alpha if as_alpha else beta)(decode_gpus=2)
    graph = changed(graph, f"{component}/scalingAdapter", {"enabled": True} if as_alpha else {})
    without = changed(graph, f"{component}/replicas")
    adapter = f"{NAME}-trtllmdecodeworker"
    served.apply(without)
    served.await_ready()
    assert served.get("dgdsa", adapter)["spec"]["replicas"] == 1

    served.kubectl("scale", f"dgdsa/{adapter}", "--replicas=2")
    eventually(lambda: len(served.pods(DECODE)) == 2)
    served.await_ready()
    status = served.get("dgdsa", adapter)["status"]
    assert status["replicas"] == 2
    assert len(served.get("pods", f"--selector={status['selector']}")["items"]) == 2

    generation = served.get("dgd", NAME)["metadata"]["generation"]
    served.apply(without)
    assert served.get("dgd", NAME)["metadata"]["generation"] == generation, "an update left the number alone"
    for refused in (changed(graph, f"{component}/replicas", 1), changed(graph, f"{component}/replicas", 3)):
        with pytest.raises(
            ClusterError, match="update the related DynamoGraphDeploymentScalingAdapter instead"
        ):
            served.kubectl(
                "apply", "--server-side", "--force-conflicts", "--filename=-", stdin=yaml.safe_dump(refused)
            )

    back = changed(changed(graph, f"{component}/scalingAdapter"), f"{component}/replicas", 2)
    served.kubectl("apply", "--server-side", "--force-conflicts", "--filename=-", stdin=yaml.safe_dump(back))
    eventually(lambda: not served.items("dgdsa"))


@with_grove
def test_a_changed_template_renews_its_own_pods_only(served: Served) -> None:
    served.apply(served.graph())
    served.await_ready()
    before = served.pods()
    name = served.pod(DECODE)
    served.apply(renewed(served, served.graph()))
    eventually(lambda: served.pods().get(name, before[name]) != before[name])
    served.await_ready()
    after = served.pods()
    assert {each for each in before if before[each] != after[each]} == {name}


@one_version
def test_killed_and_started_again(served: Served) -> None:
    served.apply(served.graph())
    served.await_ready()
    before = served.pods(DECODE)
    killed = served.operator()
    killed.kill()
    killed.wait(PATIENCE)
    served.kubectl("delete", "pod", *before)
    served.start()
    served.await_ready()
    assert served.pods(DECODE).items().isdisjoint(before.items())


@one_version
def test_outlives_the_api_server(served: Served) -> None:
    served.apply(served.graph())
    served.await_ready()
    before = served.pods(DECODE)
    killed = processes.find(served.state, "kube-apiserver")
    assert killed
    operator = served.operator()
    killed.kill()
    killed.wait(PATIENCE)
    served.start()
    served.kubectl("delete", "pod", *before, "--wait=false")
    eventually(lambda: set(served.pods(DECODE).values()) - set(before.values()))
    served.await_ready()
    assert served.operator() == operator


@one_version
@pytest.mark.parametrize("cascade", ["foreground", "background"])
def test_a_graph_waits_for_its_operator_to_go(served: Served, cascade: str) -> None:
    """As with the real one: a platform that goes before its graphs leaves them."""
    served.apply(served.graph())
    served.await_ready()
    killed = served.operator()
    killed.kill()
    killed.wait(PATIENCE)
    served.kubectl("delete", "dgd", NAME, f"--cascade={cascade}", "--wait=false")
    assert "deletionTimestamp" in served.get("dgd", NAME)["metadata"]
    served.start()
    eventually(lambda: not served.items("dgd"))
    eventually(lambda: not served.items("pods"))


@one_version
def test_ends_cleanly_on_sigterm(served: Served) -> None:
    running = served.operator()
    running.terminate()
    assert running.wait(PATIENCE) == 0
    assert not (served.state / "operator-ready").exists()


@one_version
def test_another_version_is_refused_while_graphs_exist(served: Served) -> None:
    served.apply(served.graph())
    with pytest.raises(ClusterError, match=f"default/{NAME} exist in v1alpha1; delete them first"):
        served.start("v1beta1")
    served.start()
    served.await_ready()


@one_version
def test_a_claim_is_bound_and_its_volume_goes_with_it(served: Served) -> None:
    served.apply(claim("another"))
    served.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/another", f"--timeout={PATIENCE}s")
    volume = served.get("pvc", "another")["spec"]["volumeName"]
    assert served.get("pv", volume)["metadata"]["labels"] == {"dynamo-gpt-oss/simulated": "true"}
    served.kubectl("delete", "pvc", "another")
    eventually(lambda: volume not in served.items("pv"))


@one_version
def test_compute_domain_channels_are_one_a_gb200_node(served: Served) -> None:
    domain = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "gpt-oss", "namespace": "default"},
        "spec": {"numNodes": 1, "channel": {"resourceClaimTemplate": {"name": "gpt-oss-channel"}}},
    }
    channel = {"name": "channel", "resourceClaimTemplateName": "gpt-oss-channel"}

    def pod(name: str) -> dict[str, Any]:
        container = {"name": "main", "image": "none", "resources": {"claims": [{"name": "channel"}]}}
        spec = {"tolerations": [GPU_TOLERATION], "resourceClaims": [channel], "containers": [container]}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": spec,
        }

    try:
        served.apply(domain, pod("one"), pod("two"), pod("three"))
        eventually(lambda: sorted(nodes(served)) == ["", "gb200-0", "gb200-1"])
        served.kubectl("delete", "computedomain", "gpt-oss")
        eventually(lambda: not served.items("resourceclaimtemplates"))
    finally:
        served.kubectl("delete", "pods", "one", "two", "three", "--ignore-not-found")


def rolled(served: Served) -> Graph:
    """The graph with workers that roll on a full node."""
    graph = served.graph()
    for place in WORKER_METADATA[served.version]:
        graph = changed(graph, place, {"annotations": {MAX_SURGE: "0", MAX_UNAVAILABLE: "100%"}})
    return graph


def renewed(served: Served, graph: Graph) -> Graph:
    """The graph with another command line of its decode worker."""
    path = {
        "v1alpha1": "spec/services/TrtllmDecodeWorker/extraPodSpec/mainContainer/args",
        "v1beta1": "spec/components/2/podTemplate/spec/containers/0/args",
    }
    return changed(graph, path[served.version], ["python3 -m dynamo.trtllm --more"])


def nodes(served: Served) -> list[str]:
    return [pod["spec"].get("nodeName", "") for pod in served.items("pods").values()]
