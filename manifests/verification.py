"""The Job in which a graph is verified from inside the cluster. Pure."""

import hashlib
import json
from typing import Any

from facts.weights import MODEL_ID
from manifests import objects, pod_scripts
from manifests.graph.deployment import graph_deployment
from manifests.graph.placement import on_archs
from manifests.graph.workers import engine_files
from manifests.monitoring.queries import bytes_written_by_nixl, transferred_bytes
from manifests.names import HTTP_PORT, LABEL_PREFIX, NIXL_PORT, SYSTEM_PORT, frontend_service
from pods.verification.expectation import Expectation
from targets.plan import GraphPlan

_PACKAGE = "verification"
_CHECKS_SECONDS = 600
"""That the checks may take, attempts included, once the graph answers."""
GRAPH_ANNOTATION = f"{LABEL_PREFIX}/graph"
"""On the Job's pods: a digest of the graph, so that a changed graph is verified anew."""


def job_name(graph: str) -> str:
    """Name of the Job and of the ConfigMap with its script."""
    return f"{graph}-verify"


def script_config_map(plan: GraphPlan, namespace: str) -> dict[str, Any]:
    """The verification's modules; they stand on Python's standard library alone."""
    return pod_scripts.package_config_map(job_name(plan.name), namespace, _PACKAGE)


def expectation(plan: GraphPlan, *, simulated: bool = False) -> Expectation:
    """What the graph should be. simulated: whether its engines are, so that no KV cache travels."""
    roles = tuple(dict.fromkeys(planned.role.value for planned in plan.workers))
    moves = plan.target.disaggregated and not simulated
    return Expectation(
        MODEL_ID,
        roles,
        plan.target.disaggregated,
        version=str(plan.version),
        router_mode=plan.frontend.router_mode,
        engine=plan.target.engine.value,
        transport=plan.transport if moves else None,
        kv_counter=(transferred_bytes(plan) or bytes_written_by_nixl(plan)) if moves else None,
        conditional=_conditional(plan),
    )


def _conditional(plan: GraphPlan) -> bool:
    """Whether the frontend was told that it may have decode compute short prompts itself (from Dynamo 1.6)."""
    frontend = plan.frontend
    flags = any(word.startswith("--router-conditional-disagg") for word in frontend.extra_args)
    return flags or any(name.startswith("DYN_ROUTER_CONDITIONAL_DISAGG") for name in frontend.env)


def job(plan: GraphPlan, namespace: str, *, timeout_seconds: int) -> dict[str, Any]:
    """The Job: unprivileged, its last words in the pod's termination message.

    One pod, since the checks try again by themselves what may be bad luck; one that its node has lost does not count.
    timeout_seconds: how long the graph may take to answer; the checks themselves have ten minutes more.
    """
    url = f"http://{frontend_service(plan.name)}.{namespace}.svc:{HTTP_PORT}"
    container = objects.container(
        "verify",
        plan.image.reference,
        ["python3", "-m", _PACKAGE],
        args=[
            *("--url", url, *_arguments(expectation(plan))),
            *(word for port in _worker_ports(plan) for word in ("--worker-port", str(port))),
            *("--wait", str(timeout_seconds)),
        ],
        workingDir=pod_scripts.PATH,
        resources={"requests": {"cpu": "100m", "memory": "128Mi"}},
        # So that a failed update says which check failed, and what to do.
        terminationMessagePolicy="FallbackToLogsOnError",
        volumeMounts=[pod_scripts.mount(package=_PACKAGE)],
    )
    pod = objects.pod(
        [plan.image.pull_secret],
        containers=[container],
        volumes=[pod_scripts.volume(job_name(plan.name))],
        affinity=on_archs(plan.image.archs),
    )
    return objects.job(
        job_name(plan.name),
        namespace,
        pod,
        annotations={GRAPH_ANNOTATION: _digest(plan, namespace)},
        backoffLimit=0,
        podFailurePolicy={"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]},
        activeDeadlineSeconds=timeout_seconds + _CHECKS_SECONDS,
    )


def _arguments(expected: Expectation) -> list[str]:
    """The expectation as arguments of the Job."""
    optional = {
        "--engine": expected.engine,
        "--transport": expected.transport,
        "--kv-counter": expected.kv_counter,
    }
    return [
        *("--model", expected.model, "--roles", ",".join(expected.roles)),
        *(["--disaggregated"] if expected.disaggregated else []),
        *(["--conditional"] if expected.conditional else []),
        *("--dynamo-version", expected.version, "--router-mode", expected.router_mode),
        *(word for flag, value in optional.items() if value for word in (flag, value)),
    ]


def _worker_ports(plan: GraphPlan) -> tuple[int, ...]:
    """Where workers' metrics are read; the port of one pod has the figures of its NIXL agents too."""
    return (SYSTEM_PORT,) if plan.in_one_pod else (SYSTEM_PORT, NIXL_PORT)


def _digest(plan: GraphPlan, namespace: str) -> str:
    graph = json.dumps([graph_deployment(plan, namespace), engine_files(plan)], sort_keys=True)
    return hashlib.sha256(graph.encode()).hexdigest()[:16]
