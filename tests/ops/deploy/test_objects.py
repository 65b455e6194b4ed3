"""Many objects in one call of kubectl: how they are named, and what comes back."""

import json

import pytest

from manifests.kubectl import items
from ops.deploy.objects import addresses, read, unserved
from tests.ops.deploy.clusters import Cluster, obj

NAMESPACE, JOB, GRAPH = (
    obj("Namespace", "a", None),
    obj("Job", "j", "a"),
    obj("DynamoGraphDeployment", "g", "b"),
)


def test_one_list_names_what_is_in_a_namespace_and_the_first_what_is_in_none() -> None:
    graph = ["DynamoGraphDeployment.nvidia.com/g", "--namespace=b"]
    assert addresses([GRAPH, NAMESPACE, JOB]) == [["Namespace/a", *graph], ["Job.batch/j", "--namespace=a"]]
    assert addresses([NAMESPACE]) == [["Namespace/a"]]
    assert addresses([]) == []


def test_each_object_comes_in_the_place_of_its_name() -> None:
    """In the version that the cluster serves: a graph of an older release has another."""
    served = GRAPH | {"apiVersion": "nvidia.com/v1beta1"}
    assert read(Cluster(lambda _: [served, NAMESPACE]), [NAMESPACE, JOB, GRAPH]) == [NAMESPACE, None, served]


def test_a_kind_that_the_cluster_does_not_serve_is_not_looked_for() -> None:
    """kubectl refuses the whole call for one."""
    monitor = obj("PodMonitor", "m", "a") | {"apiVersion": "monitoring.coreos.com/v1"}
    scaler = obj("ScaledObject", "s", "a") | {"apiVersion": "keda.sh/v1alpha1"}
    asked: list[tuple[str, ...]] = []

    def kubectl(*arguments: str, stdin: str = "") -> str:
        asked.append(arguments)
        if arguments[0] == "api-resources":
            return "pods po v1 true Pod\nscaledobjects so keda.sh/v1alpha1 true ScaledObject\n"
        return json.dumps({"items": [scaler]})

    assert read(kubectl, [monitor, scaler]) == [None, scaler]
    assert [arguments[1] for arguments in asked] == ["--no-headers", "ScaledObject.keda.sh/s"]
    asked.clear()
    assert unserved(kubectl, ["ConfigMap", "DynamoGraphDeployment.nvidia.com"]) == set()
    assert not asked, "these are always there"


@pytest.mark.parametrize(
    ("printed", "found"),
    [("", []), (json.dumps(JOB), [JOB]), (json.dumps({"items": [JOB, GRAPH]}), [JOB, GRAPH])],
)
def test_kubectl_prints_a_list_one_alone_or_nothing(printed: str, found: list[object]) -> None:
    assert items(printed) == found
