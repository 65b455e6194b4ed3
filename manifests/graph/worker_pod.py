"""All workers of a graph in one pod, as the guides run them: processes that share its GPUs, and so NVLink. Pure.

One container has all GPUs and runs every worker under `scripts/run_workers.py`. Kubernetes discovery knows pods and, in
its container mode, containers, never processes: a worker is listed while a container of its name is ready. So each
worker has a small container beside, which does nothing and whose readiness asks the worker of that name. Frontends, in
pods of their own, then see every worker, and `kubectl get pods` counts them.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from facts.engines import Role
from manifests import objects, pod_scripts
from manifests.command import Command
from manifests.graph.probes import beside_worker
from manifests.names import SYSTEM_PORT
from targets.parts import WorkerPlan
from targets.plan import GraphPlan

SCRIPT = "run_workers.py"
DISCOVERY_ANNOTATION = {"nvidia.com/dynamo-kube-discovery-mode": "container"}
"""On the DynamoGraphDeployment: workers and frontends then tell containers apart."""
_NIXL_TELEMETRY, _FORWARD_PASS = 19090, 20380
"""The operator's ports for NIXL's telemetry and for the engine's figures of each pass, one worker a pod."""
_SIDE_CHANNEL, _PORTS_APART = 5600, 20
"""First port of NIXL's side channel, and how many a worker may take: one for each of its GPUs."""
_WAIT = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); signal.sigwait([signal.SIGTERM])"


@dataclass(frozen=True, kw_only=True)
class WorkerProcess:
    """One worker. gpus: its own first, then the others', whose memory CUDA IPC opens.

    NIXL's transfers need every GPU visible to both sides (vllm PR#55906); the engine takes the first of them.
    """

    name: str
    planned: WorkerPlan
    gpus: tuple[int, ...]

    @property
    def system_port(self) -> int:
        """Where it answers `/health`: after the pod's own."""
        return SYSTEM_PORT + 1 + self.planned.position


def component_name(plan: GraphPlan) -> str:
    """Its name in the graph, for example `VllmWorkers`."""
    return f"{plan.target.engine.value.capitalize()}Workers"


def config_map_name(graph: str) -> str:
    """The ConfigMap that holds the script that runs the workers."""
    return f"{graph}-run-workers"


def script_config_map(plan: GraphPlan, namespace: str) -> dict[str, Any]:
    """The script, so that the image needs nothing of ours."""
    return pod_scripts.config_map(config_map_name(plan.name), namespace, SCRIPT)


def processes(plan: GraphPlan) -> list[WorkerProcess]:
    """The graph's workers, decode first, as the guides give out GPUs from 0 on."""
    total, first, made = plan.gpus, 0, list[WorkerProcess]()
    for planned in sorted(plan.workers, key=lambda each: each.role is not Role.DECODE):
        for index in range(planned.worker.replicas):
            own = range(first, first + planned.worker.gpus)
            others = (gpu for gpu in range(total) if gpu not in own)
            name = f"{planned.role.value}-{index}"
            at = replace(planned, position=len(made))
            made.append(WorkerProcess(name=name, planned=at, gpus=(*own, *others)))
            first += planned.worker.gpus
    return made


def variables(process: WorkerProcess) -> dict[str, str]:
    """What differs between workers of one pod: who it is, its GPUs and its ports."""
    at = process.planned.position
    return {
        "CONTAINER_NAME": process.name,
        "CUDA_VISIBLE_DEVICES": ",".join(map(str, process.gpus)),
        "DYN_COMPONENT": process.planned.role.value,
        "DYN_FORWARDPASS_METRIC_PORT": str(_FORWARD_PASS + _PORTS_APART * at),
        "DYN_SYSTEM_PORT": str(process.system_port),
        "NIXL_TELEMETRY_PROMETHEUS_PORT": str(_NIXL_TELEMETRY + at),
        "VLLM_NIXL_SIDE_CHANNEL_PORT": str(_SIDE_CHANNEL + _PORTS_APART * at),
    }


def line(name: str, env: Mapping[str, str], words: Sequence[str]) -> str:
    """One argument of the script, in a shell's words."""
    variables = [f"{key}={_quote(value)}" for key, value in sorted(env.items())]
    return f"{name}: {' '.join([*variables, *map(_quote, words)])}"


def _quote(word: str) -> str:
    """As a shell wants it; Kubernetes takes `$(NAME)` for a variable of the container, and `$$` for a dollar."""
    return shlex.quote(word).replace("$(", "$$(")


def argv() -> list[str]:
    """The container's command; its arguments are the workers."""
    return ["python3", f"{pod_scripts.PATH}/{SCRIPT}"]


def volume(plan: GraphPlan) -> dict[str, Any]:
    """The script."""
    return pod_scripts.volume(config_map_name(plan.name), "run-workers")


def mount() -> dict[str, Any]:
    """Where the container finds it."""
    return pod_scripts.mount("run-workers")


def containers_beside(plan: GraphPlan) -> list[dict[str, Any]]:
    """A container for each worker, by its name."""
    return [
        objects.container(
            process.name,
            plan.image.reference,
            ["python3", "-c", _WAIT],
            # NVIDIA's runtime shows GPUs to a container that asks for none, if its image says so.
            env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}],
            resources={"requests": {"cpu": "10m", "memory": "32Mi"}},
            **beside_worker(process.system_port),
        )
        for process in processes(plan)
    ]


def command_line(process: WorkerProcess, command: Command, env: Mapping[str, str]) -> str:
    """A worker as the script reads it. env: its role's own variables; what differs between workers comes over them."""
    return line(process.name, {**env, **variables(process)}, [*command.argv, *command.args])
