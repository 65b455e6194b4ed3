"""How a graph's pods get at the models: the shared cache, a copy of it on their node, or a copy of a bucket. Pure."""

from dataclasses import dataclass
from typing import Any

from manifests.cache import bucket, local_copy
from manifests.names import CACHE_CLAIM, CACHE_PATH
from targets.plan import GraphPlan


@dataclass(frozen=True, kw_only=True)
class PodCache:
    """Parts of a pod. mounts: of the container that reads. spec: more of the PodSpec."""

    volumes: list[dict[str, Any]]
    mounts: list[dict[str, Any]]
    spec: dict[str, Any]


def pod_cache(plan: GraphPlan, *, weights: bool) -> PodCache:
    """For pods of a graph. weights: whether they load them, which others have no use for."""
    copied = bool(plan.copied_weights) and weights
    if plan.cache.from_bucket:
        gib, models = (plan.copy_gib, plan.copied_weights) if copied else (None, plan.cache.weights)
        folder = plan.cache.node_folder if copied else None
        fetching = bucket.fetch_containers(plan.image.reference, models, gib, of_node=folder is not None)
        return PodCache(
            volumes=bucket.volumes(gib, folder), mounts=[mount()], spec={"initContainers": fetching}
        )
    shared = local_copy.shared(plan)
    if copied:
        return PodCache(
            volumes=[shared, *local_copy.volumes(plan)],
            mounts=[local_copy.mount()],
            spec={"initContainers": [local_copy.init_container(plan)]},
        )
    return PodCache(volumes=[shared], mounts=[mount()], spec={})


def mount() -> dict[str, Any]:
    """The shared cache in a container, or what stands for it."""
    return {"name": CACHE_CLAIM, "mountPath": CACHE_PATH, "readOnly": True}
