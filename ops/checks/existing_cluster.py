"""What a stack finds on a cluster that is there: drivers of its GPU nodes, and the services that its graphs talk over.

What the cluster does not tell is not judged: nodes without labels of GPU feature discovery, services outside of it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from facts.engines import Engine
from facts.hardware import GPU_PRODUCT, Gpu
from manifests.gpu_nodes import GPU_PRODUCT_LABEL
from manifests.kubectl import Kubectl
from ops.deploy.preflight import PreflightError
from stacks.plan import StackPlan
from targets.plan import GraphPlan
from targets.platform import Platform
from targets.pool import Pool

BLACKWELL = (Gpu.B200, Gpu.B300, Gpu.GB200)
CUDA_NEEDED = (12, 8)
"""Of the TensorRT-LLM guides, and the first that knows Blackwell."""
_CUDA_LABELS = (
    ("nvidia.com/cuda.runtime-version.major", "nvidia.com/cuda.runtime-version.minor"),
    ("nvidia.com/cuda.runtime.major", "nvidia.com/cuda.runtime.minor"),
)
"""The newest CUDA that a node's driver runs, as GPU feature discovery says it: today's labels, and those before."""


def check(plan: StackPlan, kubectl: Kubectl) -> None:
    """Raise PreflightError for what would keep the stack's graphs from running, one sentence a problem."""
    plans = plan.graphs
    problems = [*drivers(plans, kubectl), *services(plan.platform.wanted, kubectl)]
    if problems:
        raise PreflightError("\n".join(problems))


def drivers(plans: tuple[GraphPlan, ...], kubectl: Kubectl) -> Iterator[str]:
    """A sentence for every node that a graph may run on and whose driver is too old for it."""
    nodes = _items(kubectl, "nodes")
    for plan in plans:
        gpu = plan.pool.instance.gpu
        if gpu is None or not (gpu in BLACKWELL or plan.target.engine is Engine.TRTLLM):
            continue
        for node in nodes:
            cuda = _cuda(node["metadata"].get("labels", {}))
            if is_of_pool(node, plan.pool) and cuda and cuda < CUDA_NEEDED:
                yield (
                    f"{plan.key}: node {node['metadata']['name']} has a driver for CUDA {cuda[0]}.{cuda[1]}, but "
                    f"{plan.name} needs {CUDA_NEEDED[0]}.{CUDA_NEEDED[1]} or newer; install a newer NVIDIA driver there"
                )


def is_of_pool(node: Mapping[str, Any], pool: Pool) -> bool:
    """Whether the node has the labels by which workers of the pool choose theirs."""
    assert pool.instance.gpu is not None
    product = pool.gpu_product or GPU_PRODUCT[pool.instance.gpu]
    wanted = {GPU_PRODUCT_LABEL: product, **dict(pool.node_selector)}
    return bool(wanted.items() <= node["metadata"].get("labels", {}).items())


def services(platform: Platform, kubectl: Kubectl) -> Iterator[str]:
    """A sentence for NATS and etcd where graphs need them and the cluster has them, but none that is ready."""
    for name, needed in (("nats", platform.nats), ("etcd", platform.etcd)):
        label = f"--selector=app.kubernetes.io/name={name}"
        pods = _items(kubectl, "pods", "--all-namespaces", label) if needed else []
        if pods and not any(map(_ready, pods)):
            where = ", ".join(sorted(f"{p['metadata']['namespace']}/{p['metadata']['name']}" for p in pods))
            yield f"platform: its graphs need {name}, but none of its pods is ready ({where}); see their logs"


def _cuda(labels: Mapping[str, str]) -> tuple[int, int] | None:
    for major, minor in _CUDA_LABELS:
        if labels.get(major, "").isdigit() and labels.get(minor, "").isdigit():
            return int(labels[major]), int(labels[minor])
    return None


def _ready(pod: Mapping[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _items(kubectl: Kubectl, *what: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(kubectl("get", *what, "--output=json"))["items"]
    return items
