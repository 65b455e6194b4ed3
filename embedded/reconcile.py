"""What the operator stand-in makes of a DynamoGraphDeployment: pods, Services and status. Pure.

Scaffolding of the embedded cluster. Names, labels, environment and ports are those that Dynamo 1.6's
operator gives a graph in its Grove pathway with Kubernetes discovery.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from embedded.crds import ADAPTER_KIND, SIMULATED

Object = dict[str, Any]
"""A Kubernetes object, or a part of one, as the API server's JSON."""

GRAPH = "nvidia.com/dynamo-graph-deployment-name"
TEMPLATE_HASH = "dynamo-gpt-oss/template-hash"
"""Annotation by which a pod that no longer matches its graph is known."""

_WORKERS = ("worker", "prefill", "decode")
_COMPILATION_CACHE = "/root/.cache/vllm"


@dataclass(frozen=True, kw_only=True)
class Component:
    """One service (v1alpha1) or component (v1beta1) of a graph, in one form for both.

    path: where it stands in the spec, for messages. nodes: pods of one replica. raw: as the user wrote it.
    pod: `metadata` with labels and annotations, and `spec`, before the operator's own additions.
    """

    name: str
    path: str
    type: str
    subtype: str
    replicas: int
    nodes: int
    raw: Object
    pod: Object

    @property
    def scaled(self) -> bool:
        """Whether the graph asks for a scaling adapter: by a word in v1alpha1, by an empty object in v1beta1."""
        adapter = self.raw.get("scalingAdapter")
        return adapter is not None and bool(adapter.get("enabled", "components" in self.path))

    @property
    def main(self) -> Object:
        """The container `main`; empty where the graph has none."""
        return next((one for one in self.pod["spec"].get("containers", ()) if one["name"] == "main"), {})


def components(graph: Object) -> list[Component]:
    """The graph's components in the spec's order."""
    spec = graph["spec"]
    named = [
        (name, f"spec.services[{name}]", raw, _alpha_pod(raw))
        for name, raw in spec.get("services", {}).items()
    ]
    named += [
        (raw["name"], f"spec.components[{raw['name']}]", raw, _beta_pod(raw))
        for raw in spec.get("components", ())
    ]
    return [
        Component(
            name=name,
            path=path,
            type=raw.get("componentType") or raw.get("type") or "default",
            subtype=raw.get("subComponentType", ""),
            replicas=raw.get("replicas", 1),
            nodes=raw["multinode"].get("nodeCount", 2) if "multinode" in raw else 1,
            raw=raw,
            pod=pod,
        )
        for name, path, raw, pod in named
    ]


def _alpha_pod(raw: Object) -> Object:
    spec, metadata = dict(raw.get("extraPodSpec", {})), raw.get("extraPodMetadata", {})
    main = {**spec.pop("mainContainer", {}), "name": "main"}
    main["env"] = _merged(raw.get("envs", ()), main.get("env", ()))
    if "envFromSecret" in raw:
        main["envFrom"] = [{"secretRef": {"name": raw["envFromSecret"]}}, *main.get("envFrom", ())]
    if "resources" in raw:
        main["resources"] = main.get("resources", {}) | _alpha_resources(raw["resources"])
    main |= {probe: raw[probe] for probe in ("livenessProbe", "readinessProbe") if probe in raw}
    spec["containers"] = [main, *spec.get("containers", ())]
    memory = raw.get("sharedMemory", {})
    mounts = {
        mount["name"]: mount.get("mountPoint", _COMPILATION_CACHE) for mount in raw.get("volumeMounts", ())
    }
    return {
        "metadata": {key: {**raw.get(key, {}), **metadata.get(key, {})} for key in ("labels", "annotations")},
        "spec": _with_volumes(spec, mounts, "0" if memory.get("disabled") else memory.get("size", "8Gi")),
    }


def _alpha_resources(raw: Object) -> Object:
    def amounts(given: Object) -> Object:
        plain = {key: given[key] for key in ("cpu", "memory") if key in given}
        gpus = {given.get("gpuType", "nvidia.com/gpu"): given["gpu"]} if "gpu" in given else {}
        return {**plain, **gpus, **given.get("custom", {})}

    return raw | {key: amounts(raw[key]) for key in ("limits", "requests") if key in raw}


def _beta_pod(raw: Object) -> Object:
    template, cache = raw.get("podTemplate", {}), raw.get("compilationCache", {})
    metadata = template.get("metadata", {})
    mounts = {cache["pvcName"]: cache.get("mountPath", _COMPILATION_CACHE)} if cache else {}
    return {
        "metadata": {key: metadata.get(key, {}) for key in ("labels", "annotations")},
        "spec": _with_volumes(template.get("spec", {}), mounts, raw.get("sharedMemorySize", "8Gi")),
    }


def _with_volumes(spec: Object, claims: Mapping[str, str], shared_memory: str | int) -> Object:
    """The pod's spec with claims (name to mount path) and shared memory (none of size 0) mounted into `main`."""
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    mounts = [{"name": name, "mountPath": path} for name, path in claims.items()]
    if str(shared_memory) != "0":
        volumes.append(
            {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": shared_memory}}
        )
        mounts.append({"name": "shared-memory", "mountPath": "/dev/shm"})
    containers = [
        {**one, "volumeMounts": _merged(mounts, one.get("volumeMounts", ()), "mountPath")}
        if one["name"] == "main"
        else one
        for one in spec.get("containers", ())
    ]
    return {**spec, "volumes": _merged(volumes, spec.get("volumes", ())), "containers": containers}


def _merged(low: Iterable[Object], high: Iterable[Object], key: str = "name") -> list[Object]:
    return list({item[key]: item for item in (*low, *high)}.values())


def _dynamo_namespace(graph: Object, component: Component) -> str:
    metadata = graph["metadata"]
    return (
        "dynamo"
        if component.raw.get("globalDynamoNamespace")
        else f"{metadata['namespace']}-{metadata['name']}"
    )


def _selector(graph: Object, component: Component) -> dict[str, str]:
    labels = {
        GRAPH: graph["metadata"]["name"],
        "nvidia.com/dynamo-component": component.name,
        "nvidia.com/dynamo-component-type": component.type,
        "nvidia.com/dynamo-namespace": _dynamo_namespace(graph, component),
    }
    return labels | ({"nvidia.com/dynamo-sub-component-type": component.subtype} if component.subtype else {})


def _child(
    graph: Object, kind: str, name: str, labels: Mapping[str, str] | None = None, **parts: Object
) -> Object:
    """An object that goes with the graph; parts: `annotations`, and `spec` as it is."""
    owner = {
        "apiVersion": graph["apiVersion"],
        "kind": graph["kind"],
        "name": graph["metadata"]["name"],
        "uid": graph["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        "name": name,
        "namespace": graph["metadata"]["namespace"],
        "labels": {**(labels or {}), GRAPH: owner["name"], **SIMULATED},
        "annotations": parts.pop("annotations", {}),
        "ownerReferences": [owner],
    }
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **parts}


def _main_defaults(graph: Object, component: Component) -> Object:
    """Environment and ports that the operator gives the container `main`; probes are left out, nobody would ask."""
    namespace = _dynamo_namespace(graph, component)
    values = {
        "DYN_NAMESPACE": namespace,
        "DYN_COMPONENT": component.type,
        "DYN_PARENT_DGD_K8S_NAME": graph["metadata"]["name"],
        "DYN_PARENT_DGD_K8S_NAMESPACE": graph["metadata"]["namespace"],
        "DYN_DISCOVERY_BACKEND": "kubernetes",
    }
    ports: dict[str, int] = {}
    if component.type == "frontend":
        values |= {"DYNAMO_PORT": "8000", "DYN_HTTP_PORT": "8000", "DYN_NAMESPACE_PREFIX": namespace}
        ports = {"http": 8000}
    elif component.type in _WORKERS:
        values |= {"DYN_SYSTEM_PORT": "9090", "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]'}
        ports = {"system": 9090, "nixl": 19090}
    references = {
        "POD_NAME": "metadata.name",
        "POD_NAMESPACE": "metadata.namespace",
        "POD_UID": "metadata.uid",
    }
    return {
        "env": [{"name": key, "value": value} for key, value in values.items()]
        + [{"name": key, "valueFrom": {"fieldRef": {"fieldPath": path}}} for key, path in references.items()],
        "ports": [{"name": key, "containerPort": port, "protocol": "TCP"} for key, port in ports.items()],
    }


def pods(graph: Object) -> list[Object]:
    """Every pod of the graph, one a replica and node, each with a stable name and a hash of its template."""
    return [
        _child(graph, "Pod", name, labels, annotations=annotations, spec=spec)
        for component in components(graph)
        for labels, annotations, spec in [_template(graph, component)]
        for replica in range(component.replicas)
        for name in _pod_names(graph, component, replica)
    ]


def _template(graph: Object, component: Component) -> tuple[dict[str, str], dict[str, str], Object]:
    """Labels, annotations (with the hash of all three) and spec of the component's pods."""
    spec, given = graph["spec"], component.pod
    defaults = _main_defaults(graph, component)
    env = _merged(
        _merged(defaults["env"], spec.get("envs", spec.get("env", ()))), component.main.get("env", ())
    )
    main = {**defaults, **component.main, "env": env}
    restart = {"nvidia.com/restartAt": spec["restart"]["id"]} if "restart" in spec else {}
    annotations = {**spec.get("annotations", {}), **given["metadata"]["annotations"], **restart}
    labels = {**spec.get("labels", {}), **given["metadata"]["labels"], **_selector(graph, component)}
    pod_spec = {
        "serviceAccountName": _service_account_name(graph),
        "terminationGracePeriodSeconds": 60,
        **({"priorityClassName": spec["priorityClassName"]} if "priorityClassName" in spec else {}),
        **given["spec"],
        "containers": [main if one["name"] == "main" else one for one in given["spec"]["containers"]],
    }
    digest = hashlib.sha256(json.dumps([labels, annotations, pod_spec], sort_keys=True).encode()).hexdigest()
    return labels, {**annotations, TEMPLATE_HASH: digest[:10]}, pod_spec


def _clique(graph: Object, component: Component) -> str:
    return f"{graph['metadata']['name']}-0-{component.name.lower()}"


def _pod_names(graph: Object, component: Component, replica: int) -> list[str]:
    name = f"{_clique(graph, component)}-{replica}"
    if component.nodes == 1:
        return [name]
    clique = f"{name}-{component.name.lower()}"
    return [f"{clique}-ldr-0", *(f"{clique}-wkr-{node}" for node in range(component.nodes - 1))]


def _service_account_name(graph: Object) -> str:
    return f"{graph['metadata']['name']}-k8s-service-discovery"


def companions(graph: Object) -> list[Object]:
    """What the graph has beside its pods: a ServiceAccount, a Service a component, the claims it wants created.

    Services are called `<graph>-<component>` and have port 8000 `http` for frontends, 9090 `system` for others.
    """
    claims = [
        _child(
            graph,
            "PersistentVolumeClaim",
            claim["name"],
            spec={
                "accessModes": [claim["volumeAccessMode"]],
                "storageClassName": claim["storageClass"],
                "resources": {"requests": {"storage": claim["size"]}},
            },
        )
        for claim in graph["spec"].get("pvcs", ())
        if claim.get("create")
    ]
    account = _child(graph, "ServiceAccount", _service_account_name(graph))
    return [account, *(_service(graph, component) for component in components(graph)), *claims]


def _service(graph: Object, component: Component) -> Object:
    selector = _selector(graph, component)
    discovery = {
        "nvidia.com/dynamo-discovery-backend": "kubernetes",
        "nvidia.com/dynamo-discovery-enabled": "true",
    }
    name, port = ("http", 8000) if component.type == "frontend" else ("system", 9090)
    ports = [{"name": name, "port": port, "targetPort": name, "protocol": "TCP"}]
    service = f"{graph['metadata']['name']}-{component.name.lower()}"
    return _child(
        graph, "Service", service, selector | discovery, spec={"selector": selector, "ports": ports}
    )


def adapters(graph: Object) -> dict[str, Object]:
    """The scaling adapters that the graph asks for, by component, as they are made: with the graph's own replicas."""
    name = graph["metadata"]["name"]
    return {
        component.name: _child(
            graph,
            ADAPTER_KIND,
            f"{name}-{component.name.lower()}",
            spec={
                "dgdRef": {"name": name, "serviceName": component.name},
                "replicas": component.replicas,
            },
        )
        | {"apiVersion": "nvidia.com/v1alpha1"}
        for component in components(graph)
        if component.scaled
    }


def scaled(graph: Object, replicas: Mapping[str, int]) -> Object:
    """The part of the graph that says how many replicas components have."""
    metadata = {key: graph["metadata"][key] for key in ("name", "namespace")}
    if "services" in graph["spec"]:
        spec: Object = {"services": {name: {"replicas": count} for name, count in replicas.items()}}
    else:
        spec = {"components": [{"name": name, "replicas": count} for name, count in replicas.items()]}
    return {"apiVersion": graph["apiVersion"], "kind": graph["kind"], "metadata": metadata, "spec": spec}


def adapter_status(graph: Object, component: str) -> Object:
    """What a scaling adapter reports: the graph's replicas and how its pods are found."""
    found = next(one for one in components(graph) if one.name == component)
    selector = ",".join(f"{key}={value}" for key, value in sorted(_selector(graph, found).items()))
    return {"replicas": found.replicas, "selector": selector}


def matches(live: Object, wanted: Object) -> bool:
    """Whether a live pod still is the wanted one: alive, of this very graph object and made of its template."""
    mine, its = live["metadata"], wanted["metadata"]
    return (
        live.get("status", {}).get("phase") not in ("Failed", "Succeeded")
        and mine["ownerReferences"][0]["uid"] == its["ownerReferences"][0]["uid"]
        and mine["annotations"][TEMPLATE_HASH] == its["annotations"][TEMPLATE_HASH]
    )


def status(graph: Object, live: Iterable[Object], now: str, failure: str = "") -> Object:
    """The graph's status from its live pods; now: RFC 3339, for a condition that changes; failure: what went wrong.

    The message of a graph that is not ready names each component that is not, how many replicas it lacks and, in
    the scheduler's words, why a pod has no node.
    """
    wanted = {pod["metadata"]["name"]: pod for pod in pods(graph)}
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
    ready = str(state == "successful")
    before = graph.get("status", {}).get("conditions") or [{}]
    condition = {
        "type": "Ready",
        "status": ready,
        "reason": reason,
        "message": message,
        "observedGeneration": graph["metadata"]["generation"],
        "lastTransitionTime": before[0]["lastTransitionTime"] if before[0].get("status") == ready else now,
    }
    return {
        "state": state,
        "observedGeneration": graph["metadata"]["generation"],
        "conditions": [condition],
        "services" if "services" in graph["spec"] else "components": counted,
    }


def _replica_status(graph: Object, component: Component, current: Mapping[str, Object]) -> Object:
    groups = [_pod_names(graph, component, replica) for replica in range(component.replicas)]

    def having(condition: str) -> int:
        return sum(all(_condition(current.get(name), condition)[0] for name in group) for group in groups)

    clique = _clique(graph, component)
    return {
        "componentKind": "PodClique" if component.nodes == 1 else "PodCliqueScalingGroup",
        **({"componentName": clique} if "services" in graph["spec"] else {}),
        "componentNames": [clique],
        "replicas": component.replicas,
        "updatedReplicas": sum(all(name in current for name in group) for group in groups),
        "scheduledReplicas": having("PodScheduled"),
        "readyReplicas": having("Ready"),
    }


def _lacking(graph: Object, component: Component, current: Mapping[str, Object], counted: Object) -> str:
    if counted["readyReplicas"] == component.replicas:
        return ""
    names = [name for replica in range(component.replicas) for name in _pod_names(graph, component, replica)]
    reasons = [
        f"pod {name}: {why}" for name in names if (why := _condition(current.get(name), "PodScheduled")[1])
    ]
    return (
        f"{counted['componentKind'].lower()}/{_clique(graph, component)}: desired={component.replicas}, "
        f"ready={counted['readyReplicas']}{' (' + '; '.join(reasons) + ')' if reasons else ''}"
    )


def _condition(pod: Object | None, kind: str) -> tuple[bool, str]:
    """Whether a pod's condition holds, and its message."""
    conditions = pod.get("status", {}).get("conditions", ()) if pod else ()
    found: Object = next((one for one in conditions if one["type"] == kind), {})
    return found.get("status") == "True", found.get("message", "")
