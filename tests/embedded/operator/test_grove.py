"""Pods, Services and status that the operator stand-in makes of a graph where Grove is on the cluster."""

from typing import Any

import pytest

from embedded.operator import grove, pods
from embedded.operator.platform import Platform
from embedded.operator.status import failure_status, status
from facts.releases import Version
from tests.embedded.example_graphs import Graph, alpha, beta, changed, stored

PLATFORM = Platform(version=Version(1, 2, 1), grove=True)
NOW, LATER = "2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"
DECODE = "gpt-oss-disagg-0-trtllmdecodeworker-0"
both = pytest.mark.parametrize("graph", [stored(alpha()), stored(beta())], ids=["v1alpha1", "v1beta1"])


def desired_pods(graph: Graph) -> list[dict[str, Any]]:
    return grove.desired_pods(graph, PLATFORM)


def pod(graph: Graph, name: str) -> dict[str, Any]:
    return next(one for one in desired_pods(graph) if one["metadata"]["name"] == name)


def main(graph: Graph, name: str) -> dict[str, Any]:
    container: dict[str, Any] = pod(graph, name)["spec"]["containers"][0]
    return container


def with_condition(made: dict[str, Any], kind: str, value: str, message: str = "") -> dict[str, Any]:
    condition = {"type": kind, "status": value, "message": message}
    before = made.get("status", {}).get("conditions", [])
    return {**made, "status": {"phase": "Running", "conditions": [*before, condition]}}


def report(graph: Graph, live: list[dict[str, Any]], now: str = NOW) -> dict[str, Any]:
    return status(graph, grove.unready(graph, PLATFORM, live), now)


def ready(graph: Graph) -> list[dict[str, Any]]:
    scheduled = [with_condition(one, "PodScheduled", "True") for one in desired_pods(graph)]
    return [with_condition(one, "Ready", "True") for one in scheduled]


@both
def test_one_pod_a_component_with_stable_names(graph: Graph) -> None:
    assert [one["metadata"]["name"] for one in desired_pods(graph)] == [
        "gpt-oss-disagg-0-frontend-0",
        "gpt-oss-disagg-0-trtllmprefillworker-0",
        DECODE,
    ]


@both
def test_a_worker_pod_has_what_the_graph_asks_for(graph: Graph) -> None:
    spec, container = pod(graph, DECODE)["spec"], main(graph, DECODE)
    assert int(container["resources"]["limits"]["nvidia.com/gpu"]) == 4
    assert container["resources"]["requests"]["cpu"] == "8"
    assert {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]} == {
        "/opt/models": "model-cache",
        "/opt/dynamo/configs": "llm-config",
        "/dev/shm": "shared-memory",
    }
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert volumes["model-cache"]["persistentVolumeClaim"] == {"claimName": "model-cache"}
    assert volumes["shared-memory"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "80Gi"}
    assert spec["tolerations"][0]["key"] == "nvidia.com/gpu"
    assert spec["affinity"]["nodeAffinity"]
    assert "mainContainer" not in spec


@both
def test_environment_of_operator_and_user(graph: Graph) -> None:
    environment = {one["name"]: one.get("value") for one in main(graph, DECODE)["env"]}
    assert environment["DYN_NAMESPACE"] == "default-gpt-oss-disagg"
    assert environment["DYN_SYSTEM_PORT"] == "9090"
    assert environment["DYN_DISCOVERY_BACKEND"] == "kubernetes"
    assert environment["TRTLLM_ENABLE_PDL"] == "1"


def test_the_users_environment_wins() -> None:
    path = "spec/services/TrtllmDecodeWorker/extraPodSpec/mainContainer/env"
    graph = changed(stored(alpha()), path, [{"name": "DYN_SYSTEM_PORT", "value": "9999"}])
    values = [one["value"] for one in main(graph, DECODE)["env"] if one["name"] == "DYN_SYSTEM_PORT"]
    assert values == ["9999"]


def test_custom_resources_and_claims_reach_the_container() -> None:
    resources = {
        "limits": {"gpu": "4", "custom": {"vpc.amazonaws.com/efa": "4"}},
        "claims": [{"name": "channel"}],
    }
    graph = changed(stored(alpha()), "spec/services/TrtllmDecodeWorker/resources", resources)
    assert main(graph, DECODE)["resources"] == {
        "limits": {"nvidia.com/gpu": "4", "vpc.amazonaws.com/efa": "4"},
        "claims": [{"name": "channel"}],
    }


def test_labels_by_which_dynamo_finds_pods() -> None:
    labels = pod(stored(alpha()), DECODE)["metadata"]["labels"]
    assert labels == {
        "nvidia.com/dynamo-graph-deployment-name": "gpt-oss-disagg",
        "nvidia.com/dynamo-component": "TrtllmDecodeWorker",
        "nvidia.com/dynamo-component-type": "decode",
        "nvidia.com/dynamo-sub-component-type": "decode",
        "nvidia.com/dynamo-namespace": "default-gpt-oss-disagg",
        "nvidia.com/dynamo-discovery-backend": "kubernetes",
        "nvidia.com/dynamo-discovery-enabled": "true",
        "nvidia.com/metrics-enabled": "true",
        "nvidia.com/selector": "gpt-oss-disagg-trtllmdecodeworker",
        "dynamo-gpt-oss/simulated": "true",
    }


@pytest.mark.parametrize(
    ("release", "kind", "marked"),
    [((1, 0), "worker", False), ((1, 4), "decode", False), ((1, 5), "decode", True)],
)
def test_what_a_release_says_of_a_worker(release: tuple[int, int], kind: str, marked: bool) -> None:
    platform = Platform(version=Version(*release), grove=True)
    (made,) = (
        one for one in grove.desired_pods(stored(alpha()), platform) if one["metadata"]["name"] == DECODE
    )
    labels = made["metadata"]["labels"]
    assert labels["nvidia.com/dynamo-component-type"] == kind
    assert labels["nvidia.com/dynamo-sub-component-type"] == "decode"
    environment = {one["name"]: one.get("value") for one in made["spec"]["containers"][0]["env"]}
    assert environment["DYN_COMPONENT"] == kind
    assert ("nvidia.com/dynamo-worker-hash" in labels) == marked
    assert environment.get("DYN_NAMESPACE_WORKER_SUFFIX") == labels.get("nvidia.com/dynamo-worker-hash")


@both
def test_services_select_their_own_pods(graph: Graph) -> None:
    services = {one["metadata"]["name"]: one["spec"] for one in grove.services(graph, PLATFORM)}
    assert {name: spec["ports"][0]["port"] for name, spec in services.items()} == {
        "gpt-oss-disagg-frontend": 8000,
        "gpt-oss-disagg-trtllmprefillworker": 9090,
        "gpt-oss-disagg-trtllmdecodeworker": 9090,
    }
    for one in desired_pods(graph):
        selecting = [
            name
            for name, spec in services.items()
            if spec["selector"].items() <= one["metadata"]["labels"].items()
        ]
        assert [
            f"-0-{name.removeprefix('gpt-oss-disagg-')}-0" in one["metadata"]["name"] for name in selecting
        ] == [True]


@both
def test_everything_belongs_to_the_graph(graph: Graph) -> None:
    for one in (*desired_pods(graph), *pods.accounts(graph)[1:]):
        assert [owner["uid"] for owner in one["metadata"]["ownerReferences"]] == ["11111111-2222"]
        assert one["metadata"]["labels"]["dynamo-gpt-oss/simulated"] == "true"


def test_a_multinode_replica_is_a_leader_and_workers() -> None:
    graph = changed(stored(beta()), "spec/components/2/multinode", {"nodeCount": 3})
    graph = changed(graph, "spec/components/2/name", "decode")
    assert [one["metadata"]["name"] for one in desired_pods(graph)][2:] == [
        "gpt-oss-disagg-0-decode-0-decode-ldr-0",
        "gpt-oss-disagg-0-decode-0-decode-wkr-0",
        "gpt-oss-disagg-0-decode-0-decode-wkr-1",
    ]


def test_only_the_changed_component_gets_new_pods() -> None:
    before = stored(alpha())
    after = changed(before, "spec/services/TrtllmDecodeWorker/extraPodSpec/mainContainer/args", ["other"])
    kept = {
        one["metadata"]["name"]: grove.matches(one, pod(after, one["metadata"]["name"]))
        for one in desired_pods(before)
    }
    assert kept == {
        "gpt-oss-disagg-0-frontend-0": True,
        "gpt-oss-disagg-0-trtllmprefillworker-0": True,
        DECODE: False,
    }


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_an_ended_pod_no_longer_matches(phase: str) -> None:
    wanted = pod(stored(alpha()), DECODE)
    assert not grove.matches({**wanted, "status": {"phase": phase}}, wanted)


def test_a_pod_of_an_earlier_graph_of_the_same_name_does_not_match() -> None:
    graph = stored(alpha())
    assert not grove.matches(pod(changed(graph, "metadata/uid", "0"), DECODE), pod(graph, DECODE))


@both
def test_ready_when_every_pod_is(graph: Graph) -> None:
    found = report(graph, ready(graph))
    assert found["state"] == "successful"
    assert found["conditions"] == [
        {
            "type": "Ready",
            "status": "True",
            "reason": "all_resources_are_ready",
            "message": "All resources are ready",
            "observedGeneration": 3,
            "lastTransitionTime": NOW,
        }
    ]


def test_what_is_not_ready_is_named_with_the_schedulers_words() -> None:
    graph = stored(alpha())
    live = [one for one in ready(graph) if one["metadata"]["name"] != DECODE]
    live.append(with_condition(pod(graph, DECODE), "PodScheduled", "False", "0/5 nodes are available"))
    found = report(graph, live)
    assert (found["state"], found["conditions"][0]["status"]) == ("pending", "False")
    assert found["conditions"][0]["message"] == (
        "Resources not ready: gpt-oss-disagg-0-trtllmdecodeworker: desired=1, ready=0 "
        f"(pod {DECODE}: 0/5 nodes are available)"
    )


def test_outdated_pods_are_not_ready_ones() -> None:
    graph = stored(alpha())
    after = changed(graph, "spec/services/Frontend/extraPodSpec/mainContainer/args", ["other"])
    found = report(after, ready(graph))
    assert found["state"] == "pending"
    assert "gpt-oss-disagg-0-frontend: desired=1, ready=0" in found["conditions"][0]["message"]


def test_a_failure_is_told_as_it_is() -> None:
    found = failure_status(stored(alpha()), 'Pod "x" is invalid', NOW)
    assert (found["state"], found["conditions"][0]["message"]) == ("failed", 'Pod "x" is invalid')


def test_the_transition_time_moves_only_with_the_condition() -> None:
    graph = stored(alpha())
    first = report(graph, ready(graph))
    again = report(graph | {"status": first}, ready(graph), LATER)
    lost = report(graph | {"status": first}, [], LATER)
    assert again == first
    assert lost["conditions"][0]["lastTransitionTime"] == LATER
