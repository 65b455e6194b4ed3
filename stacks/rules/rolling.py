"""What cannot work about replacing workers while the old ones still answer. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from stacks.rules.sharing import packs
from targets.plan import GraphPlan
from targets.platform import Addon, Platform


def rolling_problems(plans: Sequence[GraphPlan], platform: Platform) -> Iterator[str]:
    """Why new workers cannot come beside the old ones."""
    for plan in plans:
        if plan.operation.surge:
            yield from _of_graph(plan, platform)
    able = [plan for plan in plans if plan.operation.surge and not plan.target.disaggregated]
    for pool in dict.fromkeys(plan.pool for plan in able):
        graphs = [_most(plan) for plan in plans if plan.pool == pool]
        surging = [plan.key for plan in able if plan.pool == pool]
        if not packs(graphs):
            yield (
                f"{surging[0]}.surge: true needs room for every worker twice, {sum(plan.gpus for plan in graphs)} GPUs "
                f"with all that else runs there, but the pool has {pool.gpus} ({pool}); raise {pool.key}.nodes, or "
                "leave it out"
            )


def _of_graph(plan: GraphPlan, platform: Platform) -> Iterator[str]:
    if plan.in_one_pod:
        yield (
            f"{plan.key}.surge: true, but the workers of {plan.name} are one pod, beside which nobody has tried a "
            "second; leave it out, or put the changed graph beside this one (graphs) until it answers"
        )
    elif len(plan.workers) > 1:
        yield (
            f"{plan.key}.surge: true, but target {plan.target.name} has prefill and decode workers, which the operator "
            "replaces each at its own pace: until both are new, requests find no partner; leave it out, or put the "
            "changed graph beside this one (graphs) until it answers"
        )
    if platform.grove is not Addon.NONE:
        yield (
            f"{plan.key}.surge: true, but with platform.grove {platform.grove.value!r} Grove replaces one worker after "
            "the other and adds none; leave it out"
        )


def _most(plan: GraphPlan) -> GraphPlan:
    """The graph with as many workers as it may have while it changes."""
    most = plan.at_most
    if not plan.operation.surge or plan.target.disaggregated:
        return most
    twice = [
        replace(each, worker=replace(each.worker, replicas=2 * each.worker.replicas)) for each in most.workers
    ]
    return replace(most, workers=tuple(twice))
