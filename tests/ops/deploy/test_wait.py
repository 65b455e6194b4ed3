"""Waiting for objects, and what is said about one that will not become ready."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ops.deploy.wait import POLL_SECONDS, UNSCHEDULABLE_SECONDS, NotReadyError, Waiter
from tests.ops.deploy.clusters import Cluster, Object, obj

GRAPH = obj("DynamoGraphDeployment", "g", annotations={"pulumi.com/waitFor": "condition=Ready"})
GPU = "nvidia.com/gpu.product"


def graph(status: str = "False", message: str = "", seen: int = 1) -> Object:
    condition = {"type": "Ready", "status": status, "message": message}
    return GRAPH | {"status": {"conditions": [condition], "observedGeneration": seen}}


def job(condition: str | None = None, message: str = "") -> Object:
    conditions = [{"type": condition, "status": "True", "message": message}] if condition else []
    return obj("Job", "model-download", status={"conditions": conditions})


def pod(name: str, gpus: int, node: str | None = None, **labels: str) -> Object:
    """A pod of the graph that wants GPUs of a B200 node; refused by the scheduler where it has no node."""
    refused = {"type": "PodScheduled", "reason": "Unschedulable", "message": "0/3 nodes\n  are available"}
    term = {"matchExpressions": [{"key": GPU, "operator": "In", "values": ["NVIDIA-B200"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    limits = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    return obj(
        "Pod",
        name,
        labels=labels,
        spec={
            "containers": [{"resources": limits}],
            "affinity": {"nodeAffinity": required},
            **({"nodeName": node} if node else {}),
        },
        status={"phase": "Running" if node else "Pending", "conditions": [] if node else [refused]},
    )


def wait(
    there: Callable[[float], Sequence[Object]], target: Object = GRAPH, timeout: float = 60
) -> tuple[Cluster, list[str]]:
    cluster, said = Cluster(there), list[str]()
    Waiter(cluster, said.append, timeout=timeout, clock=cluster.clock, sleep=cluster.sleep)(target)
    return cluster, said


def test_an_object_that_asks_for_nothing_is_not_looked_at() -> None:
    cluster, _ = wait(lambda _: (), obj("ConfigMap", "engine"))
    assert cluster.asked == []


def test_it_returns_when_the_condition_holds_and_says_each_message_once() -> None:
    def there(seconds: float) -> list[Object]:
        return [graph("True") if seconds >= 3 else graph(message="prefill" if seconds < 1 else "decode")]

    cluster, said = wait(there)
    assert cluster.seconds == 3
    assert said == [
        "wait for dynamographdeployment/g: prefill",
        "wait for dynamographdeployment/g: decode",
    ]


def test_a_condition_of_the_generation_before_does_not_count() -> None:
    cluster, _ = wait(lambda seconds: [graph("True", seen=1 if seconds >= 2 else 0)])
    assert cluster.seconds == 2


def test_after_its_time_the_last_message_is_the_reason() -> None:
    with pytest.raises(NotReadyError) as late:
        wait(lambda _: [graph(message="decode is starting")], timeout=10)
    assert str(late.value) == "dynamographdeployment/g is not Ready after 10 s: decode is starting"


def test_a_job_is_waited_for_until_it_is_complete() -> None:
    cluster, _ = wait(lambda seconds: [job("Complete") if seconds >= 1 else job()], job())
    assert cluster.seconds == 1


def test_a_job_that_failed_is_not_waited_for() -> None:
    with pytest.raises(NotReadyError, match=r"^job/model-download failed: BackoffLimitExceeded$"):
        wait(lambda _: [job("Failed", "BackoffLimitExceeded")], job())


NODE = obj("Node", "n1", None, labels={GPU: "NVIDIA-B200"}, status={"allocatable": {"nvidia.com/gpu": "8"}})


@pytest.mark.parametrize(
    ("others", "says"),
    [
        (
            [NODE, pod("theirs", 6, "n1")],
            "decode (pod g-decode-0) needs 4 GPUs on one node, and none has them free: node n1 has 8 × NVIDIA-B200, "
            "6 taken; the scheduler says: 0/3 nodes are available",
        ),
        (
            [],
            "decode (pod g-decode-0) needs 4 GPUs on one node, and none has them free: the cluster has no node with "
            "NVIDIA-B200; the scheduler says: 0/3 nodes are available",
        ),
    ],
    ids=["taken", "none"],
)
def test_a_pod_without_room_is_told_with_what_the_nodes_have(others: list[Object], says: str) -> None:
    worker = pod("g-decode-0", 4, **{"nvidia.com/dynamo-component": "decode"})
    cluster = Cluster(lambda _: [graph(), worker, *others])
    with pytest.raises(NotReadyError) as refused:
        Waiter(cluster, print, timeout=60, clock=cluster.clock, sleep=cluster.sleep)(GRAPH)
    assert str(refused.value) == says
    assert cluster.seconds == UNSCHEDULABLE_SECONDS, "nodes may just be joining"


def test_a_pod_without_gpus_is_told_in_the_scheduler_s_words() -> None:
    with pytest.raises(
        NotReadyError, match=r"^frontend-0 \(pod frontend-0\) cannot be placed: 0/3 nodes are available$"
    ):
        wait(lambda _: [graph(), pod("frontend-0", 0)])


def test_a_refusal_that_goes_away_in_time_is_none() -> None:
    def there(seconds: float) -> list[Object]:
        joined = seconds % UNSCHEDULABLE_SECONDS == UNSCHEDULABLE_SECONDS - POLL_SECONDS
        return [
            graph("True" if seconds > 20 else "False"),
            pod("g-decode-0", 4, "n1" if joined else None),
            NODE,
        ]

    cluster, _ = wait(there)
    assert cluster.seconds > 20


def test_the_cluster_is_asked_for_the_pods_of_the_object_alone() -> None:
    cluster, _ = wait(lambda seconds: [job("Complete") if seconds else job()], job())
    pods: list[Any] = [each for each in cluster.asked if each[1] == "pods"]
    assert pods == [
        (
            "get",
            "pods",
            "--namespace=ns",
            "--selector=batch.kubernetes.io/job-name=model-download",
            "--output=json",
        )
    ]
