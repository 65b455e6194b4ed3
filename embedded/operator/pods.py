"""What the operator makes of a component whatever then runs it: pod templates, Services, accounts. Pure.

Names, labels, environment and ports are those that Dynamo's operator gives with Kubernetes discovery.
"""

from collections.abc import Mapping
from typing import Any

from embedded.operator.components import Component, Object, digest_of, merge
from embedded.operator.platform import SIMULATED, Platform
from manifests.names import VERSION_LABEL

GRAPH = "nvidia.com/dynamo-graph-deployment-name"
COMPONENT = "nvidia.com/dynamo-component"
NAMESPACE = "nvidia.com/dynamo-namespace"
TYPE, SUBTYPE = "nvidia.com/dynamo-component-type", "nvidia.com/dynamo-sub-component-type"
SELECTOR = "nvidia.com/selector"
WORKER_HASH = "nvidia.com/dynamo-worker-hash"
DISCOVERY = {
    "nvidia.com/dynamo-discovery-backend": "kubernetes",
    "nvidia.com/dynamo-discovery-enabled": "true",
}
DIGEST = "dynamo-gpt-oss/digest"
"""Annotation of the stand-in's own: of what an object was made, by which one that is out of date is known."""

ADAPTER_KIND = "DynamoGraphDeploymentScalingAdapter"
PLANNER_ACCOUNT = "planner-serviceaccount"
_ROLES = ("prefill", "decode")
_GROUP_OF_USERS = 1000
_PORTS = {
    "frontend": {"http": 8000},
    "planner": {"metrics": 9085, "system": 9090},
    "worker": {"system": 9090, "nixl": 19090},
}
_ENVIRONMENT = {
    "frontend": {"DYNAMO_PORT": "8000", "DYN_HTTP_PORT": "8000"},
    "planner": {"PLANNER_PROMETHEUS_PORT": "9085", "DYN_SYSTEM_PORT": "9090"},
    "worker": {
        "DYN_SYSTEM_ENABLED": "true",
        "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
        "DYN_SYSTEM_PORT": "9090",
        "DYN_HEALTH_CHECK_ENABLED": "false",
        "NIXL_TELEMETRY_ENABLE": "n",
        "NIXL_TELEMETRY_EXPORTER": "prometheus",
        "NIXL_TELEMETRY_PROMETHEUS_PORT": "19090",
        "DYN_FORWARDPASS_METRIC_PORT": "20380",
    },
}
_COMMAND = {"command": ["/bin/sh", "-c"]}
_FRONTEND_COMMAND = {"command": ["python3"], "args": ["-m", "dynamo.frontend"]}
_REFERENCES = {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "POD_UID": "metadata.uid"}


def child(
    graph: Object, kind: str, name: str, labels: Mapping[str, str] | None = None, **parts: Any
) -> Object:
    """An object that goes with its graph; parts: `annotations`, `spec` and more. It has a digest of all of it."""
    metadata = graph["metadata"]
    reference = {
        **{key: graph[key] for key in ("apiVersion", "kind")},
        **{key: metadata[key] for key in ("name", "uid")},
        "controller": True,
        "blockOwnerDeletion": True,
    }
    annotations = {**parts.pop("annotations", {})}
    digest = digest_of([labels, annotations, parts, reference])
    return {
        "apiVersion": parts.pop("apiVersion", "v1"),
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": metadata["namespace"],
            "labels": {**(labels or {}), GRAPH: metadata["name"], **SIMULATED},
            "annotations": {**annotations, DIGEST: digest},
            "ownerReferences": [reference],
        },
        **parts,
    }


def _dynamo_namespace(graph: Object) -> str:
    """The Dynamo namespace in which the graph's pods register."""
    return f"{graph['metadata']['namespace']}-{graph['metadata']['name']}"


def _pod_type(component: Component, platform: Platform) -> str:
    """The component type of its pods, which a v1alpha1 worker's sub-type names more precisely."""
    precise = platform.names_roles and component.type == "worker" and component.subtype in _ROLES
    return component.subtype if precise else component.type


def component_labels(component: Component, platform: Platform) -> dict[str, str]:
    """The user's labels and those that say which graph's component it is; without the type."""
    kind = _pod_type(component, platform)
    subtype = kind if platform.names_roles and kind in _ROLES else component.subtype
    return {
        **component.pod["metadata"]["labels"],
        GRAPH: component.graph["metadata"]["name"],
        COMPONENT: component.name,
        NAMESPACE: _dynamo_namespace(component.graph),
        **({SUBTYPE: subtype} if subtype else {}),
    }


def template(component: Component, platform: Platform, selector: str, worker_hash: str | None) -> Object:
    """The component's pod template. selector: the name of what runs it. worker_hash: its generation, if it has one."""
    graph, spec = component.graph, component.pod["spec"]
    graph_labels = graph["metadata"].get("labels", {})
    labels = {
        **component_labels(component, platform),
        TYPE: _pod_type(component, platform),
        SELECTOR: selector,
        "nvidia.com/metrics-enabled": "true",
        **({WORKER_HASH: worker_hash} if worker_hash else {}),
        **DISCOVERY,
        **SIMULATED,
        # The operator does not pass on the graph's release: the data plane asks pods for it.
        **{key: value for key, value in graph_labels.items() if key == VERSION_LABEL},
    }
    containers = [
        _main(one, component, platform, worker_hash) if one["name"] == "main" else one
        for one in spec["containers"]
    ]
    return {
        "metadata": {"labels": labels, "annotations": component.annotations},
        "spec": {
            "serviceAccountName": PLANNER_ACCOUNT if component.type == "planner" else _account_name(graph),
            "terminationGracePeriodSeconds": 60,
            "securityContext": {"fsGroup": _GROUP_OF_USERS},
            **spec,
            "containers": containers,
        },
    }


def _main(container: Object, component: Component, platform: Platform, worker_hash: str | None) -> Object:
    """The container `main` on what the operator gives it; its probes are left out, nobody would ask."""
    kind, graph = _pod_type(component, platform), component.graph
    namespace, defaults = _dynamo_namespace(graph), "worker" if component.is_worker else kind
    values = {
        "DYN_NAMESPACE": namespace,
        "DYN_COMPONENT": kind,
        "DYN_PARENT_DGD_K8S_NAME": graph["metadata"]["name"],
        "DYN_PARENT_DGD_K8S_NAMESPACE": graph["metadata"]["namespace"],
        "DYN_DISCOVERY_BACKEND": "kubernetes",
        **_ENVIRONMENT.get(defaults, {}),
        **({"DYN_NAMESPACE_PREFIX": namespace} if kind == "frontend" else {}),
        **({"DYN_NAMESPACE_WORKER_SUFFIX": worker_hash} if worker_hash else {}),
    }
    env: list[Object] = [{"name": key, "value": value} for key, value in values.items()]
    env += [
        {"name": key, "valueFrom": {"fieldRef": {"fieldPath": path}}} for key, path in _REFERENCES.items()
    ]
    ports = _PORTS.get(defaults, {})
    return {
        **(_FRONTEND_COMMAND if kind == "frontend" else _COMMAND),
        "ports": [{"name": key, "containerPort": port, "protocol": "TCP"} for key, port in ports.items()],
        **container,
        "env": merge(env, container.get("env", ())),
    }


def service(
    component: Component, platform: Platform, name: str, labels: Mapping[str, str] | None = None
) -> Object:
    """The component's Service: port 8000 `http` for frontends, 9090 `system` for others."""
    port, number = ("http", 8000) if component.type == "frontend" else ("system", 9090)
    selector = {
        TYPE: _pod_type(component, platform),
        NAMESPACE: _dynamo_namespace(component.graph),
        COMPONENT: component.name,
    }
    ports = [{"name": port, "port": number, "targetPort": port, "protocol": "TCP"}]
    spec = {"selector": selector, "ports": ports}
    return child(component.graph, "Service", name, {**(labels or {}), **DISCOVERY}, spec=spec)


def _account_name(graph: Object) -> str:
    """The ServiceAccount of a graph's pods, which may look for each other."""
    return f"{graph['metadata']['name']}-k8s-service-discovery"


def accounts(graph: Object) -> list[Object]:
    """The graph's own, and the one that the operator makes in every namespace with a graph and leaves there."""
    metadata = {"name": PLANNER_ACCOUNT, "namespace": graph["metadata"]["namespace"], "labels": SIMULATED}
    planner = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    return [planner, child(graph, "ServiceAccount", _account_name(graph))]


def adapter(component: Component) -> Object:
    """The component's scaling adapter as it is made: with the graph's own replicas."""
    reference = {"name": component.graph["metadata"]["name"], "serviceName": component.name}
    spec = {"dgdRef": reference, "replicas": component.replicas}
    version = "nvidia.com/v1alpha1"
    return child(component.graph, ADAPTER_KIND, component.full_name, apiVersion=version, spec=spec)


def adapter_status(component: Component) -> Object:
    """What its scaling adapter reports: the graph's replicas and how its pods, of all generations, are found."""
    selector = f"{COMPONENT}={component.name},{GRAPH}={component.graph['metadata']['name']}"
    return {"replicas": component.replicas, "selector": selector}
