"""The pathway without Grove: a Deployment and a Service a component. Pure."""

from collections.abc import Iterable, Mapping

from embedded.operator import pods
from embedded.operator.components import Component, Object, components
from embedded.operator.generations import DEFAULT_LIMIT, MAX_SURGE, MAX_UNAVAILABLE, worker_hash
from embedded.operator.platform import Platform


def spans_nodes(graph: Object) -> bool:
    """Whether a worker is several pods, which nothing here can start: admitted, and never ready."""
    return any(component.nodes > 1 for component in components(graph))


def workload(
    component: Component, platform: Platform, replicas: Mapping[str, int] | None = None
) -> list[Object]:
    """Deployment and Service of a component, under the name of its generation.

    replicas: by component, where a rollout decides.
    """
    mark = worker_hash(component.graph) if component.is_worker else None
    labels = pods.component_labels(component, platform) | ({pods.WORKER_HASH: mark} if mark else {})
    name, annotations = _name(component), component.annotations
    limits = {"maxSurge": annotations.get(MAX_SURGE), "maxUnavailable": annotations.get(MAX_UNAVAILABLE)}
    rolling = {key: _number(limit or DEFAULT_LIMIT) for key, limit in limits.items()}
    spec = {
        "replicas": (replicas or {}).get(component.name, component.replicas),
        "selector": {"matchLabels": {pods.SELECTOR: name}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
        "template": pods.template(component, platform, name, mark),
    }
    more = {"apiVersion": "apps/v1", "annotations": annotations, "spec": spec}
    return [
        pods.child(component.graph, "Deployment", name, labels, **more),
        pods.service(component, platform, name, labels),
    ]


def _name(component: Component) -> str:
    return (
        f"{component.full_name}-{worker_hash(component.graph)}"
        if component.is_worker
        else component.full_name
    )


def _number(limit: str) -> int | str:
    return int(limit) if limit.isdigit() else limit


def unready(graph: Object, live: Iterable[Object]) -> list[str]:
    """Of the graph's components those that are not ready."""
    ready = {one["metadata"]["name"] for one in live if _is_ready(one)}
    names = sorted(map(_name, components(graph)))
    why = "Component deployment not ready - Available condition not true"
    return [f"{name}: {why}" for name in names if name not in ready]


def _is_ready(deployment: Object) -> bool:
    """Whether all of a Deployment's replicas, and no others, are up to date and available."""
    desired, status = deployment["spec"]["replicas"], deployment.get("status", {})
    if not desired:
        return True
    available = any(
        one["type"] == "Available" and one["status"] == "True" for one in status.get("conditions", ())
    )
    return (
        available
        and status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
        and min(status.get("updatedReplicas", 0), status.get("availableReplicas", 0)) >= desired
        and status.get("replicas", 0) == desired
    )
