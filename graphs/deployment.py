"""A resolved graph as a DynamoGraphDeployment, in the API version that its Dynamo release serves. Pure."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from graphs import (
    compute_domain,
    frontend,
    inference_extension,
    kv_transfer,
    mocker,
    objects,
    observability,
    planner,
    pod_cache,
    pod_scripts,
    probes,
    requests,
    rolling,
    sglang,
    trtllm,
    vllm,
    worker_pod,
)  # fmt: skip
from graphs.command import Command, variables
from graphs.names import (
    CACHE_PATH,
    ENGINE_FILES_PATH,
    LABEL_PREFIX,
    ROLE_LABEL,
    SYSTEM_PORT,
    VERSION_LABEL,
    WORKERS_LABEL,
    engine_config_map,
)  # fmt: skip
from graphs.placement import cpu_affinity, frontend_affinity, worker_affinity, worker_nodes
from graphs.security import (
    as_root,
    security_beside,
    worker_pod_security,
    worker_security,
)  # fmt: skip
from targets.engines import Engine, Role
from targets.naming import component_name
from targets.parts import Planner, WorkerPlan
from targets.plan import GraphPlan
from targets.releases import graph_api_version
from targets.transport import Transport

_ENGINE_COMMAND: dict[Engine, Callable[[GraphPlan, WorkerPlan], Command]] = {
    Engine.TRTLLM: trtllm.command,
    Engine.VLLM: vllm.command,
    Engine.SGLANG: sglang.command,
    Engine.MOCKER: mocker.command,
}


@dataclass(frozen=True, kw_only=True)
class Component:
    """One component of a graph before it is written in either API version. pod: PodSpec without containers.

    role: of workers. replicas: None where an autoscaler decides. sidecar: a frontend beside the container, the other
    containers beside it.
    devices: beside GPUs, by resource.
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
    requests: Mapping[str, str] = field(default_factory=dict)
    gpus: int = 0
    devices: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


def worker_command(plan: GraphPlan, planned: WorkerPlan) -> Command:
    """The engine's command line for one role, with what its transport needs in the environment."""
    command = _ENGINE_COMMAND[plan.target.engine](plan, planned)
    return replace(command, env={**command.env, **kv_transfer.environment(plan, planned)})


def engine_files(plan: GraphPlan) -> dict[str, str]:
    """Engine files of all roles: file name to YAML text; empty for engines that take none."""
    commands = [worker_command(plan, planned) for planned in plan.workers]
    return {
        name: yaml.safe_dump(dict(content), sort_keys=True)
        for command in commands
        for name, content in command.files.items()
    }


def graph_deployment(plan: GraphPlan, namespace: str) -> dict[str, Any]:
    """The DynamoGraphDeployment of a graph."""
    api_version = graph_api_version(plan.version)
    components = [
        _frontend(plan),
        *([_endpoint_picker(plan)] if plan.frontend.inference_extension else []),
        *([_worker_pod(plan)] if plan.in_one_pod else [_worker(plan, planned) for planned in plan.workers]),
        *([_planner(plan, plan.operation.planner)] if plan.operation.planner else []),
    ]
    spec: dict[str, Any] = {}
    if plan.target.engine is not Engine.MOCKER:
        spec["backendFramework"] = plan.target.engine.value
    if api_version.endswith("v1alpha1"):
        spec["services"] = {component.name: _v1alpha1(plan, component) for component in components}
    else:
        spec["components"] = [_v1beta1(plan, component) for component in components]
    return objects.manifest(
        api_version,
        "DynamoGraphDeployment",
        plan.name,
        namespace,
        labels={VERSION_LABEL: str(plan.version)},
        annotations=worker_pod.DISCOVERY_ANNOTATION if plan.in_one_pod else None,
        spec=spec,
    )


def _frontend(plan: GraphPlan) -> Component:
    command, cache = frontend.command(plan), pod_cache.pod_cache(plan, weights=False)
    return Component(
        name="Frontend",
        kind="frontend",
        replicas=plan.frontend.replicas,
        pod=_pod(
            plan,
            affinity=frontend_affinity(plan),
            volumes=cache.volumes,
            terminationGracePeriodSeconds=plan.operation.termination_grace_period_seconds,
            **cache.spec,
        ),
        container=_container(
            plan.image.reference,
            command,
            env={**_environment(plan, "frontend"), **command.env},
            mounts=[cache.mount],
            probes=probes.frontend(),
        ),
        requests=plan.target.pods.frontend_requests,
    )


def _endpoint_picker(plan: GraphPlan) -> Component:
    """One, and without a command: its image and the operator know what to run. It reads prompts as a frontend does."""
    cache = pod_cache.pod_cache(plan, weights=False)
    return Component(
        name=inference_extension.PICKER,
        kind="epp",
        replicas=1,
        pod=_pod(
            plan,
            affinity=cpu_affinity(plan),
            volumes=[*cache.volumes, inference_extension.scratch_volume()],
            **cache.spec,
        ),
        container=_container(
            inference_extension.picker_image(plan),
            None,
            env={**_environment(plan, "picker"), **inference_extension.picker_environment(plan)},
            mounts=[cache.mount, inference_extension.scratch_mount()],
            probes=probes.endpoint_picker(),
        ),
        requests=plan.target.pods.frontend_requests,
    )


def _sidecar(plan: GraphPlan) -> dict[str, Any]:
    command = frontend.sidecar(plan)
    return _container(
        plan.image.reference,
        command,
        name=inference_extension.SIDECAR,
        # Beside a worker's GPUs, which NVIDIA's runtime shows to a container that asks for none, if its image says so.
        env={**_environment(plan, "sidecar"), "NVIDIA_VISIBLE_DEVICES": "void", **command.env},
        mounts=[pod_cache.mount()],
        probes=probes.frontend_sidecar(),
        security=security_beside(plan.grants),
    )


def _worker(plan: GraphPlan, planned: WorkerPlan) -> Component:
    command, worker = worker_command(plan, planned), planned.worker
    cache, annotations = pod_cache.pod_cache(plan, weights=True), rolling.annotations(plan)
    volumes, mounts = [*cache.volumes], [cache.mount]
    if command.files:
        volumes.append({"name": "engine-files", "configMap": {"name": engine_config_map(plan.name)}})
        mounts.append({"name": "engine-files", "mountPath": ENGINE_FILES_PATH, "readOnly": True})
        annotations[f"{LABEL_PREFIX}/engine-files"] = _digest(command.files)
    claims = (compute_domain.CLAIM,) if plan.needs_compute_domain else ()
    per_node = worker.gpus // planned.nodes
    return Component(
        name=component_name(plan.target.engine, planned),
        kind=worker.role.value,
        role=worker.role,
        # Sent again at every update, the number would undo the autoscaler's, which the operator refuses.
        replicas=None if planned.max_replicas else worker.replicas,
        nodes=planned.nodes,
        shared_memory=plan.target.pods.shared_memory,
        requests=requests.of_worker(plan, planned, command),
        gpus=per_node,
        devices=kv_transfer.devices(plan, per_node),
        claims=claims,
        labels={WORKERS_LABEL: plan.name, **({ROLE_LABEL: worker.role.value} if plan.uses_efa else {})},
        annotations=annotations,
        pod=_pod(
            plan,
            security=worker_pod_security(plan.grants),
            affinity=worker_affinity(plan, worker.role),
            volumes=volumes,
            terminationGracePeriodSeconds=plan.operation.termination_grace_period_seconds,
            **cache.spec,
            **worker_nodes(plan),
            **({"resourceClaims": [compute_domain.pod_claim(plan)]} if claims else {}),
        ),
        container=_container(
            plan.image.reference,
            command,
            env={
                **_worker_environment(plan, worker.role),
                **command.env,
                **worker.env,
                **planned.env,
            },
            mounts=mounts,
            probes=probes.worker(),
            security=_worker_security(plan),
        ),
        sidecar=_sidecar(plan) if plan.frontend.inference_extension else None,
    )


def _worker_pod(plan: GraphPlan) -> Component:
    """All workers, as processes of the container `main`, with what `_worker` gives each of them."""
    parts = [_worker(plan, planned) for planned in plan.workers]
    lines, mounts = [], {mount["name"]: mount for part in parts for mount in part.container["volumeMounts"]}
    shared = _worker_environment(plan, Role.WORKER)
    for process in worker_pod.processes(plan):
        command, own = worker_command(plan, process.planned), process.planned
        differs = dict(_worker_environment(plan, own.role).items() - shared.items())
        env = {**differs, **command.env, **own.worker.env, **own.env}
        lines.append(worker_pod.command_line(process, command, env))
    mounts["run-workers"] = worker_pod.mount()
    first, volumes = parts[0], {each["name"]: each for part in parts for each in part.pod["volumes"]}
    return replace(
        first,
        name=worker_pod.component_name(plan),
        kind=Role.WORKER.value,
        role=Role.WORKER,
        replicas=1,
        gpus=plan.gpus,
        requests=_sum(
            (part.requests, planned.worker.replicas)
            for part, planned in zip(parts, plan.workers, strict=True)
        ),
        annotations={**first.annotations, **_one_digest(plan)},
        pod={**first.pod, "volumes": [*volumes.values(), worker_pod.volume(plan)]},
        container={
            **first.container,
            "command": worker_pod.argv(),
            "args": lines,
            "env": variables({**shared, "SYSTEM_PORT": str(SYSTEM_PORT)}),
            "volumeMounts": list(mounts.values()),
        },
        beside=tuple(worker_pod.containers_beside(plan)),
    )


def _one_digest(plan: GraphPlan) -> dict[str, str]:
    """Of the engine files of all roles and of the script, whose change restarts them all."""
    files = [worker_command(plan, planned).files for planned in plan.workers]
    text = pod_scripts.text(worker_pod.SCRIPT)
    return {f"{LABEL_PREFIX}/engine-files": _digest({"files": files, "script": text})}


def _sum(requests: Iterable[tuple[Mapping[str, str], int]]) -> dict[str, str]:
    """What workers request together. Quantities are whole CPUs and Gi."""
    total: dict[str, int] = {}
    for each, count in requests:
        for name, quantity in each.items():
            total[name] = total.get(name, 0) + int(quantity.removesuffix("Gi")) * count
    return {name: f"{amount}Gi" if name == "memory" else str(amount) for name, amount in total.items()}


def _worker_security(plan: GraphPlan) -> dict[str, Any]:
    security = worker_security(plan.grants, network=plan.transport is not Transport.NODE)
    return as_root(security) if plan.runs_as_root else security


def _planner(plan: GraphPlan, planned: Planner) -> Component:
    return Component(
        name="Planner",
        kind="planner",
        replicas=1,
        pod=_pod(plan, affinity=cpu_affinity(plan)),
        container=_container(
            planner.image(plan),
            planner.command(plan, planned),
            env={"DYN_LOG": plan.operation.log_level},
            mounts=[],
            # Live from the start, ready once the workers are.
            probes=probes.worker(),
        ),
    )


def _environment(plan: GraphPlan, service: str) -> dict[str, str]:
    return {
        "HF_HOME": CACHE_PATH,
        # Nothing is fetched at run time: the weights are in the cache, which workers mount read-only.
        "HF_HUB_OFFLINE": "1",
        "HF_MODULES_CACHE": "/tmp/hf_modules",
        "DYN_LOG": plan.operation.log_level,
        **observability.environment(plan, service),
    }


def _worker_environment(plan: GraphPlan, role: Role) -> dict[str, str]:
    """What workers of every engine and transport have, in pods of their own as in one."""
    drain, planned = rolling.worker_environment(plan), planner.WORKER_ENV if plan.operation.planner else {}
    return {**_environment(plan, role.value), **drain, **planned}


def _pod(plan: GraphPlan, *, security: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return objects.pod([plan.image.pull_secret], security=security, **spec)


def _container(
    image: str,
    command: Command | None,
    *,
    name: str = "main",
    env: Mapping[str, str],
    mounts: list[dict[str, Any]],
    probes: Mapping[str, Any],
    security: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
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


def _digest(files: Mapping[str, Any]) -> str:
    """Changes with the role's engine file, so that a new one restarts the workers that read it at start."""
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]


def _v1alpha1(plan: GraphPlan, component: Component) -> dict[str, Any]:
    service: dict[str, Any] = {"componentType": component.kind if component.role is None else "worker"}
    if component.role in (Role.PREFILL, Role.DECODE):
        service["subComponentType"] = component.role.value
    devices: dict[str, Any] = {"gpu": str(component.gpus)} if component.gpus else {}
    if component.devices:
        devices["custom"] = dict(component.devices)
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


def _v1beta1(plan: GraphPlan, component: Component) -> dict[str, Any]:
    devices = {"nvidia.com/gpu": str(component.gpus)} if component.gpus else {}
    devices |= component.devices
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


def _resources(component: Component, devices: Mapping[str, Any]) -> dict[str, Any]:
    """Devices are limits and requests alike; CPU and memory are requested and may be exceeded."""
    resources: dict[str, Any] = {}
    if devices:
        resources["limits"] = dict(devices)
    if devices or component.requests:
        resources["requests"] = {**devices, **component.requests}
    if component.claims:
        resources["claims"] = [{"name": claim} for claim in component.claims]
    return resources


def _common(plan: GraphPlan, component: Component, adapter: Mapping[str, Any]) -> dict[str, Any]:
    """What both API versions say alike. adapter: how the version asks for a scaling adapter."""
    scaled = component.replicas is None
    common: dict[str, Any] = {"scalingAdapter": adapter} if scaled else {"replicas": component.replicas}
    if component.nodes > 1:
        common["multinode"] = {"nodeCount": component.nodes}
    # The picker's and the Planner's images are never the user's: their tags say their version.
    said = plan.image.runtime_version if plan.says_runtime_version else None
    if said and component.kind not in ("epp", "planner"):
        common["runtimeVersionOverride"] = said
    return common


def _metadata(component: Component) -> dict[str, Any]:
    return {
        key: dict(value)
        for key, value in (("labels", component.labels), ("annotations", component.annotations))
        if value
    }
