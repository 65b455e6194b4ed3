"""The components of a graph in one form for both API versions. Pure."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
"""A Kubernetes object, or a part of one, as the API server's JSON."""

WORKERS = ("worker", "prefill", "decode")
_SHARED_MEMORY = "8Gi"


@dataclass(frozen=True, kw_only=True)
class Component:
    """One service (v1alpha1) or component (v1beta1) of a graph, in one form for both.

    path: where the graph has it, a JSON pointer. nodes: pods of one replica. raw: as the user wrote it. pod: `metadata`
    with labels and annotations, and `spec`, before the operator's own additions.
    """

    graph: Object
    path: str
    name: str
    type: str
    subtype: str
    replicas: int
    nodes: int
    has_adapter: bool
    """Whether the graph asks for a scaling adapter: by a word in v1alpha1, by an empty object in v1beta1."""
    raw: Object
    pod: Object

    @property
    def is_worker(self) -> bool:
        """Whether it is renewed by generations, each under a hash."""
        return self.type in WORKERS

    @property
    def annotations(self) -> dict[str, str]:
        """Of its pods."""
        return dict(self.pod["metadata"]["annotations"])

    @property
    def full_name(self) -> str:
        """`<graph>-<component>`, in lower case."""
        return f"{self.graph['metadata']['name']}-{self.name.lower()}"


def components(graph: Object) -> list[Component]:
    """The graph's components in the spec's order."""
    services = graph["spec"].get("services", {}).items()
    found = [(f"/spec/services/{name}", name, raw, _alpha_pod(raw)) for name, raw in services]
    for index, raw in enumerate(graph["spec"].get("components", ())):
        found.append((f"/spec/components/{index}", raw["name"], raw, _beta_pod(raw)))
    return [
        Component(
            graph=graph,
            path=path,
            name=name,
            type=raw.get("componentType") or raw.get("type") or "default",
            subtype=raw.get("subComponentType", ""),
            replicas=raw.get("replicas", 1),
            nodes=raw["multinode"].get("nodeCount", 2) if "multinode" in raw else 1,
            has_adapter=bool(raw.get("scalingAdapter", {"enabled": False}).get("enabled", True)),
            raw=raw,
            pod=pod,
        )
        for path, name, raw, pod in found
    ]


def _alpha_pod(raw: Object) -> Object:
    spec = dict(raw.get("extraPodSpec", {}))
    main = {**spec.pop("mainContainer", {}), "name": "main"}
    if "resources" in raw:
        main["resources"] = main.get("resources", {}) | _alpha_resources(raw["resources"])
    spec["containers"] = [main, *spec.get("containers", ())]
    memory = raw.get("sharedMemory", {}).get("size", _SHARED_MEMORY)
    return _pod(raw.get("extraPodMetadata", {}), spec, memory)


def _alpha_resources(raw: Object) -> Object:
    def amounts(part: Object) -> Object:
        gpus = {"nvidia.com/gpu": part["gpu"]} if "gpu" in part else {}
        plain = {key: value for key, value in part.items() if key in ("cpu", "memory")}
        return {**plain, **gpus, **part.get("custom", {})}

    return {key: value if key == "claims" else amounts(value) for key, value in raw.items()}


def _beta_pod(raw: Object) -> Object:
    template = raw.get("podTemplate", {})
    memory = raw.get("sharedMemorySize", _SHARED_MEMORY)
    return _pod(template.get("metadata", {}), template.get("spec", {}), memory)


def _pod(metadata: Object, spec: Object, shared_memory: str) -> Object:
    """With shared memory mounted into `main`."""
    volume = {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": shared_memory}}
    mount = {"name": "shared-memory", "mountPath": "/dev/shm"}
    containers = [
        {**one, "volumeMounts": merge([mount], one.get("volumeMounts", ()), "mountPath")}
        if one["name"] == "main"
        else one
        for one in spec.get("containers", ())
    ]
    spec = {**spec, "volumes": merge([volume], spec.get("volumes", ())), "containers": containers}
    return {"metadata": {key: metadata.get(key, {}) for key in ("labels", "annotations")}, "spec": spec}


def merge(low: Iterable[Object], high: Iterable[Object], key: str = "name") -> list[Object]:
    """Both lists, of what has the same key the higher one's."""
    return list({item[key]: item for item in (*low, *high)}.values())


def digest_of(content: object) -> str:
    """Ten hexadecimal digits."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]
