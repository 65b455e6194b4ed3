"""The pathway with Grove: pods as Grove's operator would make them. Pure."""

from collections.abc import Iterable

from embedded.operator import pods
from embedded.operator.components import Component, Object, components
from embedded.operator.generations import worker_hash
from embedded.operator.platform import Platform


def desired_pods(graph: Object, platform: Platform) -> list[Object]:
    """Every pod of the graph, one a replica and node, each with a stable name."""
    found = []
    for component in components(graph):
        mark = worker_hash(graph) if component.is_worker and platform.marks_grove_workers else None
        template = pods.template(component, platform, component.full_name, mark)
        labels, annotations = template["metadata"]["labels"], template["metadata"]["annotations"]
        found += [
            pods.child(graph, "Pod", name, labels, annotations=annotations, spec=template["spec"])
            for name in _pod_names(component)
        ]
    return found


def services(graph: Object, platform: Platform) -> list[Object]:
    """A Service a component, called `<graph>-<component>`."""
    return [pods.service(component, platform, component.full_name) for component in components(graph)]


def _clique(component: Component) -> str:
    return f"{component.graph['metadata']['name']}-0-{component.name.lower()}"


def _pod_names(component: Component) -> list[str]:
    replicas = [f"{_clique(component)}-{index}" for index in range(component.replicas)]
    if component.nodes == 1:
        return replicas
    nodes = ["ldr-0", *(f"wkr-{node}" for node in range(component.nodes - 1))]
    return [f"{name}-{component.name.lower()}-{node}" for name in replicas for node in nodes]


def matches(live: Object, desired: Object) -> bool:
    """Whether a live pod still is the desired one: alive, and made of the same, the graph object included."""
    mine, its = live["metadata"], desired["metadata"]
    return (
        live.get("status", {}).get("phase") not in ("Failed", "Succeeded")
        and mine["annotations"].get(pods.DIGEST) == its["annotations"][pods.DIGEST]
    )


def unready(graph: Object, platform: Platform, live: Iterable[Object]) -> list[str]:
    """Of the graph's components those that are not ready, with the scheduler's words why a pod has no node."""
    desired = {pod["metadata"]["name"]: pod for pod in desired_pods(graph, platform)}
    named = {pod["metadata"]["name"]: pod for pod in live}
    current = {name: pod for name, pod in named.items() if name in desired and matches(pod, desired[name])}
    found = []
    for component in components(graph):
        names = _pod_names(component)
        ready = sum(_condition(current.get(name), "Ready")[0] for name in names)
        if ready < len(names):
            whys = {name: _condition(current.get(name), "PodScheduled")[1] for name in names}
            reasons = "; ".join(f"pod {name}: {why}" for name, why in whys.items() if why)
            counted = f"desired={len(names)}, ready={ready}"
            found.append(f"{_clique(component)}: {counted}{f' ({reasons})' if reasons else ''}")
    return found


def _condition(pod: Object | None, kind: str) -> tuple[bool, str]:
    """Whether a pod's condition holds, and its message."""
    conditions = pod.get("status", {}).get("conditions", ()) if pod else ()
    found: Object = next((one for one in conditions if one["type"] == kind), {})
    return found.get("status") == "True", found.get("message", "")
