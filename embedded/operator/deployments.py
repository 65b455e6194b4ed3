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
    graph: Object, component: Component, platform: Platform, replicas: Mapping[str, int] | None = None
) -> list[Object]:
    """Deployment and Service of a component, under the name of its generation.

    replicas: by component, where a rollout decides.
    """
    mark = {pods.WORKER_HASH: worker_hash(graph)} if component.is_worker else {}
    labels = pods.component_labels(graph, component, platform) | mark
    name, said = _name(graph, component), component.annotations
    rolling = {
        "maxSurge": _number(said.get(MAX_SURGE) or DEFAULT_LIMIT),
        "maxUnavailable": _number(said.get(MAX_UNAVAILABLE) or DEFAULT_LIMIT),
    }
    spec = {
        "replicas": (replicas or {}).get(component.name, component.replicas),
        "selector": {"matchLabels": {pods.SELECTOR: name}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
        "template": pods.template(graph, component, platform, name, mark.get(pods.WORKER_HASH)),
    }
    ports = pods.service_spec(graph, component, platform)
    return [
        pods.child(graph, "Deployment", name, labels, apiVersion="apps/v1", annotations=said, spec=spec),
        pods.child(graph, "Service", name, labels | pods.DISCOVERY, spec=ports),
    ]


def _name(graph: Object, component: Component) -> str:
    name = f"{graph['metadata']['name']}-{component.name.lower()}"
    return f"{name}-{worker_hash(graph)}" if component.is_worker else name


def _number(said: str) -> int | str:
    return int(said) if said.isdigit() else said


def lacking(graph: Object, live: Iterable[Object]) -> list[str]:
    """Of the graph's components those that are not ready."""
    ready = {one["metadata"]["name"] for one in live if _is_ready(one)}
    names = sorted(_name(graph, component) for component in components(graph))
    why = "Component deployment not ready - Available condition not true"
    return [f"{name}: {why}" for name in names if name not in ready]


def _is_ready(deployment: Object) -> bool:
    """Whether all of a Deployment's replicas, and no others, are up to date and available."""
    wanted, status = deployment["spec"]["replicas"], deployment.get("status", {})
    if not wanted:
        return True
    available: Object = next((one for one in status.get("conditions", ()) if one["type"] == "Available"), {})
    return (
        status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
        and status.get("updatedReplicas", 0) >= wanted
        and status.get("availableReplicas", 0) >= wanted
        and status.get("replicas", 0) == wanted
        and available.get("status") == "True"
    )
