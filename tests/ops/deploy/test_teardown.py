"""Taking a stack off a cluster: the order, the waiting, and what is said about what stays."""

import pytest

from manifests.kubectl import label
from ops.deploy.teardown import applyset_secret, order, tear_down
from ops.deploy.wait import NotReadyError
from tests.ops.deploy.clusters import Cluster, Object, obj

CLAIM, GRAPH = obj("PersistentVolumeClaim", "weights"), obj("DynamoGraphDeployment", "g")
NAMESPACE = obj("Namespace", "ns", None)


def test_each_is_gone_before_the_next_is_deleted() -> None:
    def there(seconds: float) -> list[Object]:
        deleted = cluster.deleted
        graph = [] if "dynamographdeployment/g" in deleted and seconds >= 2 else [GRAPH]
        claim = [] if "persistentvolumeclaim/weights" in deleted else [CLAIM]
        assert graph == [] or not any(each.startswith("persistentvolumeclaim") for each in deleted)
        return [*graph, *claim]

    cluster, said = Cluster(there), list[str]()
    removed = tear_down(
        [GRAPH, CLAIM],
        cluster,
        said.append,
        stack="mine",
        timeout=60,
        clock=cluster.clock,
        sleep=cluster.sleep,
    )
    assert (removed, cluster.seconds) == (2, 2)
    assert said == ["remove dynamographdeployment/g", "remove persistentvolumeclaim/weights"]


def test_a_graph_is_gone_with_its_pods() -> None:
    def there(seconds: float) -> list[Object]:
        graph = [] if cluster.deleted else [GRAPH]
        return [*graph, *([obj("Pod", "g-0")] if seconds < 3 else [])]

    cluster = Cluster(there)
    tear_down([GRAPH], cluster, print, stack="mine", timeout=60, clock=cluster.clock, sleep=cluster.sleep)
    assert cluster.seconds == 3


def test_what_is_not_there_is_neither_deleted_nor_counted() -> None:
    cluster = Cluster(lambda _: ())
    assert tear_down([GRAPH, CLAIM], cluster, print, stack="mine", timeout=60) == 0
    assert cluster.deleted == []


def test_what_was_made_for_another_stack_is_left() -> None:
    """Of a copied stack file: the namespace and the names are the other's too."""
    theirs = obj("DynamoGraphDeployment", "g", labels={"dynamo-gpt-oss/stack": "theirs"})
    cluster = Cluster(lambda _: [theirs])
    assert tear_down([GRAPH], cluster, print, stack="mine", timeout=60) == 0
    assert cluster.deleted == []


def test_what_stays_is_named_with_its_finalizers_and_nothing_is_forced() -> None:
    stuck = GRAPH | {"metadata": GRAPH["metadata"] | {"finalizers": ["nvidia.com/finalizer"]}}
    cluster = Cluster(lambda _: [stuck, obj("Pod", "g-0")])
    with pytest.raises(NotReadyError) as stays:
        tear_down(
            [stuck, CLAIM], cluster, print, stack="mine", timeout=10, clock=cluster.clock, sleep=cluster.sleep
        )
    assert str(stays.value) == (
        "dynamographdeployment/g is not gone after 10 s: dynamographdeployment/g (finalizers nvidia.com/finalizer), "
        "pod/g-0 are still there; no finalizer was cleared: see what its controller waits for, then run down again"
    )
    assert cluster.deleted == ["dynamographdeployment/g"]
    assert not any("--force" in word for each in cluster.asked for word in each)


def test_names_that_begin_as_an_applysets_go_in_their_order() -> None:
    graph, namespace = (
        obj("DynamoGraphDeployment", "dynamo-gpt-oss-120b"),
        obj("Namespace", "dynamo-gpt-oss-team", None),
    )
    parent = applyset_secret("dev", "ns")
    assert order([namespace, CLAIM, graph], [], parent) == [graph, CLAIM, parent, namespace]


def test_what_has_the_name_in_another_namespace_goes_too() -> None:
    before = obj("DynamoGraphDeployment", "g", "before")
    assert order([GRAPH], [before, GRAPH], applyset_secret("dev", "ns"))[:2] == [before, GRAPH]


def test_what_hinders_nothing_goes_at_once() -> None:
    """Each call of kubectl takes longer than the deletion."""
    job, parent = obj("Job", "model-download"), applyset_secret("mine", "ns")
    cluster = Cluster(lambda _: [] if cluster.deleted else [job, CLAIM])
    assert tear_down([job, CLAIM], cluster, print, stack="mine", timeout=60) == 2
    assert [arguments[:3] for arguments in cluster.asked] == [
        ("get", "Job.batch/model-download", "PersistentVolumeClaim/weights"),
        ("delete", "Job.batch/model-download", "PersistentVolumeClaim/weights"),
        ("get", "Job.batch/model-download", "PersistentVolumeClaim/weights"),
    ]
    cluster = Cluster(lambda _: [each for each in (CLAIM, parent) if label(each) not in cluster.deleted])
    tear_down([CLAIM, parent], cluster, print, stack="mine", timeout=60)
    assert len([each for each in cluster.asked if each[0] == "delete"]) == 2, "its Secret knows what is left"


def test_each_that_stays_is_named() -> None:
    cluster = Cluster(lambda _: [CLAIM, obj("Job", "model-download")])
    with pytest.raises(
        NotReadyError, match=r"^persistentvolumeclaim/weights, job/model-download are not gone after 1 s"
    ):
        tear_down(
            [CLAIM, obj("Job", "model-download")],
            cluster,
            print,
            stack="mine",
            timeout=1,
            clock=cluster.clock,
            sleep=cluster.sleep,
        )


def test_graphs_go_first_namespaces_last_and_what_an_earlier_version_left_before_the_rest() -> None:
    made = [NAMESPACE, CLAIM, obj("Job", "model-download"), GRAPH]
    there = [GRAPH, obj("ConfigMap", "old"), obj("DynamoGraphDeployment", "old")]
    parent = applyset_secret("dev", "ns")
    assert [f"{each['kind']} {each['metadata']['name']}" for each in order(made, there, parent)] == [
        "DynamoGraphDeployment old",
        "DynamoGraphDeployment g",
        "ConfigMap old",
        "Job model-download",
        "PersistentVolumeClaim weights",
        f"Secret {parent['metadata']['name']}",
        "Namespace ns",
    ]
