"""What a change of a graph costs in time without an answer, told from its objects before and after. Pure.

The load time is an assumption, that of the stack's `ops timeline`; nothing here was measured.
"""

import math
from collections.abc import Mapping
from typing import Any

from manifests.graph.worker_pod import DISCOVERY_ANNOTATION
from targets.timeline import Setting, restart_minutes

_WORKERS = ("worker", "prefill", "decode")
_SCALING = ("replicas", "scalingAdapter")
"""What of a component changes without a restart."""
_MAX_UNAVAILABLE = "nvidia.com/deployment-rolling-update-max-unavailable"


def downtime(before: Mapping[str, Any], after: Mapping[str, Any], setting: Setting, *, replaced: bool) -> str:
    """One sentence, or nothing where no worker restarts or none loads a model.

    before, after: the DynamoGraphDeployment. setting: what its stack says of a rollout now. replaced: whether it is
    deleted and made anew.
    """
    was, workers = _workers(before), _workers(after)
    if not any("gpu" in str(worker) for worker in workers.values()):
        return ""
    if not replaced and {n: _pods(w) for n, w in was.items()} == {n: _pods(w) for n, w in workers.items()}:
        return ""
    load, name = restart_minutes(setting), after["metadata"]["name"]
    assumed = "by the timeline's assumption"
    if replaced:
        return f"makes graph {name} anew: no answer for about one load time (~{load:.0f} min {assumed})"
    restarts = f"restarts {_count(after, workers)} of graph {name}"
    at_once = {_annotations(worker).get(_MAX_UNAVAILABLE, "") for worker in workers.values()}
    if at_once == {"0"}:
        return f"{restarts}, new ones first: it answers throughout (~{load:.0f} min {assumed})"
    rounds = max(_rounds(worker, limit) for worker in workers.values() for limit in at_once)
    if rounds > 1:
        return (
            f"{restarts}, {at_once.pop()} at a time: the others answer, for about {rounds} load times "
            f"(~{rounds * load:.0f} min {assumed})"
        )
    return f"{restarts}: no answer for about one load time (~{load:.0f} min {assumed})"


def _workers(graph: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    spec = graph["spec"]
    named = spec.get("services") or {each["name"]: each for each in spec.get("components", ())}
    return {
        name: component
        for name, component in named.items()
        if component.get("componentType", component.get("type")) in _WORKERS
    }


def _pods(component: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in component.items() if key not in _SCALING}


def _annotations(component: Mapping[str, Any]) -> Mapping[str, str]:
    metadata = component.get("extraPodMetadata") or component.get("podTemplate", {}).get("metadata") or {}
    return dict(metadata.get("annotations", {}))


def _rounds(worker: Mapping[str, Any], at_once: str) -> int:
    """How often the role's workers load one after the other; 1 where all go at once or nobody knows."""
    return math.ceil(int(worker.get("replicas") or 1) / int(at_once)) if at_once.isdecimal() else 1


def _count(graph: Mapping[str, Any], workers: Mapping[str, Mapping[str, Any]]) -> str:
    """The number of workers, where no autoscaler decides it and a pod is one worker."""
    numbers = [worker.get("replicas") for worker in workers.values()]
    if None in numbers or DISCOVERY_ANNOTATION.items() <= graph["metadata"].get("annotations", {}).items():
        return "all workers"
    total = sum(int(number) for number in numbers if number)
    return f"{total} worker{'s' if total > 1 else ''}"
