"""The Job in which a graph is verified from inside the cluster. Pure."""

import hashlib
import json
from typing import Any

from graphs import pod_scripts
from graphs.deployment import engine_files, graph_deployment
from graphs.names import HTTP_PORT, LABEL_PREFIX, MANAGED_BY, frontend_service
from graphs.placement import ARCH_LABEL
from graphs.security import container_security, pod_security
from targets.catalogue import MODEL_ID
from targets.plan import GraphPlan

_SCRIPT = "verification.py"
GRAPH_ANNOTATION = f"{LABEL_PREFIX}/graph"
"""On the Job's pods: a digest of the graph, so that a changed graph is verified anew."""


def job_name(graph: str) -> str:
    """Name of the Job and of the ConfigMap with its script."""
    return f"{graph}-verify"


def script_config_map(plan: GraphPlan, namespace: str) -> dict[str, Any]:
    """The verification script; it stands on Python's standard library alone."""
    return pod_scripts.config_map(job_name(plan.name), namespace, _SCRIPT)


def job(plan: GraphPlan, namespace: str, *, timeout_seconds: int) -> dict[str, Any]:
    """The Job: unprivileged, one attempt, its last words in the pod's termination message.

    timeout_seconds: how long the graph may take to answer; the checks themselves have two minutes more.
    """
    roles = ",".join(planned.role.value for planned in plan.workers)
    url = f"http://{frontend_service(plan.name)}.{namespace}.svc:{HTTP_PORT}"
    arguments = ["--url", url, "--model", MODEL_ID, "--roles", roles, "--wait", str(timeout_seconds)]
    container = {
        "name": "verify",
        "image": plan.image,
        "command": ["python3", f"{pod_scripts.PATH}/{_SCRIPT}"],
        "args": [*arguments, *(["--disaggregated"] if plan.target.disaggregated else [])],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        "securityContext": container_security(),
        # So that a failed update says which check failed, and what to do.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": "script", "mountPath": pod_scripts.PATH, "readOnly": True}],
    }
    arch = {
        "matchExpressions": [{"key": ARCH_LABEL, "operator": "In", "values": list(plan.image_knobs.archs)}]
    }
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": [{"name": "script", "configMap": {"name": job_name(plan.name)}}],
        "securityContext": pod_security(),
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [arch]}}
        },
    }
    if plan.image_knobs.pull_secret:
        pod["imagePullSecrets"] = [{"name": plan.image_knobs.pull_secret}]
    annotations = {GRAPH_ANNOTATION: _digest(plan, namespace)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": job_name(plan.name), "namespace": namespace, "labels": dict(MANAGED_BY)},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": timeout_seconds + 120,
            "template": {"metadata": {"labels": dict(MANAGED_BY), "annotations": annotations}, "spec": pod},
        },
    }


def _digest(plan: GraphPlan, namespace: str) -> str:
    graph = json.dumps([graph_deployment(plan, namespace), engine_files(plan)], sort_keys=True)
    return hashlib.sha256(graph.encode()).hexdigest()[:16]
