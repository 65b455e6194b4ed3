"""Why a stack is not there yet, and the key that mends it."""

from typing import Any

import pytest

from ops.watch.reasons import reasons
from ops.watch.snapshot import Snapshot
from tests.ops.watch.seen import event, existing, pod, recorded, seen, waiting


def why(found: Snapshot, *, nodes_join: bool = True, **config: Any) -> list[str]:
    return [str(each) for each in reasons(found, existing(**config).plan, nodes_join=nodes_join)]


def test_a_storage_class_that_is_not_there_is_the_only_reason_for_what_waits_for_it() -> None:
    found = reasons(recorded("no_class"), existing().plan, nodes_join=True)
    assert [str(each) for each in found] == [
        "claim model-cache: StorageClass shared-rwx is not there; name one in cache.storageClass (there: embedded-rwx)"
    ]
    assert found[0].final


def claim(storage_class: str | None = None, at: str = "2026-11-22T17:20:00Z") -> dict[str, Any]:
    spec = {"storageClassName": storage_class} if storage_class else {}
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "creationTimestamp": at},
        "spec": spec,
        "status": {"phase": "Pending"},
    }


NODE = {"kind": "Node", "metadata": {"name": "n"}}
CLASS = {"kind": "StorageClass", "metadata": {"name": "fast"}}


@pytest.mark.parametrize(
    ("objects", "says"),
    [
        (
            [claim(), NODE, CLASS],
            "names no StorageClass and the cluster has no default; name one in cache.storageCl",
        ),
        (
            [claim("slow"), NODE],
            "StorageClass slow is not there; name one in cache.storageClass (there: none: the cl",
        ),
        (
            [claim("fast"), CLASS, event("PersistentVolumeClaim", "c", "ProvisioningFailed", "no RWX")],
            "no volume for it: no RWX; see cache.kind and cache.storageClass",
        ),
        (
            [claim("fast"), CLASS],
            "unbound; its provisioner may be down, or make no volumes that are ReadWriteMany",
        ),
    ],
    ids=["no default", "no class at all", "provisioner", "nobody says why"],
)
def test_an_unbound_claim(objects: list[dict[str, Any]], says: str) -> None:
    (found,) = why(seen(*objects))
    assert says in found


def test_a_young_claim_is_no_trouble() -> None:
    assert why(seen(claim("fast", "2026-11-22T17:23:55Z"), CLASS)) == []


@pytest.mark.parametrize(
    ("words", "key", "final"),
    [
        ("failed to resolve: nvcr.io/x:1: not found", "graph.image.repository, tag or digest", True),
        ("failed to authorize: 401 Unauthorized", "graph.image.pullSecret, or give ngc.apiKey", True),
        ("no match for platform in manifest", "graph.image.archs", True),
        ("dial tcp: i/o timeout", "graph.image, its pullSecret, and the node's way", False),
    ],
)
@pytest.mark.parametrize("where", ["container", "event"])
def test_an_image_that_cannot_be_pulled(words: str, key: str, final: bool, where: str) -> None:
    """The registry's words stand in the container's status, or in an older kubelet's event alone."""
    objects = (
        [pod(containerStatuses=[waiting("ErrImagePull", words)])]
        if where == "container"
        else [
            pod(containerStatuses=[waiting("ImagePullBackOff", 'Back-off pulling image "nvcr.io/x:1"')]),
            event("Pod", "g-decode-0", "Failed", f"Failed to pull image: {words}"),
        ]
    )
    (found,) = reasons(seen(*objects), existing().plan, nodes_join=True)
    assert str(found).startswith("decode (pod g-decode-0): image nvcr.io/x:1 cannot be pulled")
    assert key in str(found)
    assert words in str(found)
    assert found.final is final


def test_a_quota_that_is_used_up_is_told_of_what_is_not_there_for_it() -> None:
    words = 'pods "j" is forbidden: exceeded quota: gpus, requested: 8, used: 8, limited: 8'
    (found,) = why(seen(event("Job", "j", "FailedCreate", words)))
    assert "job j: a quota of namespace ns is used up: gpus, requested: 8" in found
    assert "cluster.namespace" in found


def test_a_secret_that_is_missing() -> None:
    words = 'MountVolume.SetUp failed for volume "token" : secret "mine" not found'
    mount = event("Pod", "g-decode-0", "FailedMount", words)
    (found,) = why(seen(pod(), mount), huggingFace={"existingSecret": "mine"})
    assert found.endswith("create the Secret, or correct huggingFace.existingSecret")
    (found,) = why(
        seen(pod(containerStatuses=[waiting("CreateContainerConfigError", 'secret "s" not found')]))
    )
    assert 'secret "s" not found; create it, or correct the key that names it' in found


def test_a_container_that_ends_again_and_again() -> None:
    ended = waiting("CrashLoopBackOff", restartCount=2)
    ended["lastState"] = {"terminated": {"exitCode": 1, "reason": "Error", "message": "no such option"}}
    (found,) = why(seen(pod(containerStatuses=[ended])))
    assert "ended 2 times: exit code 1 (Error) no such option" in found
    assert "--previous" in found


def test_a_job_that_failed() -> None:
    failed = {"type": "Failed", "status": "True", "message": "BackoffLimitExceeded"}
    job = {"kind": "Job", "metadata": {"name": "j"}, "status": {"conditions": [failed]}}
    assert why(seen(job)) == ["job j: failed: BackoffLimitExceeded; see `kubectl logs job/j --namespace ns`"]


def test_a_pool_that_may_still_get_nodes_is_waited_for() -> None:
    (found,) = reasons(recorded("full_pool"), existing().plan, nodes_join=True)
    assert not found.final
    (found,) = reasons(recorded("full_pool"), existing().plan, nodes_join=False)
    assert found.final
    assert found.of == "gpt-oss-disagg"
