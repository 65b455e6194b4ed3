"""Without Grove: a DynamoComponentDeployment, Deployment and Service a component, and their status. Pure."""

from collections.abc import Iterable, Mapping

from embedded.crds import COMPONENT_KIND
from embedded.operator import pods
from embedded.operator.components import Component, Object, components
from embedded.operator.conditions import condition, ready_condition
from embedded.operator.generations import DEFAULT_LIMIT, MAX_SURGE, MAX_UNAVAILABLE, Rollout, worker_hash
from embedded.operator.platform import Platform

NO_ORCHESTRATOR = "no multinode orchestrator available"
_IN_PROGRESS, _COMPLETED = "InProgress", "Completed"


def spans_nodes(graph: Object) -> bool:
    """Whether a worker is several pods, which nothing here can start: admitted, and never ready."""
    return any(component.nodes > 1 for component in components(graph))


def component_deployment(
    graph: Object, component: Component, platform: Platform, replicas: Mapping[str, int]
) -> Object:
    """What the graph's component is made into first: the component as it was written, under its generation's name.

    replicas: by component, where a rollout decides.
    """
    labels = _labels(graph, component, platform)
    name = f"{graph['metadata']['name']}-{component.name.lower()}"
    name += f"-{labels[pods.WORKER_HASH]}" if component.is_worker else ""
    spec = {
        **{key: value for key, value in component.raw.items() if key != "scalingAdapter"},
        "replicas": replicas.get(component.name, component.replicas),
        **{key: graph["spec"][key] for key in ("backendFramework",) if key in graph["spec"]},
        **({"serviceName": component.name} if "services" in graph["spec"] else {}),
    }
    own = {key: value for key, value in labels.items() if key != pods.SUBTYPE}
    return pods.child(graph, COMPONENT_KIND, name, own, apiVersion=graph["apiVersion"], spec=spec)


def workload(made: Object, graph: Object, component: Component, platform: Platform) -> list[Object]:
    """Deployment and Service of a component. made: its DynamoComponentDeployment as stored, which owns them."""
    name, labels = made["metadata"]["name"], _labels(graph, component, platform)
    said = pods.annotations(graph, component)
    rolling = {
        "maxSurge": _number(said.get(MAX_SURGE) or DEFAULT_LIMIT),
        "maxUnavailable": _number(said.get(MAX_UNAVAILABLE) or DEFAULT_LIMIT),
    }
    spec = {
        "replicas": made["spec"]["replicas"],
        "selector": {"matchLabels": {pods.SELECTOR: name}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
        "template": pods.template(graph, component, platform, name, labels.get(pods.WORKER_HASH)),
    }
    return [
        pods.child(made, "Deployment", name, labels, apiVersion="apps/v1", annotations=said, spec=spec),
        pods.child(
            made,
            "Service",
            name,
            labels | pods.DISCOVERY,
            spec=pods.service_spec(graph, component, platform),
        ),
    ]


def _labels(graph: Object, component: Component, platform: Platform) -> dict[str, str]:
    mark = {pods.WORKER_HASH: worker_hash(graph)} if component.is_worker else {}
    return pods.component_labels(graph, component, platform) | mark


def _number(said: str) -> int | str:
    return int(said) if said.isdigit() else said


def is_ready(deployment: Object) -> bool:
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


def component_status(
    made: Object, deployment: Object | None, platform: Platform, now: str, failure: str
) -> Object:
    """Of a DynamoComponentDeployment, from its Deployment; failure: why there is none."""
    ready = deployment is not None and is_ready(deployment)
    reason = "Error" if failure else f"Deployment{'' if ready else 'Not'}Ready"
    message = failure or f"Deployment is {'' if ready else 'not '}ready"
    key = "service" if "v1alpha1" in made["apiVersion"] else "component"
    counted = {} if deployment is None else {key: _replica_status(deployment, made["apiVersion"], platform)}
    return {
        "observedGeneration": made["metadata"]["generation"],
        "conditions": [condition(made, "Available", ready, (reason, message), now)],
        **counted,
    }


def _replica_status(deployment: Object, api_version: str, platform: Platform) -> Object:
    name, status, labels = (
        deployment["metadata"]["name"],
        deployment.get("status", {}),
        deployment["metadata"]["labels"],
    )
    namespace, mark = labels[pods.NAMESPACE], labels.get(pods.WORKER_HASH)
    return {
        "componentKind": "Deployment",
        **({"componentName": name} if "v1alpha1" in api_version else {}),
        "componentNames": [name],
        **(
            {"runtimeNamespace": f"{namespace}-{mark}" if mark else namespace}
            if platform.has_priority_and_least
            else {}
        ),
        **{
            key: status.get(key, 0)
            for key in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        },
    }


def status(
    graph: Object,
    platform: Platform,
    live: Iterable[Object],
    now: str,
    *,
    rollout: Rollout | None = None,
    failure: str = "",
) -> Object:
    """The graph's status from its live Deployments; rollout: None while no generation takes over from another.

    now: RFC 3339, for what changes. failure: what went wrong.
    """
    found = components(graph)
    made = [component_deployment(graph, component, platform, {})["metadata"]["name"] for component in found]
    by_name = {one["metadata"]["name"]: one for one in live}
    waiting = [name for name in sorted(made) if name not in by_name or not is_ready(by_name[name])]
    if failure:
        reason = (
            "no_multinode_orchestrator" if failure == NO_ORCHESTRATOR else "failed_to_reconcile_the_resources"
        )
        state, message = "failed", failure
    elif rollout:
        state, reason, message = "pending", "rolling_update_in_progress", "Rolling update in progress"
    elif waiting:
        state, reason = "pending", "some_resources_are_not_ready"
        why = "Component deployment not ready - Available condition not true"
        message = f"Resources not ready: {'; '.join(f'{name}: {why}' for name in waiting)}"
    else:
        state, reason, message = "successful", "all_resources_are_ready", "All resources are ready"
    counted = {component.name: _counted(graph, component, by_name.values(), platform) for component in found}
    return {
        "state": state,
        **({} if failure else {"observedGeneration": graph["metadata"]["generation"]}),
        "conditions": [ready_condition(graph, state, (reason, message), now)],
        "services" if "services" in graph["spec"] else "components": {
            name: value for name, value in counted.items() if value
        },
        **_rolling(graph, found, rollout, now),
    }


def _counted(graph: Object, component: Component, live: Iterable[Object], platform: Platform) -> Object:
    """All generations together; what is up to date is the newest one's. Empty before there is any."""
    mine = [
        (one["metadata"]["labels"].get(pods.WORKER_HASH) == worker_hash(graph), one)
        for one in live
        if one["metadata"]["labels"][pods.COMPONENT] == component.name
    ]
    parts = [
        (current or not component.is_worker, _replica_status(one, graph["apiVersion"], platform))
        for current, one in sorted(mine, key=lambda entry: str(entry[1]["metadata"]["creationTimestamp"]))
    ]
    if not parts:
        return {}
    total = {
        **parts[0][1],
        "componentNames": sorted(name for _, part in parts for name in part["componentNames"]),
    }
    for key in ("replicas", "readyReplicas", "availableReplicas"):
        total[key] = sum(part[key] for _, part in parts)
    return total | {"updatedReplicas": sum(part["updatedReplicas"] for current, part in parts if current)}


def _rolling(graph: Object, found: list[Component], rollout: Rollout | None, now: str) -> Object:
    """`rollingUpdate`: of the update that goes on, or of the last one."""
    before: Object = graph.get("status", {}).get("rollingUpdate", {})
    updated = "updatedServices" if "services" in graph["spec"] else "updatedComponents"
    if rollout:
        began = before["startTime"] if before.get("phase") == _IN_PROGRESS else now
        return {"rollingUpdate": {"phase": _IN_PROGRESS, "startTime": began, updated: list(rollout.updated)}}
    if before.get("phase") == _IN_PROGRESS:
        workers = sorted(component.name for component in found if component.is_worker)
        return {"rollingUpdate": {**before, "phase": _COMPLETED, "endTime": now, updated: workers}}
    return {"rollingUpdate": before} if before else {}
