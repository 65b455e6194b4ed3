"""How far a pod has come, read off its status."""

from datetime import UTC, datetime
from typing import Any

import pytest

from ops.watch.pods import Stage, Trouble, pod
from tests.ops.watch import seen

EARLY, LATE = "2026-11-22T17:21:00Z", "2026-11-22T17:22:00Z"
SCHEDULED = {"type": "PodScheduled", "status": "True", "lastTransitionTime": EARLY}
RUNNING = {"state": {"running": {"startedAt": LATE}}}
ENDED = {"state": {"terminated": {"finishedAt": LATE}}}


def at(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp)


@pytest.mark.parametrize(
    ("status", "node", "pulling", "stage", "since"),
    [
        ({}, None, None, Stage.PENDING, "2026-11-22T17:20:00Z"),
        ({"conditions": [SCHEDULED]}, "n1", None, Stage.SCHEDULED, EARLY),
        ({"conditions": [SCHEDULED]}, "n1", LATE, Stage.PULLING, LATE),
        ({"initContainerStatuses": [RUNNING]}, "n1", None, Stage.PREPARING, LATE),
        ({"initContainerStatuses": [ENDED], "containerStatuses": [RUNNING]}, "n1", None, Stage.LOADING, LATE),
        (
            {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": EARLY}]},
            "n1", None, Stage.READY, EARLY,
        ),
        ({"phase": "Succeeded", "containerStatuses": [ENDED]}, "n1", None, Stage.COMPLETE, LATE),
        ({"phase": "Failed", "containerStatuses": [ENDED]}, "n1", None, Stage.FAILED, LATE),
    ],
    ids=lambda value: value.name if isinstance(value, Stage) else "",
)  # fmt: skip
def test_a_pod_goes_from_no_node_to_ready(
    status: dict[str, Any], node: str | None, pulling: str | None, stage: Stage, since: str
) -> None:
    found = pod(seen.pod(node=node, **status), at(pulling) if pulling else None)
    assert (found.stage, found.since) == (stage, at(since))


def test_what_is_deleted_ends() -> None:
    live = seen.pod(conditions=[{"type": "Ready", "status": "True"}])
    live["metadata"]["deletionTimestamp"] = LATE
    assert pod(live, None).stage is Stage.ENDING


def test_it_knows_its_graph_its_role_and_its_gpus() -> None:
    found = pod(seen.pod(), None)
    assert (found.of, found.role, found.gpus, found.image) == ("gpt-oss-disagg", "decode", 4, "nvcr.io/x:1")


def test_what_a_container_waits_for_is_told_in_kubernetes_words_without_what_is_no_trouble() -> None:
    back_off = seen.waiting("CrashLoopBackOff", "back-off 40s", restartCount=3)
    back_off["lastState"] = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    found = pod(seen.pod(containerStatuses=[seen.waiting("ContainerCreating"), back_off]), None)
    assert found.trouble == (Trouble("CrashLoopBackOff", "exit code 137 (OOMKilled)"),)
    assert found.restarts == 3


def test_gpus_of_what_has_ended_are_free() -> None:
    assert pod(seen.pod(phase="Running"), None).holds
    assert not pod(seen.pod(phase="Succeeded"), None).holds
    assert not pod(seen.pod(node=None), None).holds


def test_times_are_of_a_zone() -> None:
    found = pod(seen.pod(node=None), None).since
    assert found is not None
    assert found.tzinfo is UTC or found.utcoffset() is not None
