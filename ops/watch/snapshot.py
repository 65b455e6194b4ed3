"""A stack's namespace at one moment, as records. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from manifests.gpu_nodes import GPU_PRODUCT_LABEL
from ops.watch.pods import Pod, pod, when

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_GRAPH = "DynamoGraphDeployment"


@dataclass(frozen=True, kw_only=True)
class Event:
    """A warning. about: the object's kind and name, as `PersistentVolumeClaim/model-cache`."""

    about: str
    reason: str
    message: str
    at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Job:
    """state: Complete, Failed or Running. message: why it failed."""

    name: str
    state: str
    since: datetime | None
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """phase: as Kubernetes has it. storage_class: None where it leaves the choice to the cluster."""

    name: str
    phase: str
    storage_class: str | None
    size: str
    since: datetime | None


@dataclass(frozen=True, kw_only=True)
class Graph:
    """message: the operator's words while it is not ready. since: when `ready` became what it is."""

    name: str
    ready: bool
    message: str
    since: datetime | None
    created: datetime | None


@dataclass(frozen=True, kw_only=True)
class Node:
    """gpus: that it offers. product: model of its GPUs, empty where no label says it. taints: as `key=value:effect`."""

    name: str
    ready: bool
    schedulable: bool
    gpus: int
    product: str
    labels: Mapping[str, str]
    taints: tuple[str, ...]
    since: datetime | None


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """at: when it was taken. holders: pods with GPUs of all namespaces, looked at only while one of ours finds none.

    classes: storage classes of the cluster, and whether each is the default; None where they may not be listed.
    """

    at: datetime
    namespace: str
    jobs: tuple[Job, ...] = ()
    claims: tuple[Claim, ...] = ()
    graphs: tuple[Graph, ...] = ()
    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()
    classes: Mapping[str, bool] | None = None
    events: tuple[Event, ...] = ()
    holders: tuple[Pod, ...] = ()
    logs: Mapping[str, tuple[str, ...]] | None = None
    """Last lines of the pods that tell their progress, by the Job's name."""

    @property
    def gpu_nodes(self) -> tuple[Node, ...]:
        """Nodes that have GPUs, or will have once their devices are advertised."""
        return tuple(node for node in self.nodes if node.gpus or node.product)


def snapshot(
    objects: Iterable[Mapping[str, Any]],
    namespace: str,
    at: datetime,
    *,
    holders: Iterable[Mapping[str, Any]] = (),
    logs: Mapping[str, tuple[str, ...]] | None = None,
) -> Snapshot:
    """The records of what kubectl listed, by age where that means something."""
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for each in objects:
        kinds.setdefault(each["kind"], []).append(each)
    events = tuple(_event(each) for each in kinds.get("Event", ()) if each.get("type") == "Warning")
    pulling = _pulling(kinds.get("Event", ()))
    classes = kinds.get("StorageClass")
    return Snapshot(
        at=at,
        namespace=namespace,
        jobs=tuple(map(_job, kinds.get("Job", ()))),
        claims=tuple(map(_claim, kinds.get("PersistentVolumeClaim", ()))),
        graphs=tuple(map(_graph, kinds.get(_GRAPH, ()))),
        pods=_pods(kinds.get("Pod", ()), pulling),
        nodes=tuple(map(_node, kinds.get("Node", ()))),
        classes=None if classes is None and "Node" not in kinds else dict(map(_class, classes or ())),
        events=events,
        holders=_pods(holders, {}),
        logs=logs,
    )


def _pods(listed: Iterable[Mapping[str, Any]], pulling: Mapping[str, datetime | None]) -> tuple[Pod, ...]:
    ordered = sorted(listed, key=lambda each: (each["metadata"].get("creationTimestamp") or "", _name(each)))
    return tuple(pod(each, pulling.get(_name(each))) for each in ordered)


def _pulling(events: Iterable[Mapping[str, Any]]) -> dict[str, datetime | None]:
    """By pod: since when it pulls an image, as its node said, unless that has ended."""
    found: dict[str, tuple[datetime | None, bool]] = {}
    for each in sorted(events, key=lambda one: _stamp(one) or ""):
        if each.get("reason") in ("Pulling", "Pulled"):
            found[each["involvedObject"]["name"]] = (when(_stamp(each)), each["reason"] == "Pulling")
    return {name: since for name, (since, goes_on) in found.items() if goes_on}


def _event(event: Mapping[str, Any]) -> Event:
    about = event.get("involvedObject") or {}
    return Event(
        about=f"{about.get('kind', '')}/{about.get('name', '')}",
        reason=event.get("reason") or "",
        message=" ".join((event.get("message") or "").split()),
        at=when(_stamp(event)),
    )


def _stamp(event: Mapping[str, Any]) -> str | None:
    found: str | None = event.get("lastTimestamp") or event.get("eventTime")
    return found or event["metadata"].get("creationTimestamp")


def _job(job: Mapping[str, Any]) -> Job:
    """Kubernetes adds other conditions on the way, such as SuccessCriteriaMet."""
    status = job.get("status", {})
    ended = {
        each["type"]: each
        for each in status.get("conditions", ())
        if each["status"] == "True" and each["type"] in ("Complete", "Failed")
    }
    for state, condition in ended.items():
        return Job(
            name=_name(job),
            state=state,
            since=when(condition.get("lastTransitionTime")),
            message=condition.get("message", "") if state == "Failed" else "",
        )
    return Job(name=_name(job), state="Running", since=when(status.get("startTime")) or _created(job))


def _claim(claim: Mapping[str, Any]) -> Claim:
    spec = claim.get("spec", {})
    return Claim(
        name=_name(claim),
        phase=claim.get("status", {}).get("phase", "Pending"),
        storage_class=spec.get("storageClassName"),
        size=spec.get("resources", {}).get("requests", {}).get("storage", ""),
        since=_created(claim),
    )


def _graph(graph: Mapping[str, Any]) -> Graph:
    status = graph.get("status", {})
    conditions = {each["type"]: each for each in status.get("conditions", ())}
    ready = conditions.get("Ready", {})
    seen = status.get("observedGeneration", graph["metadata"].get("generation"))
    return Graph(
        name=_name(graph),
        ready=ready.get("status") == "True" and seen == graph["metadata"].get("generation"),
        message=ready.get("message", ""),
        since=when(ready.get("lastTransitionTime")) or _created(graph),
        created=_created(graph),
    )


def _node(node: Mapping[str, Any]) -> Node:
    labels, status = node["metadata"].get("labels", {}), node.get("status", {})
    conditions = {each["type"]: each["status"] for each in status.get("conditions", ())}
    return Node(
        name=_name(node),
        ready=conditions.get("Ready") == "True",
        schedulable=not node.get("spec", {}).get("unschedulable", False),
        gpus=int(status.get("allocatable", {}).get("nvidia.com/gpu", 0)),
        product=labels.get(GPU_PRODUCT_LABEL, ""),
        labels=labels,
        taints=tuple(
            f"{each['key']}={each.get('value', '')}:{each['effect']}"
            for each in node.get("spec", {}).get("taints", ())
        ),
        since=_created(node),
    )


def _class(found: Mapping[str, Any]) -> tuple[str, bool]:
    return _name(found), found["metadata"].get("annotations", {}).get(_DEFAULT_CLASS) == "true"


def _name(obj: Mapping[str, Any]) -> str:
    return str(obj["metadata"]["name"])


def _created(obj: Mapping[str, Any]) -> datetime | None:
    return when(obj["metadata"].get("creationTimestamp"))
