"""What a stack tells other programs and its people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pulumi

from components.graph.inference_graph import InferenceGraph
from components.kubernetes_objects import KubernetesObjects
from facts.weights import MODEL_ID
from manifests.names import HTTP_PORT, frontend_service
from stacks.cost import cost_output
from stacks.plan import StackPlan
from targets.knobs import MAIN_POOL
from targets.plan import GraphPlan

if TYPE_CHECKING:
    from components.nodes.gpu_node_pool import GpuNodePool
    from stacks.wiring.eks import Eks


def of_graphs(
    stack: StackPlan,
    plans: Sequence[GraphPlan],
    graphs: Sequence[InferenceGraph],
    ingress: KubernetesObjects | None,
) -> dict[str, Any]:
    """What the stack is, and what its graphs give: of the first one, but `endpoints` (by graph) and `gpus` (by model).

    What does not hang on running nodes is always there, so that another program can rely on it.
    """
    namespace = stack.cluster.namespace
    always = {"namespace": namespace, "model": MODEL_ID, "target": stack.target.name}
    if not graphs:
        return always
    plan, graph = plans[0], graphs[0]
    service = frontend_service(plan.name)
    gpus = Counter[str]()
    for each in plans:
        if each.pool.instance.gpu:
            gpus[each.pool.instance.gpu.value] += each.gpus
    return {
        **always,
        "endpoint": graph.endpoint,
        "endpoints": {each.name: made.endpoint for each, made in zip(plans, graphs, strict=True)},
        "graph": graph.name,
        "gpus": dict(gpus),
        "portForward": f"kubectl port-forward --namespace {namespace} service/{service} {HTTP_PORT}:{HTTP_PORT}",
        **({"publicEndpoint": ingress.results["endpoint"]} if ingress else {}),
    }


def of_eks(stack: StackPlan, eks: "Eks | None", pools: "Mapping[str, GpuNodePool]") -> dict[str, Any]:
    """What another program needs to put something beside the stack; nothing of a cluster that is not AWS's."""
    if eks is None:
        return {}
    windows = {name: pool.window for name, pool in pools.items() if pool.window is not None}
    return {
        "cluster": eks.cluster.name,
        "kubeconfig": pulumi.Output.secret(eks.cluster.kubeconfig),
        "cost": cost_output(stack),
        "vpcId": eks.vpc_id,
        "privateSubnets": list(eks.subnets.values()),
        "securityGroupId": eks.cluster.security_group_id,
        "nodeGroups": {name: pool.node_group_name for name, pool in pools.items()},
        **({"capacityBlock": windows[MAIN_POOL]} if MAIN_POOL in windows else {}),
        **({"capacityBlocks": windows} if len(stack.pools) > 1 and windows else {}),
    }
