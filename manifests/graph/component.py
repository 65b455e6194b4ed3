"""A component of a graph: its pods, and how either API version of DynamoGraphDeployment writes it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from facts.engines import Role
from manifests import objects  # fmt: skip
from manifests.command import Command, variables
from manifests.graph import observability
from manifests.names import (
    CACHE_PATH,
)  # fmt: skip
from targets.plan import GraphPlan


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What one pod asks of its node. requests: CPU and memory. devices: beside GPUs, by resource. claims: by name."""

    requests: Mapping[str, str] = field(default_factory=dict)
    gpus: int = 0
    devices: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GraphComponent:
    """One component of a graph before it is written in either API version. pod: PodSpec without containers.

    role: of workers. replicas: None where an autoscaler decides. sidecar: a frontend beside the container, the other
    containers beside it. metadata: labels and annotations of its pods.
    """

    name: str
    kind: str
    role: Role | None = None
    replicas: int | None
    container: Mapping[str, Any]
    sidecar: Mapping[str, Any] | None = None
    beside: tuple[Mapping[str, Any], ...] = ()
    pod: Mapping[str, Any]
    nodes: int = 1
    shared_memory: str | None = None
    asked: Asked = field(default_factory=Asked)
    metadata: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def environment(plan: GraphPlan, service: str) -> dict[str, str]:
    """What every container of Dynamo's has. service: its name in traces."""
    return {
        "HF_HOME": CACHE_PATH,
        # Nothing is fetched at run time: the weights are in the cache, which workers mount read-only.
        "HF_HUB_OFFLINE": "1",
        "HF_MODULES_CACHE": "/tmp/hf_modules",
        "DYN_LOG": plan.operation.log_level,
        **observability.environment(plan, service),
    }


def pod(plan: GraphPlan, *, security: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A PodSpec for the graph's images, without containers. spec: as for `objects.pod`."""
    return objects.pod([plan.image.pull_secret], security=security, **spec)


def container(
    image: str,
    command: Command | None,
    *,
    name: str = "main",
    env: Mapping[str, str],
    mounts: list[dict[str, Any]],
    probes: Mapping[str, Any],
    security: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A container of the graph. command: None for the image's own."""
    return objects.container(
        name,
        image,
        None if command is None else command.argv,
        args=None if command is None else list(command.args),
        env=variables(env),
        volumeMounts=mounts or None,
        security=security,
        **probes,
    )


def v1alpha1(plan: GraphPlan, component: GraphComponent) -> dict[str, Any]:
    """The component as a service of v1alpha1."""
    service: dict[str, Any] = {"componentType": component.kind if component.role is None else "worker"}
    if component.role in (Role.PREFILL, Role.DECODE):
        service["subComponentType"] = component.role.value
    devices: dict[str, Any] = {"gpu": str(component.asked.gpus)} if component.asked.gpus else {}
    if component.asked.devices:
        devices["custom"] = dict(component.asked.devices)
    if resources := _resources(component, devices):
        service["resources"] = resources
    if component.shared_memory:
        service["sharedMemory"] = {"size": component.shared_memory}
    metadata = _metadata(component)
    if metadata:
        service["extraPodMetadata"] = metadata
    beside = {"containers": [dict(each) for each in component.beside]} if component.beside else {}
    service["extraPodSpec"] = {**component.pod, **beside, "mainContainer": dict(component.container)}
    return service | _common(plan, component, {"enabled": True})


def v1beta1(plan: GraphPlan, component: GraphComponent) -> dict[str, Any]:
    """The component as v1beta1 lists it."""
    devices = {"nvidia.com/gpu": str(component.asked.gpus)} if component.asked.gpus else {}
    devices |= component.asked.devices
    container = dict(component.container)
    if resources := _resources(component, devices):
        container["resources"] = resources
    beside = [dict(each) for each in (component.sidecar, *component.beside) if each is not None]
    template: dict[str, Any] = {"spec": {**component.pod, "containers": [container, *beside]}}
    metadata = _metadata(component)
    if metadata:
        template["metadata"] = metadata
    written: dict[str, Any] = {
        "name": component.name,
        "type": component.kind,
        "podTemplate": template,
    }
    if component.shared_memory:
        written["sharedMemorySize"] = component.shared_memory
    if component.sidecar is not None:
        written["frontendSidecar"] = component.sidecar["name"]
    return written | _common(plan, component, {})


def _resources(component: GraphComponent, devices: Mapping[str, Any]) -> dict[str, Any]:
    """Devices are limits and requests alike; CPU and memory are requested and may be exceeded."""
    resources: dict[str, Any] = {}
    if devices:
        resources["limits"] = dict(devices)
    if devices or component.asked.requests:
        resources["requests"] = {**devices, **component.asked.requests}
    if component.asked.claims:
        resources["claims"] = [{"name": claim} for claim in component.asked.claims]
    return resources


def _common(plan: GraphPlan, component: GraphComponent, adapter: Mapping[str, Any]) -> dict[str, Any]:
    """What both API versions say alike. adapter: how the version asks for a scaling adapter."""
    scaled = component.replicas is None
    common: dict[str, Any] = {"scalingAdapter": adapter} if scaled else {"replicas": component.replicas}
    if component.nodes > 1:
        common["multinode"] = {"nodeCount": component.nodes}
    # The picker's and the Planner's images are never the user's: their tags say their version.
    version = plan.image.runtime_version if plan.says_runtime_version else None
    if version and component.kind not in ("epp", "planner"):
        common["runtimeVersionOverride"] = version
    return common


def _metadata(component: GraphComponent) -> dict[str, Any]:
    return {key: dict(value) for key, value in component.metadata.items() if value}
