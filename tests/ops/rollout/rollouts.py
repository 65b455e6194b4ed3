"""Objects of a rollout as Kubernetes writes them: minutes after 17:00. Figures are made up."""

from datetime import UTC, datetime, timedelta
from typing import Any

ZERO = datetime(2026, 11, 22, 17, tzinfo=UTC)
GRAPH = "gpt-oss-disagg"
IMAGE = "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.4.2"
Object = dict[str, Any]


def at(minutes: float) -> datetime:
    return ZERO + timedelta(minutes=minutes)


def stamp(minutes: float) -> str:
    return at(minutes).strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(kind: str, minutes: float) -> Object:
    return {"type": kind, "status": "True", "lastTransitionTime": stamp(minutes)}


def graph(made: float = 9, ready: float | None = 31, uid: str = "g1") -> Object:
    conditions = [] if ready is None else [condition("Ready", ready)]
    return {
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": GRAPH, "uid": uid, "creationTimestamp": stamp(made)},
        "status": {"conditions": conditions},
    }


def node(name: str, joined: float, ready: float, gpus: int = 0) -> Object:
    return {
        "kind": "Node",
        "metadata": {"name": name, "uid": name, "creationTimestamp": stamp(joined)},
        "status": {"allocatable": {"nvidia.com/gpu": str(gpus)}, "conditions": [condition("Ready", ready)]},
    }


def job(started: float, completed: float | None) -> Object:
    status = {"startTime": stamp(started)}
    return {
        "kind": "Job",
        "metadata": {"name": "model-download", "uid": "job", "creationTimestamp": stamp(started)},
        "status": status if completed is None else {**status, "completionTime": stamp(completed)},
    }


def container(name: str, image: str, started: float | None, finished: float | None = None) -> Object:
    """A container and its status. finished: None while it runs."""
    if started is None:
        state: Object = {"waiting": {"reason": "ContainerCreating"}}
    elif finished is None:
        state = {"running": {"startedAt": stamp(started)}}
    else:
        state = {"terminated": {"startedAt": stamp(started), "finishedAt": stamp(finished), "exitCode": 0}}
    return {"name": name, "image": image, "state": state}


def pod(
    name: str,
    *containers: Object,
    before: tuple[Object, ...] = (),
    made: float = 9.5,
    scheduled: float = 17.5,
    ready: float | None = None,
    gpus: int = 8,
    node: str = "gpu-0",
    labels: dict[str, str] | None = None,
) -> Object:
    """before: its init containers. labels: by default those of a graph's worker."""
    own = {"nvidia.com/dynamo-graph-deployment-name": GRAPH, "nvidia.com/dynamo-component": "decode"}
    limits = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    conditions = [condition("PodScheduled", scheduled)]
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "uid": name,
            "namespace": "ns",
            "creationTimestamp": stamp(made),
            "labels": own if labels is None else labels,
        },
        "spec": {
            "nodeName": node,
            "initContainers": [{key: each[key] for key in ("name", "image")} for each in before],
            "containers": [
                {**{key: each[key] for key in ("name", "image")}, "resources": limits} for each in containers
            ],
        },
        "status": {
            "phase": "Running",
            "conditions": conditions if ready is None else [*conditions, condition("Ready", ready)],
            "initContainerStatuses": list(before),
            "containerStatuses": list(containers),
        },
    }


def worker(name: str = "decode-0", started: float = 21.8, ready: float | None = 30.8, **more: Any) -> Object:
    return pod(name, container("main", IMAGE, started), ready=ready, **more)


def event(reason: str, message: str, minutes: float, of: str = "decode-0", host: str = "gpu-0") -> Object:
    return {
        "kind": "Event",
        "metadata": {"name": "e", "uid": f"{of}-{reason}-{minutes}", "creationTimestamp": stamp(minutes)},
        "reason": reason,
        "message": message,
        "involvedObject": {"kind": "Pod", "name": of},
        "source": {"component": "kubelet", "host": host},
        "firstTimestamp": stamp(minutes),
        "lastTimestamp": stamp(minutes),
    }


def pulled(minutes: float, took: str = "4m12s", **more: Any) -> Object:
    words = f'Successfully pulled image "{IMAGE}" in {took} ({took} including waiting). Image size: 21300000000 bytes.'
    return event("Pulled", words, minutes, **more)


def whole() -> list[Object]:
    """All that a rollout on a cluster of the stack's own leaves while its events live."""
    return [
        graph(),
        job(2, 14),
        node("cpu-0", 0, 1.5),
        node("gpu-0", 15, 16, gpus=8),
        worker(),
        pulled(21.7),
    ]
