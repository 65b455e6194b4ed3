"""What the operator stand-in refuses beyond its schema: the admission rules of Dynamo's webhook by release. Pure.

Rules of fields that the schema does not have (eppConfig, checkpoint, GPU memory service, failover, topology) are not
here. Words differ from the operator's, which counts components where ours are named; verdicts do not.
"""

import re
from collections.abc import Iterator

from embedded.operator.components import Component, Object, components
from embedded.operator.platform import PROVIDER, Platform, provider

_GROVE_NAME_LIMIT = 45
"""Characters of the shortened graph's and the component's names; what Grove adds for pods takes the rest of the 63."""
_SHORTENED_GRAPH = 8
"""Characters to which the operator shortens a graph's name at most."""

_SEMVER = re.compile(r"v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)([-+][0-9A-Za-z.+-]+)?")
_ORIGIN_VERSION = re.compile(r"v?\d+(\.\d+){0,2}([-+][0-9A-Za-z.+-]+)?")
_EXECUTOR = "nvidia.com/vllm-distributed-executor-backend"
_UPDATE_STRATEGY = "nvidia.com/grove-update-strategy"
_ANNOTATIONS = {
    "nvidia.com/dynamo-kube-discovery-mode": ("pod", "container"),
    _UPDATE_STRATEGY: ("RollingRecreate", "OnDelete"),
    _EXECUTOR: ("mp", "ray"),
}


def violations(
    graph: Object, platform: Platform, old: Object | None = None, *, by_operator: bool = False
) -> list[str]:
    """Every rule that the graph breaks, as one sentence with the field's path each; empty for a good graph.

    old: the graph as stored, on update. by_operator: whether the operator itself asks, which may scale.
    """
    found = components(graph)
    grove = provider(graph, platform) == "grove"
    broken = [*_graph_rules(graph, found, grove), *_annotation_rules(graph, platform)]
    for component in found:
        broken += _component_rules(component, platform)
        broken += _grove_rules(graph["metadata"]["name"], component) if grove else _no_grove_rules(component)
    return broken + ([*_update_rules(graph, found, old, platform, by_operator)] if old else [])


def warnings(graph: Object) -> list[str]:
    """What the operator accepts but ignores."""
    return [
        f"{component.path}.dynamoNamespace is deprecated and ignored: the namespace is "
        f"{graph['metadata']['namespace']}-{graph['metadata']['name']}"
        for component in components(graph)
        if "dynamoNamespace" in component.raw
    ]


def _graph_rules(graph: Object, found: list[Component], grove: bool) -> Iterator[str]:
    spec = graph["spec"]
    if not found:
        field = "services" if "v1alpha1" in graph["apiVersion"] else "components"
        yield f"spec.{field} must have at least one component"
    for index, claim in enumerate(spec.get("pvcs", ())):
        if not claim["name"]:
            yield f"spec.pvcs[{index}].name is required"
    strategy = spec.get("restart", {}).get("strategy", {})
    order, names = strategy.get("order", []), sorted(component.name for component in found)
    if order and strategy.get("type") == "Parallel":
        yield "spec.restart.strategy.order cannot be set when type is Parallel"
    elif order and sorted(order) != names:
        yield f"spec.restart.strategy.order must name every component once ({', '.join(names)}), not {order}"
    if "priorityClassName" in spec and not grove:
        yield "spec.priorityClassName requires the Grove pathway, and the graph goes to Deployments"


def _annotation_rules(graph: Object, platform: Platform) -> Iterator[str]:
    annotations = graph["metadata"].get("annotations", {})
    for key, allowed in _ANNOTATIONS.items():
        if key == _UPDATE_STRATEGY and not platform.reads_components_closely:
            continue
        if key in annotations and _folded(key, annotations[key]) not in allowed:
            yield f"metadata.annotations[{key}] must be one of {', '.join(allowed)}, not {annotations[key]!r}"
    origin = annotations.get("nvidia.com/dynamo-operator-origin-version", "0.0.0")
    if not _ORIGIN_VERSION.fullmatch(origin):
        yield f"metadata.annotations[nvidia.com/dynamo-operator-origin-version] must be semver, not {origin!r}"


def _folded(key: str, value: str) -> str:
    """As the operator compares it: executor backends in any case."""
    return value.lower() if key == _EXECUTOR else value


def _component_rules(component: Component, platform: Platform) -> Iterator[str]:
    path = component.path
    if platform.has_runtime_version:
        yield from _image_rules(component)
    if component.type == "epp":
        yield f"{path}: type epp needs the InferencePool API, which this cluster does not serve"
    if "services" in path:
        yield from _alpha_rules(component)
    elif platform.reads_components_closely:
        yield from _beta_rules(component)


def _beta_rules(component: Component) -> Iterator[str]:
    raw, path = component.raw, component.path
    if str(raw.get("sharedMemorySize", "")).startswith("-"):
        yield f"{path}.sharedMemorySize must be non-negative, not {raw['sharedMemorySize']}"
    names = [one["name"] for one in component.pod["spec"].get("containers", ())]
    if "frontendSidecar" in raw and raw["frontendSidecar"] not in names:
        yield (
            f"{path}.frontendSidecar must match a podTemplate.spec.containers name ({', '.join(names)}), "
            f"not {raw['frontendSidecar']!r}"
        )


def _image_rules(component: Component) -> Iterator[str]:
    raw, path = component.raw, component.path
    image = _image(component)
    main = "extraPodSpec.mainContainer" if "services" in path else "podTemplate.spec.containers[main]"
    if not image:
        yield f"{path}.{main}.image is required"
    elif "runtimeVersionOverride" not in raw and not _SEMVER.fullmatch(_tag(image)):
        yield (
            f"{path}.runtimeVersionOverride is required when the specified Dynamo runtime container image has no "
            f"parseable semantic-version tag: {image}"
        )


def _alpha_rules(component: Component) -> Iterator[str]:
    raw, path = component.raw, component.path
    for index, mount in enumerate(raw.get("volumeMounts", ())):
        if not mount.get("mountPoint") and not mount.get("useAsCompilationCache"):
            yield f"{path}.volumeMounts[{index}].mountPoint is required when useAsCompilationCache is false"
    backend = raw.get("annotations", {}).get(_EXECUTOR, "mp")
    if _folded(_EXECUTOR, backend) not in _ANNOTATIONS[_EXECUTOR]:
        yield f"{path}.annotations[{_EXECUTOR}] must be one of mp, ray, not {backend!r}"


def _image(component: Component) -> str:
    runtime = [one for one in component.pod["spec"].get("initContainers", ()) if one["name"] == "runtime"]
    return next((str(one["image"]) for one in (component.main, *runtime) if one.get("image")), "")


def _tag(image: str) -> str:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


def _grove_rules(graph: str, component: Component) -> Iterator[str]:
    clique = component.name.lower()
    combined = (
        min(len(graph), _SHORTENED_GRAPH) + len(clique) + (len(f"{clique}-ldr") if component.nodes > 1 else 0)
    )
    if combined > _GROVE_NAME_LIMIT:
        yield (
            f"{component.path}: combined resource name length {combined} exceeds the {_GROVE_NAME_LIMIT}-character "
            f"pod-name limit; shorten the component's name {component.name!r}"
        )


def _no_grove_rules(component: Component) -> Iterator[str]:
    if "minAvailable" in component.raw:
        yield f"{component.path}.minAvailable is currently supported only for Grove-backed components"


def _update_rules(
    graph: Object, found: list[Component], old: Object, platform: Platform, by_operator: bool
) -> Iterator[str]:
    before = {component.name: component for component in components(old)}
    added = sorted({component.name for component in found} - before.keys())
    removed = sorted(before.keys() - {component.name for component in found})
    if added or removed:
        yield (
            "component topology is immutable and cannot be modified after creation: "
            f"added {', '.join(added) or 'none'}, removed {', '.join(removed) or 'none'}"
        )
    framework, was = (one["spec"].get("backendFramework") for one in (graph, old))
    if framework != was:
        yield f"spec.backendFramework is immutable and cannot be changed after creation: {was} to {framework}"
    chosen, recorded = (one["metadata"].get("annotations", {}).get(PROVIDER) for one in (graph, old))
    if platform.keeps_provider and recorded and chosen != recorded:
        yield f"metadata.annotations[{PROVIDER}] is immutable: {recorded} to {chosen}"
    for component in found:
        stored = before.get(component.name, component)
        if (component.nodes > 1) != (stored.nodes > 1):
            yield f"{component.path} cannot change node topology between single-node and multi-node after creation"
        # Before or after: an adapter that is taken away leaves its number behind.
        scaled = component.scaled or (platform.reads_components_closely and stored.scaled)
        if component.replicas != stored.replicas and scaled and not by_operator:
            yield (
                f"{component.path}.replicas cannot be modified directly when scaling adapter is enabled; scale or "
                "update the related DynamoGraphDeploymentScalingAdapter instead"
            )
