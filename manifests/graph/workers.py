"""The workers of a graph as components: in pods of their own, or all in one. Pure."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import yaml

from facts.engines import Engine, Role
from manifests import pod_scripts  # fmt: skip
from manifests.cache import compiled, pod_cache
from manifests.cache.pod_cache import PodCache
from manifests.command import Command, variables
from manifests.engines import kv_transfer, mocker, sglang, trtllm, vllm
from manifests.graph import compute_domain, frontend, planner, probes, requests, rolling, worker_pod
from manifests.graph.component import Asked, GraphComponent, container, environment, pod
from manifests.graph.placement import worker_affinity, worker_nodes
from manifests.names import (
    ENGINE_FILES_PATH,
    LABEL_PREFIX,
    ROLE_LABEL,
    SYSTEM_PORT,
    WORKERS_LABEL,
    engine_config_map,
)  # fmt: skip
from manifests.security import (
    as_root,
    security_beside,
    worker_pod_security,
    worker_security,
)  # fmt: skip
from manifests.services import inference_extension
from targets.naming import component_name
from targets.parts import WorkerPlan
from targets.plan import GraphPlan
from targets.transport import Transport

_ENGINE_COMMAND: dict[Engine, Callable[[GraphPlan, WorkerPlan], Command]] = {
    Engine.TRTLLM: trtllm.command,
    Engine.VLLM: vllm.command,
    Engine.SGLANG: sglang.command,
    Engine.MOCKER: mocker.command,
}


def worker_command(plan: GraphPlan, planned: WorkerPlan) -> Command:
    """The engine's command line for one role, with what its transport needs in the environment."""
    command = _ENGINE_COMMAND[plan.target.engine](plan, planned)
    kept = compiled.environment(plan, planned, compiled_key(plan, planned)) if compiled.is_kept(plan) else {}
    return replace(command, env={**command.env, **kv_transfer.environment(plan, planned), **kept})


def compiled_key(plan: GraphPlan, planned: WorkerPlan) -> str:
    """What the workers of a role compile is kept under; that of several in one pod is the same."""
    first = replace(planned, position=0)
    return compiled.key(plan, first, _ENGINE_COMMAND[plan.target.engine](plan, first))


def _prepared(plan: GraphPlan) -> tuple[PodCache, dict[str, Any]]:
    """What worker pods have of models and compiled kernels, and a container's hook at its start."""
    cache = pod_cache.pod_cache(plan, weights=True)
    if not compiled.is_kept(plan):
        return cache, {}
    words = compiled.command(
        {compiled_key(plan, each): each.worker.gpus // each.nodes for each in plan.workers}
    )
    before = [*cache.spec.get("initContainers", []), compiled.init_container(plan, words)]
    return PodCache(
        volumes=[*cache.volumes, *compiled.volumes(plan)],
        mounts=[*cache.mounts, *compiled.mounts()],
        spec={"initContainers": before},
    ), compiled.hook(words)


def engine_files(plan: GraphPlan) -> dict[str, str]:
    """Engine files of all roles: file name to YAML text; empty for engines that take none."""
    commands = [worker_command(plan, planned) for planned in plan.workers]
    return {
        name: yaml.safe_dump(dict(content), sort_keys=True)
        for command in commands
        for name, content in command.files.items()
    }


def _sidecar(plan: GraphPlan) -> dict[str, Any]:
    command = frontend.sidecar(plan)
    return container(
        plan.image.reference,
        command,
        name=inference_extension.SIDECAR,
        # Beside a worker's GPUs, which NVIDIA's runtime shows to a container that asks for none, if its image says so.
        env={**environment(plan, "sidecar"), "NVIDIA_VISIBLE_DEVICES": "void", **command.env},
        mounts=[pod_cache.mount()],
        probes=probes.frontend_sidecar(),
        security=security_beside(plan.grants),
    )


def worker_component(plan: GraphPlan, planned: WorkerPlan) -> GraphComponent:
    """The workers of a role, each in a pod of its own or, over nodes, in several."""
    command, worker = worker_command(plan, planned), planned.worker
    (cache, hook), annotations = _prepared(plan), rolling.annotations(plan)
    volumes, mounts = [*cache.volumes], [*cache.mounts]
    if command.files:
        volumes.append({"name": "engine-files", "configMap": {"name": engine_config_map(plan.name)}})
        mounts.append({"name": "engine-files", "mountPath": ENGINE_FILES_PATH, "readOnly": True})
        annotations[f"{LABEL_PREFIX}/engine-files"] = _digest(command.files)
    claims = (compute_domain.CLAIM,) if plan.needs_compute_domain else ()
    per_node = worker.gpus // planned.nodes
    return GraphComponent(
        name=component_name(plan.target.engine, planned),
        kind=worker.role.value,
        role=worker.role,
        # Sent again at every update, the number would undo the autoscaler's, which the operator refuses.
        replicas=None if planned.max_replicas else worker.replicas,
        nodes=planned.nodes,
        shared_memory=plan.target.pods.shared_memory,
        asked=Asked(
            requests=requests.of_worker(plan, planned, command),
            gpus=per_node,
            devices=kv_transfer.devices(plan, per_node),
            claims=claims,
        ),
        metadata={
            "labels": {
                WORKERS_LABEL: plan.name,
                **({ROLE_LABEL: worker.role.value} if plan.uses_efa else {}),
            },
            "annotations": annotations,
        },
        pod=pod(
            plan,
            security=worker_pod_security(plan.grants),
            affinity=worker_affinity(plan, worker.role),
            volumes=volumes,
            terminationGracePeriodSeconds=plan.operation.termination_grace_period_seconds,
            **cache.spec,
            **worker_nodes(plan),
            **({"resourceClaims": [compute_domain.pod_claim(plan)]} if claims else {}),
        ),
        container=container(
            plan.image.reference,
            command,
            env={
                **_worker_environment(plan, worker.role),
                **command.env,
                **worker.env,
                **planned.env,
            },
            mounts=mounts,
            probes={**probes.worker(), **hook},
            security=_worker_security(plan),
        ),
        sidecar=_sidecar(plan) if plan.frontend.inference_extension else None,
    )


def workers_in_one_pod(plan: GraphPlan) -> GraphComponent:
    """All workers, as processes of the container `main`, with what `_worker` gives each of them."""
    parts = [worker_component(plan, planned) for planned in plan.workers]
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
        asked=replace(
            first.asked,
            gpus=plan.gpus,
            requests=_sum(
                (part.asked.requests, planned.worker.replicas)
                for part, planned in zip(parts, plan.workers, strict=True)
            ),
        ),
        metadata={
            **first.metadata,
            "annotations": {**first.metadata["annotations"], **_one_digest(plan)},
        },
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


def _worker_environment(plan: GraphPlan, role: Role) -> dict[str, str]:
    """What workers of every engine and transport have, in pods of their own as in one."""
    drain, planned = rolling.worker_environment(plan), planner.WORKER_ENV if plan.operation.planner else {}
    return {**environment(plan, role.value), **drain, **planned}


def _digest(files: Mapping[str, Any]) -> str:
    """Changes with the role's engine file, so that a new one restarts the workers that read it at start."""
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]
