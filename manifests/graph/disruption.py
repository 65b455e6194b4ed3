"""PodDisruptionBudgets: how many pods of a graph may be evicted at the same time. Pure.

A node must always be free to drain. So a budget never keeps what one node holds: a drain evicts it at once, and the
next node's drain waits until those answer elsewhere. Workers that fit one node have no budget: they go together.
"""

from typing import Any

from manifests.graph.placement import GRAPH_LABEL
from manifests.objects import manifest
from targets.naming import component_name
from targets.parts import WorkerPlan
from targets.plan import GraphPlan

_COMPONENT_LABEL = "nvidia.com/dynamo-component"


def budgets(plan: GraphPlan, namespace: str) -> list[dict[str, Any]]:
    """A budget for the frontends, if there are several, and for each role whose workers stand on several nodes."""
    found = []
    if plan.frontend.replicas > 1:
        found.append(_budget(plan, namespace, "Frontend", 1))
    for planned in plan.workers:
        together = _on_one_node(plan, planned)
        if planned.at_most.worker.replicas * planned.nodes > together:
            found.append(_budget(plan, namespace, component_name(plan.target.engine, planned), together))
    return found


def _on_one_node(plan: GraphPlan, planned: WorkerPlan) -> int:
    """How many pods of the role one node can hold; all, where nothing says how many fit or where they stay together."""
    per_pod = planned.worker.gpus // planned.nodes
    if plan.on_one_node or not per_pod:
        return planned.at_most.worker.replicas * planned.nodes
    return plan.pool.instance.gpus // per_pod


def _budget(plan: GraphPlan, namespace: str, component: str, at_once: int) -> dict[str, Any]:
    spec = {
        "maxUnavailable": at_once,
        "selector": {"matchLabels": {GRAPH_LABEL: plan.name, _COMPONENT_LABEL: component}},
        # Pods that never became ready keep no node from draining.
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    name = f"{plan.name}-{component.lower()}"
    return manifest("policy/v1", "PodDisruptionBudget", name, namespace, spec=spec)
