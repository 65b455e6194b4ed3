"""What `graph.transport` cannot be on a pool, a release or an engine. Pure.

Sources: Dynamo's guides to disaggregated communication and to EFA on AWS, and the reports that messages name.
"""

import math
from collections.abc import Iterator

from facts.engines import Engine, Role
from facts.hardware import Gpu
from facts.releases import EFA_IMAGES_SINCE, LATEST_PATCH, Version
from targets.plan import GraphPlan
from targets.transport import POD_SINCE, SLOW, Transport


def transport_problems(plan: GraphPlan) -> Iterator[str]:
    """What cannot work of the way that KV cache is to take."""
    key = f"{plan.key}.transport"
    if not plan.target.disaggregated:
        return
    if not plan.target.gpu_models:
        if plan.handover.chosen and plan.transport is not Transport.NODE:
            yield f"{key}: {plan.transport.value!r}, but the workers of target {plan.target.name} move no KV cache"
        return
    if plan.at_most.gpus > plan.pool.gpus:
        return  # which is refused anyway, and what connects its nodes is then no question
    yield from _choice(plan, key)
    yield from _RULES.get(plan.transport, _nothing)(plan, key)
    yield from _grants(plan)


def _choice(plan: GraphPlan, key: str) -> Iterator[str]:
    """Where the default would be slow, the user says what connects the nodes."""
    if plan.transport is Transport.TCP and not plan.handover.chosen:
        yield (
            f"{key}: the workers of {plan.name} do not fit one node, and nothing says what connects the nodes; say "
            f"rdma (InfiniBand or RoCE), nvlink (one GB200 NVLink domain) or tcp ({SLOW})"
        )


def _pod(plan: GraphPlan, key: str) -> Iterator[str]:
    if plan.version < POD_SINCE:
        yield (
            f"{key}: 'pod' needs discovery that tells workers of one pod apart, which Dynamo {plan.version} does not "
            f"(dynamo PR#8067); use dynamoVersion {LATEST_PATCH['1.2']} or newer, or transport node"
        )
    if plan.frontend.inference_extension:
        yield f"{key}: 'pod' has all workers in one pod, and an endpoint picker chooses among pods; choose node"
    for planned in plan.autoscaled:
        yield (
            f"{key}: 'pod' has all workers in one pod, but {plan.key}.{planned.role}.maxReplicas lets them be "
            "scaled one by one; choose node, or leave it out"
        )
    yield from _node(plan, key)


def _node(plan: GraphPlan, key: str) -> Iterator[str]:
    most, node, transport = plan.at_most, plan.pool.instance.gpus, repr(plan.transport.value)
    between = "efa" if _has_efa(plan) else "rdma, nvlink or tcp"
    for planned in plan.workers:
        if planned.nodes > 1:
            yield (
                f"{key}: {transport} keeps all workers on one node, but one {planned.role} worker spans "
                f"{planned.nodes}; choose {between}"
            )
    if most.gpus > node:
        yield (
            f"{key}: {transport} keeps all workers on one node, but {plan.name} needs {most.gpus} GPUs "
            f"and {plan.pool.instance.name} has {node}; choose {between}"
        )


def _efa(plan: GraphPlan, key: str) -> Iterator[str]:
    instance = plan.pool.instance
    if not instance.efa_devices:
        yield f"{key}: 'efa', but {instance.name} has no EFA"
    elif not plan.pool.efa:
        yield (
            f"{key}: 'efa' is AWS's network, which a cluster of kind existing is not known to have; say rdma "
            "(InfiniBand or RoCE), nvlink or tcp, or cluster.efa: true where its nodes offer vpc.amazonaws.com/efa"
        )
    if plan.version < EFA_IMAGES_SINCE:
        yield (
            f"{key}: 'efa' needs an image with EFA's libraries, of which Dynamo {plan.version} publishes none; "
            f"use dynamoVersion {LATEST_PATCH['1.0']} or newer"
        )
    if plan.target.engine is Engine.SGLANG and plan.version <= Version(1, 3, 1):
        yield (
            f"{key}: 'efa' with SGLang {plan.version} answers 200 with nothing in it after about 300 s "
            "(dynamo#12106); keep the graph on one node (transport node) or use dynamoVersion "
            f"{LATEST_PATCH['1.4']} or newer"
        )
    if instance.gpu is Gpu.GB200 and plan.version < Version(1, 3):
        yield (
            f"{key}: 'efa' on GB200 with Dynamo {plan.version} cannot register GPU memory "
            f"(libfabric#12019, nixl#1609); use dynamoVersion {LATEST_PATCH['1.3']} or newer"
        )
    yield from _apart(plan, key)


def _apart(plan: GraphPlan, key: str) -> Iterator[str]:
    """EFA fails with EAGAIN between workers of one node, so each role has nodes of its own."""
    needed = {planned.role: _nodes(plan, planned.role) for planned in plan.at_most.workers}
    if sum(needed.values()) > plan.pool.nodes:
        parts = " + ".join(f"{role} {nodes}" for role, nodes in needed.items())
        yield (
            f"{key}: 'efa' needs prefill and decode on different nodes (on one it fails with EAGAIN), which are "
            f"{sum(needed.values())} ({parts}), but the pool has {plan.pool.nodes}; raise {plan.pool.key}.nodes or "
            "keep the graph on one node (transport node)"
        )


def _nodes(plan: GraphPlan, role: Role) -> int:
    """Nodes that the workers of a role take."""
    planned = next(each for each in plan.at_most.workers if each.role is role)
    gpus = planned.worker.gpus // planned.nodes
    beside = max(plan.pool.instance.gpus // max(gpus, 1), 1)
    return math.ceil(planned.worker.replicas * planned.nodes / beside)


def _rdma(plan: GraphPlan, key: str) -> Iterator[str]:
    if _has_efa(plan):
        yield f"{key}: 'rdma' is InfiniBand or RoCE, and {plan.pool.instance.name} on AWS has EFA; say efa"


def _nvlink(plan: GraphPlan, key: str) -> Iterator[str]:
    gpu = plan.pool.instance.gpu
    if gpu is not Gpu.GB200:
        yield (
            f"{key}: 'nvlink' is the NVLink domain of several GB200 nodes, and {plan.pool.instance.name} has {gpu}; "
            f"choose {_instead(plan)}"
        )
    elif plan.target.engine is not Engine.TRTLLM:
        yield (
            f"{key}: 'nvlink' needs KV cache in memory with fabric handles, which {plan.target.engine.value} does not "
            f"allocate, so that it goes over TCP without a word (vllm PR#51377); choose {_instead(plan)}"
        )


def _instead(plan: GraphPlan) -> str:
    """The transports that the pool and the release have for the graph, but the NVLink domain of several nodes."""
    most, choices = plan.at_most, ["efa"] if _has_efa(plan) else ["rdma", "tcp"]
    if most.gpus <= plan.pool.instance.gpus and all(planned.nodes == 1 for planned in plan.workers):
        one_by_one = plan.autoscaled or plan.frontend.inference_extension or plan.version < POD_SINCE
        in_one = ["node"] if one_by_one else ["pod", "node"]
        choices = in_one + (choices if plan.pool.nodes > 1 else [])
    return " or ".join(filter(None, (", ".join(choices[:-1]), choices[-1])))


def _grants(plan: GraphPlan) -> Iterator[str]:
    key, handover = f"{plan.key}.kvTransfer", plan.handover
    if handover.backend is not None and plan.transport is not Transport.EFA:
        yield f"{key}.backend: {handover.backend!r} is a choice over EFA alone, and this graph has {plan.transport}"
    if plan.grants == "privileged" and plan.pods_share_nodes:
        yield (
            f"{key}.grants: 'privileged' shows a container every GPU of its node (k8s-device-plugin#336), and a node "
            f"that has a worker of {plan.name} may have another pod's GPUs too; say capabilities"
        )
    if handover.grants == "none" and plan.transport in (Transport.EFA, Transport.RDMA):
        yield (
            f"{key}.grants: 'none' cannot register memory for {plan.transport}, which takes root (a capability of "
            "another user is without effect, nvidia-container-toolkit#2037); choose capabilities or privileged"
        )


def _nothing(plan: GraphPlan, key: str) -> Iterator[str]:
    return iter(())


def _has_efa(plan: GraphPlan) -> bool:
    return plan.pool.efa and plan.pool.instance.efa_devices > 0


_RULES = {
    Transport.POD: _pod,
    Transport.NODE: _node,
    Transport.EFA: _efa,
    Transport.RDMA: _rdma,
    Transport.NVLINK: _nvlink,
}
