"""What graphs report. Pure."""

from collections.abc import Sequence

from embedded.operator.components import Object

NO_ORCHESTRATOR = "no multinode orchestrator available"


def status(graph: Object, unready: Sequence[str], now: str, *, rolling: bool = False) -> Object:
    """Of a graph that is served, or not yet: unready says of what. now: RFC 3339."""
    if rolling:
        report = _report(graph, "pending", "rolling_update_in_progress", "Rolling update in progress", now)
    elif unready:
        message = f"Resources not ready: {'; '.join(unready)}"
        report = _report(graph, "pending", "some_resources_are_not_ready", message, now)
    else:
        report = _report(graph, "successful", "all_resources_are_ready", "All resources are ready", now)
    return {**report, "observedGeneration": graph["metadata"]["generation"]}


def failure_status(graph: Object, message: str, now: str) -> Object:
    """Of a graph of which something could not be made."""
    reason = (
        "no_multinode_orchestrator" if message == NO_ORCHESTRATOR else "failed_to_reconcile_the_resources"
    )
    return _report(graph, "failed", reason, message, now)


def _report(graph: Object, state: str, reason: str, message: str, now: str) -> Object:
    """With the condition Ready, whose time moves with its value alone."""
    before: Object = next(iter(graph.get("status", {}).get("conditions", ())), {})
    value = str(state == "successful")
    condition = {
        "type": "Ready",
        "status": value,
        "reason": reason,
        "message": message,
        "observedGeneration": graph["metadata"]["generation"],
        "lastTransitionTime": before["lastTransitionTime"] if before.get("status") == value else now,
    }
    return {"state": state, "conditions": [condition]}
