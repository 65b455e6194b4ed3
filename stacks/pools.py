"""A stack's GPU pools, with what its config leaves out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from facts.hardware import INSTANCE_TYPES
from stacks.sections.cluster import AwsCluster, ClusterSettings
from stacks.sections.pool import AdditionalPool, AnyPool
from targets.capacity import ULTRASERVERS, CapacityKnobs
from targets.catalogue import TARGETS
from targets.knobs import MAIN_POOL, AdditionalGraph
from targets.pool import Pool, nodes_for, usual_instance
from targets.target import Target

MAIN_NODES = "gpu-nodes"
"""The component that makes the main pool's nodes, and their node group."""


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
    parallel_pull: bool

    @property
    def component(self) -> str:
        """Name of the component that makes its nodes."""
        return MAIN_NODES if self.pool.name == MAIN_POOL else f"{MAIN_NODES}-{self.pool.name}"

    @property
    def running(self) -> int:
        """How many of its nodes run."""
        return self.pool.nodes if self.pool.runs else 0


def pool_plans(
    target: str,
    cluster: ClusterSettings,
    main: AnyPool,
    additional: Sequence[AdditionalPool],
    graphs: Sequence[AdditionalGraph],
) -> tuple[PoolPlan, ...]:
    """Every pool, the main one first; what a pool does not say is taken from the target of its first graph.

    target: of the main graph, and of a pool that no graph uses. graphs: the others.
    """
    targets = {MAIN_POOL: TARGETS[target]}
    for graph in graphs:
        targets.setdefault(graph.pool, TARGETS[graph.target or target])
    pools = [_pool("pool", MAIN_POOL, main, targets[MAIN_POOL])]
    for position, settings in enumerate(additional):
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
            parallel_pull=settings.parallel_pull,
        )
        for settings, pool in zip((main, *additional), pools, strict=True)
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
