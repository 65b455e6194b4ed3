"""Names of a graph's components, and how long a graph's own may be. Pure."""

from collections.abc import Iterator

from facts.engines import Engine, Role
from targets.parts import WorkerPlan
from targets.plan import GraphPlan

GROVE_NAME_LIMIT = 45
"""Characters of graph name plus component name that Grove's pod names leave room for."""


def component_name(engine: Engine, planned: WorkerPlan) -> str:
    """Name of a worker in the graph: `TrtllmPrefillWorker`, or `prefill` where each worker spans nodes.

    Grove names the pods of such a worker after it twice, which leaves no room for the published name.
    """
    role = planned.role
    if planned.nodes > 1:
        return role.value
    return f"{engine.value.capitalize()}{'' if role is Role.WORKER else role.value.capitalize()}Worker"


def name_problems(plan: GraphPlan) -> Iterator[str]:
    """A name of the graph that is too long for its pods' names."""
    longest = max(_grove_length(component_name(plan.target.engine, w), w.nodes) for w in plan.workers)
    if len(plan.name) + longest > GROVE_NAME_LIMIT:
        yield (
            f"{plan.key}.name: {plan.name!r} has {len(plan.name)} characters; at most {GROVE_NAME_LIMIT - longest} "
            f"leave room for the component's name in Grove's pod names"
        )


def _grove_length(component: str, nodes: int) -> int:
    """Characters that Grove adds to a graph's name for a pod of the component: its name, twice over several nodes."""
    return len(component) if nodes == 1 else 2 * len(component) + len("-ldr")
