"""A pod as far as it has come. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from manifests.gpu_nodes import GPU_PRODUCT_LABEL
from manifests.graph.placement import COMPONENT_TYPE_LABEL, GRAPH_LABEL
from manifests.names import POOL_LABEL

_COMPONENT_LABEL = "nvidia.com/dynamo-component"
_JOB_LABEL = "batch.kubernetes.io/job-name"
_STARTING = ("ContainerCreating", "PodInitializing", "")
"""What a container waits for that is no trouble."""


class Stage(StrEnum):
    """How far a pod has come, in the order in which it does."""

    PENDING = "waits for a node"
    SCHEDULED = "has a node"
    PULLING = "pulls its image"
    PREPARING = "prepares"
    LOADING = "loads"
    READY = "ready"
    COMPLETE = "complete"
    FAILED = "failed"
    ENDING = "ends"


@dataclass(frozen=True)
class Trouble:
    """What Kubernetes says in its own words. reason: one of its own, as Unschedulable or ErrImagePull."""

    reason: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Pod:
    """of: name of its graph or Job, empty where it has none. role: of its graph, or `job`.

    since: when its stage began. demands: what it asks of a node's labels, by label, as Kubernetes' match expressions.
    """

    name: str
    namespace: str
    of: str
    role: str
    stage: Stage
    since: datetime | None
    node: str | None
    gpus: int
    image: str
    restarts: int
    demands: Mapping[str, Mapping[str, Any]]
    trouble: tuple[Trouble, ...]

    @property
    def holds(self) -> bool:
        """Whether its GPUs are taken on its node."""
        return self.node is not None and self.stage not in (Stage.COMPLETE, Stage.FAILED)


def pod(live: Mapping[str, Any], pulling: datetime | None) -> Pod:
    """The record of a pod. pulling: since when its node says that it pulls an image, None where it does not."""
    labels = live["metadata"].get("labels", {})
    stage, since = _stage(live, pulling)
    return Pod(
        name=live["metadata"]["name"],
        namespace=live["metadata"].get("namespace", ""),
        of=labels.get(GRAPH_LABEL) or labels.get(_JOB_LABEL) or "",
        role=_role(labels),
        stage=stage,
        since=since,
        node=live["spec"].get("nodeName"),
        gpus=gpus_of(live),
        image=next((each.get("image", "") for each in live["spec"].get("containers", ())), ""),
        restarts=sum(each.get("restartCount", 0) for each in _containers(live)),
        demands=_demands(live),
        trouble=tuple(_troubles(live)),
    )


def gpus_of(live: Mapping[str, Any]) -> int:
    """GPUs that a pod asks for."""
    return sum(
        int(container.get("resources", {}).get("limits", {}).get("nvidia.com/gpu", 0))
        for container in live["spec"].get("containers", ())
    )


def when(stamp: str | None) -> datetime | None:
    """A time of Kubernetes'."""
    return datetime.fromisoformat(stamp) if stamp else None


def _role(labels: Mapping[str, str]) -> str:
    """Prefill or decode, where the component's name says so: the graphs of this project name theirs by it."""
    if GRAPH_LABEL not in labels:
        return "job" if _JOB_LABEL in labels else "pod"
    component = labels.get(_COMPONENT_LABEL, "").lower()
    known = (role for role in ("prefill", "decode", "planner", "epp") if role in component)
    return next(known, labels.get(COMPONENT_TYPE_LABEL, "worker"))


def _stage(live: Mapping[str, Any], pulling: datetime | None) -> tuple[Stage, datetime | None]:
    """The first that holds, seen from the end."""
    metadata, status = live["metadata"], live.get("status", {})
    conditions = {each["type"]: each for each in status.get("conditions", ())}
    ready, scheduled = conditions.get("Ready", {}), conditions.get("PodScheduled", {})
    phase, loading = status.get("phase"), _latest(live, "running", "startedAt", "containerStatuses")
    preparing = _latest(live, "running", "startedAt", "initContainerStatuses")
    ended = _latest(live, "terminated", "finishedAt")
    stages = (
        (phase == "Succeeded", Stage.COMPLETE, ended),
        (phase == "Failed", Stage.FAILED, ended),
        ("deletionTimestamp" in metadata, Stage.ENDING, when(metadata.get("deletionTimestamp"))),
        (ready.get("status") == "True", Stage.READY, when(ready.get("lastTransitionTime"))),
        (not live["spec"].get("nodeName"), Stage.PENDING, when(metadata.get("creationTimestamp"))),
        (loading is not None, Stage.LOADING, loading),
        (preparing is not None, Stage.PREPARING, preparing),
        (pulling is not None, Stage.PULLING, pulling),
    )
    return next(
        ((stage, since) for holds, stage, since in stages if holds),
        (Stage.SCHEDULED, when(scheduled.get("lastTransitionTime"))),
    )


def _latest(live: Mapping[str, Any], state: str, stamp: str, *kinds: str) -> datetime | None:
    """When the last container came into the state, None if none is in it."""
    found = (each.get("state", {}).get(state, {}).get(stamp) for each in _containers(live, *kinds))
    return max((time for each in found if each and (time := when(each))), default=None)


def _containers(live: Mapping[str, Any], *kinds: str) -> Iterator[Mapping[str, Any]]:
    for kind in kinds or ("initContainerStatuses", "containerStatuses"):
        yield from live.get("status", {}).get(kind, ())


def _troubles(live: Mapping[str, Any]) -> Iterator[Trouble]:
    for condition in live.get("status", {}).get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
            yield Trouble("Unschedulable", _one_line(condition.get("message", "")))
    for container in _containers(live):
        waiting = container.get("state", {}).get("waiting", {})
        if waiting.get("reason", "") in _STARTING:
            continue
        ended = container.get("lastState", {}).get("terminated", {})
        message = waiting.get("message", "")
        if ended:
            words = ended.get("message") or ""
            message = f"exit code {ended.get('exitCode')} ({ended.get('reason', 'Error')}) {words[-300:]}"
        yield Trouble(waiting["reason"], _one_line(message))


def _demands(live: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What the pod demands of its node's GPU model and pool."""
    required = (
        live["spec"]
        .get("affinity", {})
        .get("nodeAffinity", {})
        .get("requiredDuringSchedulingIgnoredDuringExecution", {})
    )
    return {
        expression["key"]: expression
        for term in required.get("nodeSelectorTerms", ())
        for expression in term.get("matchExpressions", ())
        if expression["key"] in (GPU_PRODUCT_LABEL, POOL_LABEL)
    }


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
