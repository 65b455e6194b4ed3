"""The pathway with Grove: pods as Grove's operator would make them, and their graph's status. Pure."""

from collections.abc import Iterable, Mapping

from embedded.operator import pods
from embedded.operator.components import Component, Object, components
from embedded.operator.conditions import ready_condition
from embedded.operator.generations import worker_hash
from embedded.operator.platform import Platform


def wanted_pods(graph: Object, platform: Platform) -> list[Object]:
    """Every pod of the graph, one a replica and node, each with a stable name."""
    name = graph["metadata"]["name"]
    return [
        pods.child(graph, "Pod", pod, made["metadata"]["labels"],
                   annotations=made["metadata"]["annotations"], spec=made["spec"])
        for component in components(graph)
        for made in [pods.template(graph, component, platform, f"{name}-{component.name.lower()}",
                                   _hash(graph, component, platform))]
        for replica in range(component.replicas)
        for pod in _pod_names(graph, component, replica)
    ]  # fmt: skip


def services(graph: Object, platform: Platform) -> list[Object]:
    """A Service a component, called `<graph>-<component>`."""
    name = graph["metadata"]["name"]
    return [
        pods.child(
            graph,
            "Service",
            f"{name}-{component.name.lower()}",
            pods.DISCOVERY,
            spec=pods.service_spec(graph, component, platform),
        )
        for component in components(graph)
    ]


def _hash(graph: Object, component: Component, platform: Platform) -> str | None:
    return worker_hash(graph) if component.is_worker and platform.marks_grove_workers else None


def _clique(graph: Object, component: Component) -> str:
    return f"{graph['metadata']['name']}-0-{component.name.lower()}"


def _pod_names(graph: Object, component: Component, replica: int) -> list[str]:
    name = f"{_clique(graph, component)}-{replica}"
    if component.nodes == 1:
        return [name]
    clique = f"{name}-{component.name.lower()}"
    return [f"{clique}-ldr-0", *(f"{clique}-wkr-{node}" for node in range(component.nodes - 1))]


def matches(live: Object, wanted: Object) -> bool:
    """Whether a live pod still is the wanted one: alive, and made of the same, the graph object included."""
    mine, its = live["metadata"], wanted["metadata"]
    return (
        live.get("status", {}).get("phase") not in ("Failed", "Succeeded")
        and mine["annotations"].get(pods.DIGEST) == its["annotations"][pods.DIGEST]
    )


def status(graph: Object, platform: Platform, live: Iterable[Object], now: str, failure: str = "") -> Object:
    """The graph's status from its live pods; now: RFC 3339, for a condition that changes; failure: what went wrong.

    The message of a graph that is not ready names each component that is not, how many replicas it lacks and, in
    the scheduler's words, why a pod has no node.
    """
    wanted = {pod["metadata"]["name"]: pod for pod in wanted_pods(graph, platform)}
    current = {
        name: pod
        for pod in live
        if (name := pod["metadata"]["name"]) in wanted and matches(pod, wanted[name])
    }
    found = components(graph)
    counted = {component.name: _replica_status(graph, component, current) for component in found}
    lacking = [
        text for component in found if (text := _lacking(graph, component, current, counted[component.name]))
    ]
    if failure:
        state, reason, message = "failed", "failed_to_reconcile_the_resources", failure
    elif lacking:
        state, reason = "pending", "some_resources_are_not_ready"
        message = f"Resources not ready: {graph['metadata']['name']}: {'; '.join(lacking)}"
    else:
        state, reason, message = "successful", "all_resources_are_ready", "All resources are ready"
    return {
        "state": state,
        "observedGeneration": graph["metadata"]["generation"],
        "conditions": [ready_condition(graph, state, (reason, message), now)],
        "services" if "services" in graph["spec"] else "components": counted,
    }


def _replica_status(graph: Object, component: Component, current: Mapping[str, Object]) -> Object:
    groups = [_pod_names(graph, component, replica) for replica in range(component.replicas)]

    def having(condition: str) -> int:
        return sum(all(_condition(current.get(name), condition)[0] for name in group) for group in groups)

    clique, ready = _clique(graph, component), having("Ready")
    return {
        "componentKind": "PodClique" if component.nodes == 1 else "PodCliqueScalingGroup",
        **({"componentName": clique} if "services" in graph["spec"] else {}),
        "componentNames": [clique],
        "replicas": component.replicas,
        "updatedReplicas": sum(all(name in current for name in group) for group in groups),
        "scheduledReplicas": having("PodScheduled"),
        "readyReplicas" if component.nodes == 1 else "availableReplicas": ready,
    }


def _lacking(graph: Object, component: Component, current: Mapping[str, Object], counted: Object) -> str:
    ready = counted.get("readyReplicas", counted.get("availableReplicas"))
    if ready == component.replicas:
        return ""
    names = [name for replica in range(component.replicas) for name in _pod_names(graph, component, replica)]
    reasons = [
        f"pod {name}: {why}" for name in names if (why := _condition(current.get(name), "PodScheduled")[1])
    ]
    return (
        f"{counted['componentKind'].lower()}/{_clique(graph, component)}: desired={component.replicas}, "
        f"ready={ready}{' (' + '; '.join(reasons) + ')' if reasons else ''}"
    )


def _condition(pod: Object | None, kind: str) -> tuple[bool, str]:
    """Whether a pod's condition holds, and its message."""
    conditions = pod.get("status", {}).get("conditions", ()) if pod else ()
    found: Object = next((one for one in conditions if one["type"] == kind), {})
    return found.get("status") == "True", found.get("message", "")
