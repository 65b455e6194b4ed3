"""Generations of workers and how one takes over from the other: the operator's managed rolling update. Pure.

All workers of a graph are one generation, known by a hash. A change of one of them makes a second generation beside the
first, within maxSurge and maxUnavailable of each component.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from embedded.operator import pods
from embedded.operator.components import Object, components, digest_of
from embedded.operator.platform import Platform
from facts.releases import Version

HASH, FIRST_HASH = "nvidia.com/current-worker-hash-v2", "nvidia.com/current-worker-hash"
"""Annotations of a graph: the generation that is complete. The second one is written before 1.3 as well."""
MAX_SURGE = "nvidia.com/deployment-rolling-update-max-surge"
MAX_UNAVAILABLE = "nvidia.com/deployment-rolling-update-max-unavailable"
DEFAULT_LIMIT = "25%"

_OF_SCALING = ("replicas", "scalingAdapter")


@dataclass(frozen=True, kw_only=True)
class Generation:
    """One component's workers of one generation. desired, available, ready: replicas."""

    name: str
    component: str
    hash: str
    created: str
    desired: int
    available: int
    ready: int


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """How many replicas each has now. new: by component. old: by name of the generation, which may go if complete."""

    new: Mapping[str, int]
    old: Mapping[str, int]
    complete: bool


def worker_hash(graph: Object) -> str:
    """Of all that makes a graph's workers new ones: numbers of replicas do not."""
    workers = {
        component.name: {key: value for key, value in component.raw.items() if key not in _OF_SCALING}
        for component in components(graph)
        if component.is_worker
    }
    return digest_of([graph["spec"].get("backendFramework"), workers])[:8]


def current_hash(graph: Object) -> str | None:
    """The generation that is complete, None for a graph that is new."""
    found: str | None = graph["metadata"].get("annotations", {}).get(HASH)
    return found


def generations(deployments: Iterable[Object]) -> list[Generation]:
    """Of the graph's Deployments those of workers."""
    return [
        Generation(
            name=one["metadata"]["name"],
            component=one["metadata"]["labels"][pods.COMPONENT],
            hash=one["metadata"]["labels"][pods.WORKER_HASH],
            created=one["metadata"]["creationTimestamp"],
            desired=one["spec"]["replicas"],
            available=one.get("status", {}).get("availableReplicas", 0),
            ready=one.get("status", {}).get("readyReplicas", 0),
        )
        for one in deployments
        if pods.WORKER_HASH in one["metadata"]["labels"]
    ]


def rollout(graph: Object, found: Sequence[Generation]) -> Rollout:
    """The next step to the generation that the graph asks for, from those that are there."""
    mark = worker_hash(graph)
    new: dict[str, int] = {}
    old: dict[str, int] = {}
    complete = True
    for component in components(graph):
        if not component.is_worker:
            continue
        mine = [one for one in found if one.component == component.name]
        before = [one for one in mine if one.hash != mark]
        after = next((one for one in mine if one.hash == mark), None)
        surge, unavailable = limits(component.annotations, component.replicas)
        new[component.name], left = _targets(component.replicas, surge, unavailable, before, after)
        old |= _share_out(before, left)
        complete &= after is not None and after.ready >= component.replicas
        complete &= not any(one.ready for one in before)
    return Rollout(new=new, old=old, complete=complete)


def limits(annotations: Mapping[str, str], replicas: int) -> tuple[int, int]:
    """maxSurge and maxUnavailable in replicas, from the annotations of a pod template; at least one is not 0."""
    surge = math.ceil(_in_replicas(annotations.get(MAX_SURGE) or DEFAULT_LIMIT, replicas))
    unavailable = math.floor(_in_replicas(annotations.get(MAX_UNAVAILABLE) or DEFAULT_LIMIT, replicas))
    return (surge, unavailable) if surge or unavailable else (1, 0)


def _in_replicas(limit: str, replicas: int) -> float:
    """A number, or so many per cent of the replicas; what is neither is 0, as the operator takes it."""
    if limit.isdigit():
        return int(limit)
    percent = limit.removesuffix("%")
    return replicas * int(percent) / 100 if percent != limit and percent.isdigit() else 0


def _targets(
    replicas: int, surge: int, unavailable: int, before: Sequence[Generation], after: Generation | None
) -> tuple[int, int]:
    """Replicas of the new generation, and of all old ones together."""
    old_desired = sum(one.desired for one in before)
    old_available = sum(one.available for one in before)
    new_desired, new_available = (after.desired, after.available) if after else (0, 0)
    least = replicas - unavailable
    may_go = max(0, old_desired + new_desired - least - max(0, new_desired - new_available))
    unhealthy = max(0, old_desired - old_available)
    surplus = max(0, old_available + new_available - least)
    room = max(0, replicas + surge - old_desired - new_desired)
    return min(replicas, new_desired + room), max(0, old_desired - min(may_go, unhealthy + surplus))


def _share_out(before: Sequence[Generation], total: int) -> dict[str, int]:
    """The old replicas over their generations: what serves stays first, and of that the oldest goes first."""
    oldest = sorted(before, key=lambda one: (one.created, one.name))
    kept = {one.name: min(one.desired, one.available) for one in oldest}
    for one in oldest:
        kept[one.name] -= min(kept[one.name], max(0, sum(kept.values()) - total))
    for one in reversed(oldest):
        kept[one.name] += min(one.desired - kept[one.name], max(0, total - sum(kept.values())))
    return kept


def hashes(graph: Object, platform: Platform) -> dict[str, str]:
    """The annotations by which the graph's present workers are the complete generation."""
    mark = worker_hash(graph)
    return {HASH: mark} if platform.version >= Version(1, 3) else {HASH: mark, FIRST_HASH: mark}
