"""Where pods of a graph may run. Pure."""

from typing import Any

from graphs.names import POOL_LABEL, ROLE_LABEL, WORKERS_LABEL
from targets.catalogue import Role
from targets.hardware import GPU_PRODUCT
from targets.knobs import MAIN_POOL
from targets.plan import GraphPlan, Pool
from targets.transport import Transport

GPU_TAINT_KEY = "nvidia.com/gpu"
GPU_PRESENT_LABEL = "nvidia.com/gpu.present"
GPU_PRODUCT_LABEL = "nvidia.com/gpu.product"
ARCH_LABEL = "kubernetes.io/arch"
GRAPH_LABEL = "nvidia.com/dynamo-graph-deployment-name"
COMPONENT_TYPE_LABEL = "nvidia.com/dynamo-component-type"
_HOST, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_CLIQUE = "nvidia.com/gpu.clique"


def gpu_toleration() -> dict[str, str]:
    """Tolerates the GPU nodes' taint whatever its value, which differs between clusters."""
    return {"key": GPU_TAINT_KEY, "operator": "Exists", "effect": "NoSchedule"}


def pool_labels(name: str) -> dict[str, str]:
    """Labels of a pool's nodes that tell it from the others; the main pool is the one without."""
    return {} if name == MAIN_POOL else {POOL_LABEL: name}


def worker_affinity(plan: GraphPlan, role: Role) -> dict[str, Any]:
    """GPU nodes of the pool, by model and architecture; workers near or apart as their transport needs.

    Workers without GPUs run wherever the image does.
    """
    gpu = plan.pool.instance.gpu
    if gpu is None:
        return {"nodeAffinity": _required(_in(ARCH_LABEL, *plan.image_knobs.archs))}
    affinity: dict[str, Any] = {
        "nodeAffinity": _required(
            _in(GPU_PRESENT_LABEL, "true"),
            _in(GPU_PRODUCT_LABEL, plan.pool.gpu_product or GPU_PRODUCT[gpu]),
            _in(ARCH_LABEL, plan.pool.instance.arch.value),
            *_of_pool(plan.pool),
        )
    }
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


def worker_nodes(plan: GraphPlan) -> dict[str, Any]:
    """What a worker's pod says of nodes beside its affinity: the pool's own labels, and taints that it bears."""
    pool = plan.pool
    tolerations = [gpu_toleration()] if plan.gpus else []
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
            return {"podAffinity": _preferred({**workers, "topologyKey": _HOST})}
    return {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{**workers, "topologyKey": near}]}
    }


def cpu_affinity(plan: GraphPlan) -> dict[str, Any]:
    """A node the image runs on, without GPUs where there is one."""
    without_gpu = {"matchExpressions": [{"key": GPU_PRESENT_LABEL, "operator": "DoesNotExist"}]}
    return {
        "nodeAffinity": {
            **_required(_in(ARCH_LABEL, *plan.image_knobs.archs)),
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": without_gpu}],
        }
    }


def frontend_affinity(plan: GraphPlan) -> dict[str, Any]:
    """As any pod without GPUs; frontends of one graph apart from each other."""
    frontends = {GRAPH_LABEL: plan.name, COMPONENT_TYPE_LABEL: "frontend"}
    return {
        **cpu_affinity(plan),
        "podAntiAffinity": _preferred(
            {"labelSelector": {"matchLabels": frontends}, "topologyKey": _HOST},
        ),
    }


def _of_pool(pool: Pool) -> list[dict[str, Any]]:
    """Only where the GPU's model does not say it: nodes of a cluster that was there need no label then."""
    if not pool.alike:
        return []
    if pool.name == MAIN_POOL:
        return [{**_in(POOL_LABEL, *pool.alike), "operator": "NotIn"}]
    return [_in(POOL_LABEL, pool.name)]


def _in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def _required(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = [{"matchExpressions": list(expressions)}]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def _preferred(term: dict[str, Any]) -> dict[str, Any]:
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
