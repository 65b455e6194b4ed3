"""What an operator made of a graph, without what is another's or differs from run to run.

Left out: what the API server, the scheduler and the controllers fill in, times, identities, addresses. Replaced: the
hash of a generation of workers by `HASH`, random parts of names by `RANDOM`, the namespace by `NAMESPACE`.
"""

import re
from collections.abc import Iterable
from typing import Any

from tests.operator.release import Object

_HASH_LABELS = (
    "nvidia.com/dynamo-worker-hash",
    "nvidia.com/current-worker-hash-v2",
    "nvidia.com/current-worker-hash",
)
_CONTROLLERS = ("pod-template-hash",)
"""Labels that Kubernetes' own controllers add."""
_POD_DEFAULTS: Object = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
}
_CONTAINER_DEFAULTS: Object = {
    "imagePullPolicy": "IfNotPresent",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE_DEFAULTS: Object = {
    "successThreshold": 1,
    "failureThreshold": 3,
    "periodSeconds": 10,
    "timeoutSeconds": 1,
}
_NODE_TOLERATIONS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def pod(one: Object) -> Object:
    """A pod as its owner wanted it. Its name is kept apart: it has random parts."""
    metadata, spec = one["metadata"], one["spec"]
    kept = {key: value for key, value in spec.items() if value != _POD_DEFAULTS.get(key)}
    for key in ("nodeName", "deprecatedServiceAccount"):
        kept.pop(key, None)
    kept.pop("serviceAccount", None)
    tokens = {each["name"] for each in kept.get("volumes", ()) if each["name"].startswith("kube-api-access-")}
    for key in ("containers", "initContainers"):
        if key in kept:
            kept[key] = {each["name"]: _container(each, tokens) for each in kept[key]}
    kept["volumes"] = {
        each["name"]: _without_name(each) for each in kept.get("volumes", ()) if each["name"] not in tokens
    }
    kept["tolerations"] = [
        each for each in kept.get("tolerations", ()) if each.get("key") not in _NODE_TOLERATIONS
    ]
    labels = {key: value for key, value in metadata.get("labels", {}).items() if key not in _CONTROLLERS}
    return _drop_empty({"labels": labels, "annotations": metadata.get("annotations", {}), **kept})


def service(one: Object) -> Object:
    spec = one["spec"]
    ports = [
        {key: port[key] for key in ("name", "port", "targetPort") if key in port}
        for port in spec.get("ports", ())
    ]
    return {
        "labels": one["metadata"].get("labels", {}),
        "selector": spec.get("selector", {}),
        "ports": ports,
        **({"headless": True} if spec.get("clusterIP") == "None" else {}),
    }


def status(one: Object) -> Object:
    """A graph's status without times, names and generations."""
    kept = dict(one.get("status", {}))
    kept.pop("observedGeneration", None)
    kept["conditions"] = {
        condition["type"]: {key: condition[key] for key in ("status", "reason", "message")}
        for condition in kept.get("conditions", ())
    }
    kept.pop("rollingUpdate", None)
    return _drop_empty(kept)


def replaced(value: Any, names: Iterable[tuple[str, str]]) -> Any:
    """The value with texts replaced in keys and values, longest first."""
    ordered = sorted(names, key=lambda pair: -len(pair[0]))

    def text(word: str) -> str:
        for old, new in ordered:
            word = word.replace(old, new)
        return word

    def walk(one: Any) -> Any:
        if isinstance(one, dict):
            return {text(key): walk(inner) for key, inner in one.items()}
        if isinstance(one, list):
            return [walk(inner) for inner in one]
        return text(one) if isinstance(one, str) else one

    return walk(value)


def hashes(objects: Iterable[Object]) -> set[str]:
    """The hashes of workers' generations that objects bear in their labels and annotations."""
    found = set()
    for one in objects:
        metadata = one["metadata"]
        for key, value in {**metadata.get("labels", {}), **metadata.get("annotations", {})}.items():
            if key in _HASH_LABELS and re.fullmatch(r"[0-9a-f]{8,}", value):
                found.add(value)
    return found


def _container(one: Object, tokens: set[str]) -> Object:
    kept = {
        key: value for key, value in one.items() if value != _CONTAINER_DEFAULTS.get(key) and key != "name"
    }
    kept["env"] = {each["name"]: _variable(each) for each in kept.get("env", ())}
    kept["ports"] = {
        each.get("name", str(each["containerPort"])): each["containerPort"] for each in kept.get("ports", ())
    }
    kept["volumeMounts"] = {
        each["mountPath"]: each["name"] + (" (read-only)" if each.get("readOnly") else "")
        for each in kept.get("volumeMounts", ())
        if each["name"] not in tokens
    }
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in kept:
            kept[probe] = _probe(kept[probe])
    if "resources" in kept:
        kept["resources"] = _amounts(kept["resources"])
    return _drop_empty(kept)


def _variable(one: Object) -> str:
    """The value, or what it is taken from."""
    if "valueFrom" not in one:
        return str(one.get("value", ""))
    (kind, source), *_ = one["valueFrom"].items()
    return f"{kind}: {source.get('fieldPath') or source.get('resource') or source.get('name')}"


def _probe(one: Object) -> Object:
    kept = {key: value for key, value in one.items() if value != _PROBE_DEFAULTS.get(key)}
    if "httpGet" in kept:
        kept["httpGet"] = {
            key: value for key, value in kept["httpGet"].items() if (key, value) != ("scheme", "HTTP")
        }
    return kept


def _amounts(one: Any) -> Any:
    return {key: _amounts(value) for key, value in one.items()} if isinstance(one, dict) else _text(one)


def _text(one: Any) -> Any:
    return str(one) if isinstance(one, int) and not isinstance(one, bool) else one


def _without_name(one: Object) -> Object:
    kept = {key: value for key, value in one.items() if key != "name"}
    for inner in kept.values():
        if isinstance(inner, dict) and inner.get("defaultMode") == 420:
            del inner["defaultMode"]
    return kept


def _drop_empty(one: Object) -> Object:
    return {key: value for key, value in one.items() if value not in ({}, [], None)}
