"""Whether graphs that are each possible fit beside each other. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from targets.plan import GraphPlan
from targets.pool import Pool
from targets.registration import ONE_NAMESPACE_BEFORE


def sharing_problems(plans: Sequence[GraphPlan]) -> Iterator[str]:
    """Why graphs that are each possible do not fit beside each other."""
    names = Counter(plan.name for plan in plans)
    for plan in plans[1:]:
        if names[plan.name] > 1:
            yield (
                f"{plan.key}.name: {plan.name!r} is the name of more than one graph of the stack; choose another"
            )
    yield from _seeing_each_other(plans)
    for pool in dict.fromkeys(plan.pool for plan in plans):
        yield from _sharing([plan for plan in plans if plan.pool == pool], pool)


def _seeing_each_other(plans: Sequence[GraphPlan]) -> Iterator[str]:
    shared = [plan for plan in plans if plan.version < ONE_NAMESPACE_BEFORE]
    for plan in shared[1:]:
        yield (
            f"{plan.key}.dynamoVersion: {plan.version}, as {shared[0].name} has: workers of 0.4 register in one "
            "namespace, and the frontend of either graph would send requests to the other's; give one of them a stack "
            "with a platform of its own"
        )


def _sharing(plans: Sequence[GraphPlan], pool: Pool) -> Iterator[str]:
    most = [plan.at_most for plan in plans]
    if len(plans) > 1 and not packs(most):
        gpus, parts = sum(plan.gpus for plan in most), " + ".join(f"{plan.name} {plan.gpus}" for plan in most)
        alone = [plan.name for plan in most if plan.fills_a_node]
        on_nodes = f"{' and '.join(alone)} alone on a node" if alone else "whole workers on nodes"
        yield (
            f"{pool.key}: its graphs together need {gpus} GPUs ({parts}), {on_nodes}, but it has {pool.gpus} ({pool}); "
            f"raise {pool.key}.nodes"
        )


def packs(plans: Iterable[GraphPlan]) -> bool:
    """First-fit decreasing: exact for the powers of two that workers come in. A graph of one node is one piece.

    One that fills a node is alone there. GPUs alone are counted: no worker asks for more of its node's CPUs and memory
    than its share of the GPUs (see manifests/graph/requests.py), so whatever finds GPUs finds those too.
    """
    pieces: list[int] = []
    for plan in plans:
        pool = plan.pool
        if plan.on_one_node or plan.in_one_pod:
            pieces.append(pool.instance.gpus if plan.fills_a_node else plan.gpus)
            continue
        for planned in plan.workers:
            pieces += [planned.worker.gpus // planned.nodes] * planned.worker.replicas * planned.nodes
    free = [pool.instance.gpus] * pool.nodes
    for piece in sorted(pieces, reverse=True):
        for index, left in enumerate(free):
            if left >= piece:
                free[index] -= piece
                break
        else:
            return False
    return True
