"""The components of a graph in one form for both API versions. Pure."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
"""A Kubernetes object, or a part of one, as the API server's JSON."""

WORKERS = ("worker", "prefill", "decode")


@dataclass(frozen=True, kw_only=True)
class Component:
    """One service (v1alpha1) or component (v1beta1) of a graph, in one form for both.

    nodes: pods of one replica. raw: as the user wrote it. pod: `metadata` with labels and annotations, and `spec`,
    before the operator's own additions.
    """

    name: str
    type: str
    subtype: str
    replicas: int
    nodes: int
    scaled: bool
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
        said: dict[str, str] = self.pod["metadata"]["annotations"]
        return said


def components(graph: Object) -> list[Component]:
    """The graph's components in the spec's order."""
    spec = graph["spec"]
    named = [(name, raw, _alpha_pod(raw)) for name, raw in spec.get("services", {}).items()]
    named += [(raw["name"], raw, _beta_pod(raw)) for raw in spec.get("components", ())]
    return [
        Component(
            name=name,
            type=raw.get("componentType") or raw.get("type") or "default",
            subtype=raw.get("subComponentType", ""),
            replicas=raw.get("replicas", 1),
            nodes=raw["multinode"].get("nodeCount", 2) if "multinode" in raw else 1,
            scaled=bool(raw.get("scalingAdapter", {"enabled": False}).get("enabled", True)),
            raw=raw,
            pod=pod,
        )
        for name, raw, pod in named
    ]


def _alpha_pod(raw: Object) -> Object:
    spec = dict(raw.get("extraPodSpec", {}))
    main = {**spec.pop("mainContainer", {}), "name": "main"}
    if "resources" in raw:
        main["resources"] = main.get("resources", {}) | _alpha_resources(raw["resources"])
    spec["containers"] = [main, *spec.get("containers", ())]
    return _pod(raw.get("extraPodMetadata", {}), spec, raw.get("sharedMemory", {}).get("size", "8Gi"))


def _alpha_resources(raw: Object) -> Object:
    def amounts(given: Object) -> Object:
        plain = {key: given[key] for key in ("cpu", "memory") if key in given}
        gpus = {"nvidia.com/gpu": given["gpu"]} if "gpu" in given else {}
        return {**plain, **gpus, **given.get("custom", {})}

    return raw | {key: amounts(raw[key]) for key in ("limits", "requests") if key in raw}


def _beta_pod(raw: Object) -> Object:
    template = raw.get("podTemplate", {})
    memory = raw.get("sharedMemorySize", "8Gi")
    return _pod(template.get("metadata", {}), template.get("spec", {}), memory)


def _pod(metadata: Object, spec: Object, shared_memory: str | int) -> Object:
    """With shared memory (none of size 0) mounted into `main`."""
    if str(shared_memory) != "0":
        volume = {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": shared_memory}}
        mount = {"name": "shared-memory", "mountPath": "/dev/shm"}
        containers = [
            {**one, "volumeMounts": merged([mount], one.get("volumeMounts", ()), "mountPath")}
            if one["name"] == "main"
            else one
            for one in spec.get("containers", ())
        ]
        spec = {**spec, "volumes": merged([volume], spec.get("volumes", ())), "containers": containers}
    return {"metadata": {key: metadata.get(key, {}) for key in ("labels", "annotations")}, "spec": spec}


def merged(low: Iterable[Object], high: Iterable[Object], key: str = "name") -> list[Object]:
    """Both lists, of what has the same key the higher one's."""
    return list({item[key]: item for item in (*low, *high)}.values())


def digest_of(content: object) -> str:
    """Ten hexadecimal digits."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]
