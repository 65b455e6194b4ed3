"""The components of a graph in one form for both API versions. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
"""A Kubernetes object, or a part of one, as the API server's JSON."""

WORKERS = ("worker", "prefill", "decode")
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
    def is_worker(self) -> bool:
        """Whether it is renewed by generations, each under a hash."""
        return self.type in WORKERS

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
    main["env"] = merged(raw.get("envs", ()), main.get("env", ()))
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
        {**one, "volumeMounts": merged(mounts, one.get("volumeMounts", ()), "mountPath")}
        if one["name"] == "main"
        else one
        for one in spec.get("containers", ())
    ]
    return {**spec, "volumes": merged(volumes, spec.get("volumes", ())), "containers": containers}


def merged(low: Iterable[Object], high: Iterable[Object], key: str = "name") -> list[Object]:
    """Both lists, of what has the same key the higher one's."""
    return list({item[key]: item for item in (*low, *high)}.values())
