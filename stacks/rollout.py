"""What of a stack decides how long it takes to the first token. Pure."""

from manifests.cache.storage import lustre_capacity
from stacks.plan import StackPlan
from stacks.pools import PoolPlan
from stacks.sections.cache import CacheSettings
from targets.timeline import Copy, Setting


def setting(plan: StackPlan) -> Setting:
    """Of the main graph's pool."""
    return _setting(plan, plan.pools[0])


def settings(plan: StackPlan) -> dict[str, Setting]:
    """Of every pool, by the component that makes its nodes."""
    return {each.component: _setting(plan, each) for each in plan.pools}


def _setting(plan: StackPlan, of: PoolPlan) -> Setting:
    cache = plan.cache
    images = [graph.image for graph in plan.graphs if graph.pool.name == of.pool.name]
    return Setting(
        gpus=of.pool.gpus,
        capacity=of.capacity.kind,
        parallel_pull=of.parallel_pull,
        mirror=bool(images) and all(image.mirror is not None for image in images),
        cache=cache.kind,
        copy=_copy(cache),
        cache_rate=cache.throughput * lustre_capacity(cache.size) / 1024 if cache.kind == "fsx" else None,
    )


def _copy(cache: CacheSettings) -> Copy | None:
    if cache.copies_to_nodes:
        return Copy.NODE
    return Copy.POD if cache.copies else None
