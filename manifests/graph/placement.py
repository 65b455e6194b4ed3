"""Where pods of a graph may run. Pure."""

from collections.abc import Sequence
from typing import Any

from facts.engines import Role
from facts.hardware import GPU_PRODUCT
from manifests.gpu_nodes import ARCH_LABEL, GPU_TAINT, GpuNodes, among, node_affinity
from manifests.names import ROLE_LABEL, WORKERS_LABEL
from targets.plan import GraphPlan
from targets.transport import Transport

GRAPH_LABEL = "nvidia.com/dynamo-graph-deployment-name"
COMPONENT_TYPE_LABEL = "nvidia.com/dynamo-component-type"
_HOST, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_CLIQUE = "nvidia.com/gpu.clique"


def worker_affinity(plan: GraphPlan, role: Role) -> dict[str, Any]:
    """GPU nodes of the pool, by model and architecture; workers near or apart as their transport needs.

    Workers without GPUs run wherever the image does.
    """
    affinity = pool_affinity(plan)
    if plan.pool.instance.gpu is None:
        return affinity
    if plan.target.disaggregated:
        affinity |= _together(plan)
        if plan.uses_efa and role is Role.DECODE:
            # Said once, of either role: the scheduler holds it both ways.
            prefill = {WORKERS_LABEL: plan.name, ROLE_LABEL: Role.PREFILL.value}
            apart = {"labelSelector": {"matchLabels": prefill}, "topologyKey": _HOST}
            affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
        if plan.fills_a_node:
            others = [
                {"key": WORKERS_LABEL, "operator": "Exists"},
                {"key": WORKERS_LABEL, "operator": "NotIn", "values": [plan.name]},
            ]
            term = {"labelSelector": {"matchExpressions": others}, "topologyKey": _HOST}
            affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return affinity


def pool_affinity(plan: GraphPlan) -> dict[str, Any]:
    """GPU nodes of the pool, by model and architecture; without GPUs, nodes that the image runs on."""
    gpu = plan.pool.instance.gpu
    if gpu is None:
        return on_archs(plan.image.archs)
    nodes = GpuNodes(
        product=plan.pool.gpu_product or GPU_PRODUCT[gpu], pool=plan.pool.name, alike=plan.pool.alike
    )
    return node_affinity(*nodes.selector(plan.pool.instance.arch.value))


def worker_nodes(plan: GraphPlan) -> dict[str, Any]:
    """What a worker's pod says of nodes beside its affinity: the pool's own labels, and taints that it bears."""
    pool = plan.pool
    tolerations = [GPU_TAINT.toleration] if plan.gpus else []
    tolerations += [each.model_dump(by_alias=True, exclude_none=True) for each in pool.tolerations]
    return {
        **({"nodeSelector": dict(pool.node_selector)} if pool.node_selector else {}),
        **({"tolerations": tolerations} if tolerations else {}),
    }


def _together(plan: GraphPlan) -> dict[str, Any]:
    """EFA does not cross zones, and an NVLink domain is one clique; other networks join nodes without such labels."""
    workers = {"labelSelector": {"matchLabels": {WORKERS_LABEL: plan.name}}}
    match plan.transport:
        case Transport.POD:
            return {}
        case Transport.NODE:
            near = _HOST
        case Transport.EFA:
            near = _ZONE
        case Transport.NVLINK:
            near = _CLIQUE
        case _:
            return {"podAffinity": _preference({**workers, "topologyKey": _HOST})}
    return {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{**workers, "topologyKey": near}]}
    }


def cpu_affinity(plan: GraphPlan) -> dict[str, Any]:
    """A node the image runs on, without GPUs where there is one."""
    return node_affinity(among(ARCH_LABEL, *plan.image.archs), off_gpus=True)


def on_archs(archs: Sequence[str]) -> dict[str, Any]:
    """A node that the image runs on."""
    return node_affinity(among(ARCH_LABEL, *archs))


def frontend_affinity(plan: GraphPlan) -> dict[str, Any]:
    """As any pod without GPUs; frontends of one graph apart from each other."""
    frontends = {GRAPH_LABEL: plan.name, COMPONENT_TYPE_LABEL: "frontend"}
    return {
        **cpu_affinity(plan),
        "podAntiAffinity": _preference(
            {"labelSelector": {"matchLabels": frontends}, "topologyKey": _HOST},
        ),
    }


def _preference(term: dict[str, Any]) -> dict[str, Any]:
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
