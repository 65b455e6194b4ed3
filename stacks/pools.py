"""A stack's GPU pools, with what its config leaves out."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from facts.hardware import INSTANCE_TYPES
from stacks.sections.cluster import AwsCluster, ClusterSettings
from stacks.sections.pool import AdditionalPool, AnyPool
from targets.capacity import ULTRASERVERS, CapacityKnobs
from targets.catalogue import TARGETS
from targets.knobs import MAIN_POOL, AdditionalGraph
from targets.pool import Pool, nodes_for, usual_instance
from targets.target import Target


@dataclass(frozen=True, kw_only=True)
class PoolPlan:
    """The nodes of a pool, and how they are bought and made where the stack makes them."""

    pool: Pool
    zones: tuple[str, ...]
    """That its nodes may be in; none on a cluster that has its nodes already."""
    zones_named: bool
    """Whether the stack file names them."""
    capacity: CapacityKnobs
    root_volume_type: str


def pool_plans(
    target: str,
    cluster: ClusterSettings,
    main: AnyPool,
    further: Sequence[AdditionalPool],
    graphs: Sequence[AdditionalGraph],
) -> tuple[PoolPlan, ...]:
    """Every pool, the main one first; what a pool does not say is taken from the target of its first graph.

    target: of the main graph, and of a pool that no graph uses. graphs: the others.
    """
    targets = {MAIN_POOL: TARGETS[target]}
    for graph in graphs:
        targets.setdefault(graph.pool, TARGETS[graph.target or target])
    pools = [_pool("pool", MAIN_POOL, main, targets[MAIN_POOL])]
    for position, settings in enumerate(further):
        its_target = targets.get(settings.name, targets[MAIN_POOL])
        pools.append(_pool(f"pools[{position}]", settings.name, settings, its_target))
    return tuple(
        PoolPlan(
            pool=replace(
                pool,
                alike=_alike(pool, pools),
                runs=settings.runs or not isinstance(cluster, AwsCluster),
                efa=isinstance(cluster, AwsCluster) or cluster.efa,
            ),
            zones=_zones(cluster, settings, pool.nodes),
            zones_named=bool(settings.zones),
            capacity=settings.capacity,
            root_volume_type=settings.root_volume_type,
        )
        for settings, pool in zip((main, *further), pools, strict=True)
    )


def assignment_problems(
    further: Sequence[AdditionalPool], graphs: Sequence[AdditionalGraph]
) -> Iterator[str]:
    """Why graphs cannot be assigned to pools; further: beside the main pool."""
    names = Counter([MAIN_POOL, *(pool.name for pool in further)])
    used = {graph.pool for graph in graphs}
    for position, pool in enumerate(further):
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


def node_problems(cluster: ClusterSettings, pools: Sequence[PoolPlan]) -> Iterator[str]:
    """Labels and taints that are named for nodes that the stack makes, and so labels and taints itself."""
    if not isinstance(cluster, AwsCluster):
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


def _pool(key: str, name: str, settings: AnyPool, target: Target) -> Pool:
    instance = INSTANCE_TYPES[settings.instance_type] if settings.instance_type else usual_instance(target)
    if settings.efa_devices:
        instance = replace(instance, efa_devices=settings.efa_devices)
    nodes = ULTRASERVERS.get(settings.capacity.ultraserver or "", nodes_for(target, instance))
    return Pool(
        instance=instance,
        nodes=settings.nodes or nodes,
        key=key,
        name=name,
        node_selector=tuple(sorted(settings.node_selector.items())),
        tolerations=settings.tolerations,
        gpu_product=settings.gpu_product,
    )


def _alike(pool: Pool, pools: Sequence[Pool]) -> tuple[str, ...]:
    gpu = pool.instance.gpu
    return tuple(other.name for other in pools if gpu and other.instance.gpu is gpu and other != pool)


def _zones(cluster: ClusterSettings, settings: AnyPool, nodes: int) -> tuple[str, ...]:
    if not isinstance(cluster, AwsCluster):
        return ()
    if settings.zones or settings.capacity.kind.prepaid:
        return settings.zones
    return cluster.zone_names if nodes == 1 else cluster.zone_names[:1]
