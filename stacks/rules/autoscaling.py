"""What cannot work about who decides how many workers a graph has. Pure.

Sources: Dynamo's guides to autoscaling and to its Planner, its known-issues pages, and the released `ai-dynamo`
packages (which metrics a frontend has, which forward-pass metrics a worker sends).
"""

from collections.abc import Iterator, Sequence

from facts.engines import Engine
from facts.releases import LATEST_PATCH, Version
from targets.autoscaling import Autoscaler
from targets.plan import GraphPlan
from targets.platform import Addon, Platform

AUTOSCALING_SINCE = Version(1, 2)
"""First of our release lines whose scaling adapters are asked for and whose frontends count requests by stage."""


_GANG_ROLL_UNTIL = Version(1, 3)
"""Before, a changed number of workers restarts the whole graph under Grove (known issue of 1.1 and 1.2)."""


_PLANNER_SINCE = Version(1, 6)
"""First of our release lines whose workers send what the Planner reads, whatever the engine, and whose Planner knows a
least number of workers for each role. In 1.3 it scales nothing (known issue)."""


def autoscaling_problems(
    autoscaler: Autoscaler, plans: Sequence[GraphPlan], platform: Platform
) -> Iterator[str]:
    """Why the graphs cannot be scaled that way."""
    for plan in plans:
        yield from _of_graph(autoscaler, plan, platform)
    if autoscaler is not Autoscaler.NONE and not any(plan.autoscaled for plan in plans):
        yield (
            f"autoscaling.kind: {autoscaler.value!r} has nothing to scale; set maxReplicas below a role of a graph, "
            f"for example {plans[0].key}.{plans[0].workers[-1].role}.maxReplicas"
        )


def _of_graph(autoscaler: Autoscaler, plan: GraphPlan, platform: Platform) -> Iterator[str]:
    if not plan.autoscaled:
        return
    if autoscaler is Autoscaler.NONE:
        planned = plan.autoscaled[0]
        yield (
            f"{plan.key}.{planned.role}.maxReplicas: {planned.max_replicas}, but nothing scales the graph; set "
            "autoscaling.kind to keda, planner or external, or leave it out"
        )
        return
    if plan.version < AUTOSCALING_SINCE:
        yield (
            f"autoscaling.kind: {autoscaler.value!r} needs a release whose frontends count waiting requests, and "
            f"{plan.key}.dynamoVersion is {plan.version}; use {LATEST_PATCH['1.2']} or newer"
        )
    if platform.grove is not Addon.NONE and plan.version < _GANG_ROLL_UNTIL:
        yield (
            f"autoscaling.kind: {autoscaler.value!r} with Grove restarts every pod of a graph of Dynamo {plan.version} "
            f"at each change (known issue); use {plan.key}.dynamoVersion {LATEST_PATCH['1.3']} or newer, or "
            "platform.grove none"
        )
    if autoscaler is Autoscaler.KEDA:
        yield from _counted_by_pods(plan)
    if autoscaler is Autoscaler.PLANNER:
        yield from _planner_problems(plan)
    if autoscaler is Autoscaler.EXTERNAL:
        yield from _left_to_others(plan)


def _counted_by_pods(plan: GraphPlan) -> Iterator[str]:
    """A HorizontalPodAutoscaler multiplies a latency's ratio to its target by the pods that are ready."""
    for planned in plan.autoscaled:
        if planned.nodes > 1:
            yield (
                f"autoscaling.kind: 'keda' counts pods, and one worker of {plan.key}.{planned.role} is {planned.nodes} "
                "of them (nodes); choose planner or external"
            )


def _planner_problems(plan: GraphPlan) -> Iterator[str]:
    if plan.version < _PLANNER_SINCE:
        yield (
            f"autoscaling.kind: 'planner' needs workers that send forward-pass metrics, and {plan.key}.dynamoVersion "
            f"is {plan.version}; use {LATEST_PATCH['1.6']} or newer"
        )
    if plan.target.engine is Engine.MOCKER:
        yield (
            f"autoscaling.kind: 'planner' counts GPUs, and target {plan.target.name} has none; choose keda or external"
        )


def _left_to_others(plan: GraphPlan) -> Iterator[str]:
    for planned in plan.autoscaled:
        if planned.least is not None and planned.least > 1:
            yield (
                f"{plan.key}.{planned.role}.replicas: {planned.least}, but a graph that something of yours scales "
                "begins with one worker; leave it out and give that something its own minimum"
            )
