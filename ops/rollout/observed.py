"""Moments of a rollout as the cluster tells them, kept beyond the hour that events live. Pure.

A moment that was known stays: a pod that restarts, or a node that was away for a while, says another one later.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from ops.rollout.image_pull import Pull, pull
from ops.watch.pods import gpus_of, pod

_JOB_ROLE = "job"
T = TypeVar("T")


class Moments(BaseModel):
    """Frozen; what is None is not known."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Container(Moments):
    """A container, an init container or not, in its first life."""

    image: str
    init: bool
    started: datetime | None = None
    finished: datetime | None = None


class SeenPod(Moments):
    """of: graph or Job, empty where it has none. role: as ops.watch has it. containers: by name, in their order."""

    name: str
    of: str
    role: str
    gpus: int
    created: datetime
    node: str | None = None
    scheduled: datetime | None = None
    ready: datetime | None = None
    containers: dict[str, Container]


class SeenNode(Moments):
    """created: when it joined. gpus: None while its devices are not advertised."""

    name: str
    created: datetime
    ready: datetime | None = None
    gpus: int | None = None


class SeenJob(Moments):
    """A Job; completed: None while it runs, or if it failed."""

    name: str
    started: datetime | None = None
    completed: datetime | None = None


class SeenObject(Moments):
    """A graph or a Deployment: when it was made, and when it became ready or available."""

    name: str
    created: datetime
    ready: datetime | None = None


class Line(Moments):
    """A line of a log that says something of the rollout. at: when it was written."""

    pod: str
    at: datetime
    text: str


class Observed(Moments):
    """All that is known of a rollout, by uid; pulls by their events' uid, lines by pod and text.

    began: of the `up` that brought it, None where nobody watched. block: when the Capacity Block of the main pool's
    nodes began, by EC2; None where there is none, or nobody asked.
    """

    began: datetime | None = None
    block: datetime | None = None
    graphs: dict[str, SeenObject] = {}
    operators: dict[str, SeenObject] = {}
    nodes: dict[str, SeenNode] = {}
    jobs: dict[str, SeenJob] = {}
    pods: dict[str, SeenPod] = {}
    pulls: dict[str, Pull] = {}
    lines: dict[str, Line] = {}


def observe(objects: Iterable[Mapping[str, Any]]) -> Observed:
    """What the objects say, as kubectl lists them."""
    kinds: dict[str, dict[str, Mapping[str, Any]]] = {}
    for each in objects:
        kinds.setdefault(each["kind"], {})[each["metadata"].get("uid") or each["metadata"]["name"]] = each
    pulls = {uid: pull(each) for uid, each in kinds.get("Event", {}).items()}
    return Observed(
        graphs={uid: _object(each, "Ready") for uid, each in kinds.get("DynamoGraphDeployment", {}).items()},
        operators={uid: _object(each, "Available") for uid, each in kinds.get("Deployment", {}).items()},
        nodes={uid: _node(each) for uid, each in kinds.get("Node", {}).items()},
        jobs={uid: _job(each) for uid, each in kinds.get("Job", {}).items()},
        pods={uid: _pod(each) for uid, each in kinds.get("Pod", {}).items()},
        pulls={uid: each for uid, each in pulls.items() if each},
    )


def merge(before: Observed, now: Observed) -> Observed:
    """Both; of a moment that both know, the one that was known first.

    Another graph is another rollout, of which what was known before says nothing.
    """
    if before.graphs and now.graphs and not before.graphs.keys() & now.graphs.keys():
        return now
    both = _both(before, now)
    made = [each.created for each in both.graphs.values()]
    return both.model_copy(
        update={
            "began": _last_until(min(made, default=None), before.began, now.began),
            "block": _last_until(max(made, default=None), before.block, now.block),
        }
    )


def _last_until(made: datetime | None, *begins: datetime | None) -> datetime | None:
    """Of several `up`s or blocks, that of the graphs: the last before they were made. Where none was, the first."""
    known = [each for each in begins if each]
    return max((each for each in known if made is None or each <= made), default=min(known, default=None))


def _both(before: T, now: T) -> T:
    if isinstance(before, Moments) and isinstance(now, Moments):
        names = type(now).model_fields
        return now.model_copy(
            update={name: _both(getattr(before, name), getattr(now, name)) for name in names}
        )
    if isinstance(before, dict) and isinstance(now, dict):
        both = {key: _both(before[key], now[key]) for key in before.keys() & now.keys()}
        return {**before, **now, **both}  # type: ignore[return-value]
    return now if before is None else before


def _object(live: Mapping[str, Any], condition: str) -> SeenObject:
    return SeenObject(name=_name(live), created=_created(live), ready=_since(live, condition))


def _node(live: Mapping[str, Any]) -> SeenNode:
    gpus = int(live.get("status", {}).get("allocatable", {}).get("nvidia.com/gpu", 0))
    return SeenNode(name=_name(live), created=_created(live), ready=_since(live, "Ready"), gpus=gpus or None)


def _job(live: Mapping[str, Any]) -> SeenJob:
    status = live.get("status", {})
    return SeenJob(name=_name(live), started=status.get("startTime"), completed=status.get("completionTime"))


def _pod(live: Mapping[str, Any]) -> SeenPod:
    known, status, spec = pod(live, None), live.get("status", {}), live["spec"]
    states = {
        each["name"]: each
        for key in ("initContainerStatuses", "containerStatuses")
        for each in status.get(key, ())
    }
    containers = [(each, True) for each in spec.get("initContainers", ())]
    containers += [(each, False) for each in spec.get("containers", ())]
    return SeenPod(
        name=known.name,
        of=known.of,
        role=known.role,
        gpus=gpus_of(live),
        created=_created(live),
        node=known.node,
        scheduled=_since(live, "PodScheduled"),
        ready=None if known.role == _JOB_ROLE else _since(live, "Ready"),
        containers={
            each["name"]: _container(each, states.get(each["name"], {}), init=init)
            for each, init in containers
        },
    )


def _container(spec: Mapping[str, Any], status: Mapping[str, Any], *, init: bool) -> Container:
    """Of two lives that the status tells, the first."""
    first = status.get("lastState", {}).get("terminated") or {}
    state: Mapping[str, Any] = next(iter(status.get("state", {}).values()), {})
    return Container(
        image=spec.get("image", ""),
        init=init,
        started=first.get("startedAt") or state.get("startedAt"),
        finished=state.get("finishedAt"),
    )


def _since(live: Mapping[str, Any], condition: str) -> datetime | None:
    """When the condition became true."""
    for each in live.get("status", {}).get("conditions", ()):
        if each["type"] == condition and each["status"] == "True" and each.get("lastTransitionTime"):
            return datetime.fromisoformat(each["lastTransitionTime"])
    return None


def _name(live: Mapping[str, Any]) -> str:
    return str(live["metadata"]["name"])


def _created(live: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(live["metadata"]["creationTimestamp"])
