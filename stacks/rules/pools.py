"""What cannot be of a stack's GPU pools and of the graphs on them. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence

from stacks.pools import PoolPlan
from stacks.sections.cluster import AwsCluster, ClusterSettings
from stacks.sections.pool import AdditionalPool
from targets.capacity import ULTRASERVERS
from targets.knobs import MAIN_POOL, AdditionalGraph


def assignment_problems(
    additional: Sequence[AdditionalPool], graphs: Sequence[AdditionalGraph]
) -> Iterator[str]:
    """Why graphs cannot be assigned to pools; additional: beside the main pool."""
    names = Counter([MAIN_POOL, *(pool.name for pool in additional)])
    used = {graph.pool for graph in graphs}
    for position, pool in enumerate(additional):
        key = f"pools[{position}].name: {pool.name!r}"
        if names[pool.name] > 1:
            yield f"{key} is the name of more than one pool ({MAIN_POOL} is that of `pool`); choose another"
        elif pool.name not in used:
            yield (
                f"{key} is no graph's pool, and would cost money for nothing; name it in graphs[…].pool, or leave the "
                "pool out"
            )
    for position, graph in enumerate(graphs):
        if graph.pool not in names:
            yield (
                f"graphs[{position}].pool: {graph.pool!r} is no pool of the stack; choose one of {', '.join(names)}"
            )


def is_assignable(additional: Sequence[AdditionalPool], graphs: Sequence[AdditionalGraph]) -> bool:
    """Whether every graph's pool is there, and once."""
    names = [MAIN_POOL, *(pool.name for pool in additional)]
    return len({*names}) == len(names) and {graph.pool for graph in graphs} <= {*names}


def node_problems(cluster: ClusterSettings, pools: Sequence[PoolPlan]) -> Iterator[str]:
    """Labels and taints that are named for nodes that the stack makes, and so labels and taints itself.

    Of nodes that it does not make, an UltraServer says how many there are.
    """
    if not isinstance(cluster, AwsCluster):
        for each in pools:
            if each.parallel_pull:
                yield (
                    f"{each.pool.key}.parallelPull: true, but the stack does not make these nodes; leave it out, it is "
                    "for cluster.kind eks or existing-eks"
                )
            given = each.capacity.ultraserver
            if given not in (None, *ULTRASERVERS):
                choices = " or ".join(ULTRASERVERS)
                yield f"{each.pool.key}.capacity.ultraserver: {given!r} is not allowed; choose {choices}"
        return
    for pool in (each.pool for each in pools):
        named = {
            "nodeSelector": pool.node_selector,
            "tolerations": pool.tolerations,
            "gpuProduct": pool.gpu_product,
        }
        for name in (name for name, value in named.items() if value):
            yield (
                f"{pool.key}.{name}: the stack makes these nodes, and labels and taints them itself; leave it out, it "
                "is for cluster.kind existing or stack"
            )
