"""What graphs report. Pure."""

from collections.abc import Sequence

from embedded.operator.components import Object

NO_ORCHESTRATOR = "no multinode orchestrator available"


def status(graph: Object, lacking: Sequence[str], now: str, *, rolling: bool = False) -> Object:
    """Of a graph that is served, or not yet: lacking says of what. now: RFC 3339."""
    if rolling:
        state, reason, message = "pending", "rolling_update_in_progress", "Rolling update in progress"
    elif lacking:
        state, reason = "pending", "some_resources_are_not_ready"
        message = f"Resources not ready: {'; '.join(lacking)}"
    else:
        state, reason, message = "successful", "all_resources_are_ready", "All resources are ready"
    generation = graph["metadata"]["generation"]
    return {
        "state": state,
        "observedGeneration": generation,
        "conditions": [_ready(graph, state, reason, message, now)],
    }


def failed(graph: Object, failure: str, now: str) -> Object:
    """Of a graph of which something could not be made."""
    one = failure == NO_ORCHESTRATOR
    reason = "no_multinode_orchestrator" if one else "failed_to_reconcile_the_resources"
    return {"state": "failed", "conditions": [_ready(graph, "failed", reason, failure, now)]}


def _ready(graph: Object, state: str, reason: str, message: str, now: str) -> Object:
    """The condition Ready, whose time moves with its value alone."""
    before: Object = next(iter(graph.get("status", {}).get("conditions", ())), {})
    holds = str(state == "successful")
    return {
        "type": "Ready",
        "status": holds,
        "reason": reason,
        "message": message,
        "observedGeneration": graph["metadata"]["generation"],
        "lastTransitionTime": before["lastTransitionTime"] if before.get("status") == holds else now,
    }
