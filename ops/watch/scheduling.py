"""Why a pod finds no node, with what the nodes have and who holds it. Pure."""

from collections.abc import Mapping
from typing import Any

from manifests.gpu_nodes import GPU_PRODUCT_LABEL, GPU_TAINT
from manifests.names import POOL_LABEL
from ops.watch.pods import Pod
from ops.watch.snapshot import Node, Snapshot
from stacks.plan import StackPlan
from stacks.sections.cluster import AwsCluster
from targets.pool import Pool

_BORNE = (GPU_TAINT.key, "node.kubernetes.io/")
"""Taints that workers bear, or that pass by themselves."""


def no_room(pod: Pod, message: str, found: Snapshot, plan: StackPlan) -> str:
    """A sentence that ends with the keys that mend it. message: the scheduler's own words."""
    says = f"the scheduler says: {message}"
    if not pod.gpus:
        return f"cannot be placed: {message}"
    pool = _pool_of(pod, plan)
    fitting = [node for node in found.nodes if _fits(node, pod)]
    if not found.nodes:
        return f"needs {pod.gpus} GPUs on one node and finds none; {says}"
    if not fitting:
        return f"{_none_of_the_kind(pod, found, plan, pool)}; {says}"
    taints = sorted({taint for node in fitting for taint in node.taints if not taint.startswith(_BORNE)})
    if "untolerated taint" in message and taints:
        return f"its nodes have taints: {', '.join(taints)}; bear them by {pool.key}.tolerations; {says}"
    have = ", ".join(_room(node, found) for node in fitting)
    return (
        f"needs {pod.gpus} GPUs on one node, and none has them free: {have}; free some, add nodes "
        f"({pool.key}.nodes), or make the graph smaller ({_graph_key(pod, plan)}.*.replicas, tensorParallel); {says}"
    )


def _none_of_the_kind(pod: Pod, found: Snapshot, plan: StackPlan, pool: Pool) -> str:
    product = next(iter(_values(pod, GPU_PRODUCT_LABEL)), "GPUs")
    of_pool = f" and label {_selector(pod.demands[POOL_LABEL])}" if POOL_LABEL in pod.demands else ""
    none = f"needs {pod.gpus} GPUs on one node, and the cluster has no node with {product}{of_pool}"
    if isinstance(plan.cluster, AwsCluster):
        return f"{none} yet; its node group is asked for {pool.nodes} ({pool.key})"
    models = sorted({node.product for node in found.gpu_nodes if node.product})
    there = f"GPUs there: {', '.join(models) or 'none that a label names'}"
    if of_pool:
        return f"{none} ({there}); label the pool's nodes, or name another {pool.key}"
    return f"{none} ({there}); say what is there in {pool.key}.gpuProduct or choose another target"


def _pool_of(pod: Pod, plan: StackPlan) -> Pool:
    return next((each.pool for each in plan.graphs if each.name == pod.of), plan.main_pool)


def _graph_key(pod: Pod, plan: StackPlan) -> str:
    return next((each.key for each in plan.graphs if each.name == pod.of), plan.main.key)


def _fits(node: Node, pod: Pod) -> bool:
    """Whether the node has the labels that the pod demands."""
    return all(_holds(expression, node.labels.get(key)) for key, expression in pod.demands.items())


def _holds(expression: Mapping[str, Any], value: str | None) -> bool:
    among = value in expression.get("values", ())
    return not among if expression["operator"] == "NotIn" else among


def _values(pod: Pod, key: str) -> list[str]:
    return list(pod.demands.get(key, {}).get("values", ()))


def _room(node: Node, found: Snapshot) -> str:
    product = node.product or "GPU"
    holders: dict[str, int] = {}
    for each in found.holders:
        if each.node == node.name and each.holds:
            who = f"{each.of or each.name} in {each.namespace}"
            holders[who] = holders.get(who, 0) + each.gpus
    by = f" by {', '.join(f'{who} ({gpus})' for who, gpus in sorted(holders.items()))}" if holders else ""
    state = "" if node.ready and node.schedulable else ", not ready" if not node.ready else ", cordoned"
    return f"node {node.name} has {node.gpus} × {product}, {sum(holders.values())} taken{by}{state}"


def _selector(expression: Mapping[str, Any]) -> str:
    """As kubectl takes it, for example `dynamo-gpt-oss/pool in (copy)`."""
    return f"{expression['key']} {expression['operator'].lower()} ({','.join(expression['values'])})"
