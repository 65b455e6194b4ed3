"""How a changed worker takes the place of the old one, and how long a pod may finish its answers. Pure.

Sources: the Dynamo operator's managed rolling update (1.2 to 1.5) and its guide to rolling updates, the runtime's
graceful shutdown (1.0 to 1.6).
"""

import math

from facts.releases import Version
from targets.plan import GraphPlan

MIGRATION_LIMIT = 3
"""How often a request may go on with another worker when its own is lost; what upstream's guide begins with."""
FRONTEND_MIGRATES_SINCE = Version(1, 0)
"""From here the frontend says how often; in 0.4 each worker does."""
_FRONTEND_WAITS_SINCE = Version(1, 3)
"""From here the frontend ends as soon as its last answer has, but at the latest after a time that is 5 s unless told.

Before, it takes requests for all of that time, and then waits for its last answer without a limit.
"""
_WORKER_WAITS_SINCE = Version(1, 3)
"""From here a worker drains for 900 s unless told; before, without a limit."""
_WORKER_WAIT = "DYN_RUNTIME_GRACEFUL_SHUTDOWN_TIMEOUT_SECS"
_FRONTEND_WAIT = "DYN_HTTP_GRACEFUL_SHUTDOWN_TIMEOUT_SECS"
_TO_EXIT_SECONDS = 10
_MAX_SURGE = "nvidia.com/deployment-rolling-update-max-surge"
_MAX_UNAVAILABLE = "nvidia.com/deployment-rolling-update-max-unavailable"


def annotations(plan: GraphPlan) -> dict[str, str]:
    """Of a worker's pods: how many of a new generation may come beside the old, and how many of the old may go first.

    The operator reads them there in every release; those of a component are ignored before 1.4. Grove reads none.
    Its own numbers wait for GPUs that the old generation holds, which on a full node is for ever. Prefill and decode
    go together: the operator replaces each at its own pace, and the two generations do not see each other's workers.
    """
    if plan.operation.surge:
        return {_MAX_SURGE: "100%", _MAX_UNAVAILABLE: "0"}
    return {_MAX_SURGE: "0", _MAX_UNAVAILABLE: "100%" if plan.target.disaggregated else str(_at_once(plan))}


def rounds(plan: GraphPlan) -> int:
    """How many times, one after the other, a change of the graph waits for workers to load."""
    if plan.target.disaggregated or plan.operation.surge:
        return 1
    return math.ceil(max(each.at_most.worker.replicas for each in plan.workers) / _at_once(plan))


def _at_once(plan: GraphPlan) -> int:
    """Half of the published workers: a number that is the same however many there are now.

    It stands in the pods, so one that followed the workers would restart them all whenever they are scaled; and half of
    one worker is none.
    """
    return max(1, sum(worker.replicas for worker in plan.target.workers) // 2)


def frontend_environment(plan: GraphPlan) -> dict[str, str]:
    """How long a frontend that is to end waits for its answers: as long as its pod may."""
    if plan.version < _FRONTEND_WAITS_SINCE:
        return {}
    return {_FRONTEND_WAIT: _drain_seconds(plan)}


def worker_environment(plan: GraphPlan) -> dict[str, str]:
    """How long a worker that is to end waits for its answers; its own default is longer than its pod lives."""
    if plan.version < _WORKER_WAITS_SINCE:
        return {}
    return {_WORKER_WAIT: _drain_seconds(plan)}


def _drain_seconds(plan: GraphPlan) -> str:
    return str(plan.operation.termination_grace_period_seconds - _TO_EXIT_SECONDS)
