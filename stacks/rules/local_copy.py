"""Whether nodes have room for the copies of the weights that their pods make. Pure."""

import math
from collections.abc import Iterator, Sequence

from facts.hardware import InstanceType
from targets.plan import GraphPlan

_DISK_SHARE = 0.9
"""Of a node's disk, for pods: the kubelet evicts them when less than a tenth is free."""


def local_copy_problems(plans: Sequence[GraphPlan], *, own_nodes: bool) -> Iterator[str]:
    """Where nothing can be copied to the nodes' disks, or more than they have room for.

    own_nodes: whether the stack makes the nodes, so that their pods are on local NVMe; of others nothing is known.
    """
    if not any(plan.cache.local_copy for plan in plans):
        return
    copying = [plan for plan in plans if plan.copied_weights]
    if not copying and not plans[0].cache.from_bucket:
        yield f"{_copied_by(plans[0])}, but no graph of the stack loads weights; leave it out"
    elif own_nodes:
        for pool in dict.fromkeys(plan.pool for plan in copying):
            yield from _copies([plan for plan in copying if plan.pool == pool], pool.instance)


def compiled_problems(plans: Sequence[GraphPlan]) -> Iterator[str]:
    """Where engines' compiled kernels are to be kept, and there are none."""
    if plans[0].cache.compiled_folder and not any(plan.target.gpu_models for plan in plans):
        yield "cache.node.compiled: true, but no graph of the stack compiles anything; leave it out"


def _copies(plans: Sequence[GraphPlan], instance: InstanceType) -> Iterator[str]:
    workers = 1 if plans[0].cache.node_folder else _on_one_node(plans)
    gib = max(plan.copy_gib for plan in plans)
    needed, room = workers * gib * 2**30 / 1e9, math.prod(instance.nvme_gb) * _DISK_SHARE
    if needed > room:
        yield (
            f"{_copied_by(plans[0])} needs {needed:.0f} GB on a node ({workers} × {gib} GiB), but the local NVMe of "
            f"{instance.name} has room for {room:.0f} GB; "
            + ("choose another kind" if plans[0].cache.from_bucket else "leave it out")
        )


def _copied_by(plan: GraphPlan) -> str:
    """The key that has the weights copied."""
    if plan.cache.node_folder:
        return "cache.localCopy: node"
    return "cache.kind: 's3'" if plan.cache.from_bucket else "cache.localCopy: true"


def _on_one_node(plans: Sequence[GraphPlan]) -> int:
    """The most worker pods that one node can have: of the smallest, as many as its GPUs are for."""
    pods = [
        planned.worker.gpus // planned.nodes
        for plan in plans
        for planned in plan.workers
        for _ in range(planned.worker.replicas * planned.nodes)
    ]
    return min(len(pods), plans[0].pool.instance.gpus // min(pods))
