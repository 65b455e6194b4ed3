"""Conditions of graphs and components. Pure."""

from embedded.operator.components import Object


def ready_condition(graph: Object, state: str, why: tuple[str, str], now: str) -> Object:
    """The graph's condition Ready; why: reason and message. now: RFC 3339."""
    holds = state == "successful"
    return condition(graph, "Ready", holds, why, now) | {
        "observedGeneration": graph["metadata"]["generation"]
    }


def condition(owner: Object, kind: str, holds: bool, why: tuple[str, str], now: str) -> Object:
    """A condition of the object, whose time moves with its value alone."""
    before = next((one for one in owner.get("status", {}).get("conditions", ()) if one["type"] == kind), None)
    same = before is not None and before["status"] == str(holds)
    return {
        "type": kind,
        "status": str(holds),
        "reason": why[0],
        "message": why[1],
        "lastTransitionTime": before["lastTransitionTime"] if before and same else now,
    }
