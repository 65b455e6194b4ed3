"""The program: the only place that wires components together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pulumi

from components.cluster_access import Cluster
from components.existing_cluster import ExistingCluster, ExistingClusterArgs
from components.hf_secret import HuggingFaceSecret, HuggingFaceSecretArgs
from components.inference_graph import InferenceGraph, InferenceGraphArgs
from components.model_cache import ModelCache, ModelCacheArgs
from components.platform import DynamoPlatform, DynamoPlatformArgs
from components.referenced_cluster import ReferencedCluster, ReferencedClusterArgs
from graphs.names import HTTP_PORT, TOKEN_SECRET, frontend_service
from stacks.cost import described, hourly
from stacks.sections.cluster import AwsCluster, StackCluster
from stacks.settings import PROJECT, Settings
from targets.catalogue import MODEL_ID
from targets.plan import GraphPlan, all_weights
from targets.releases import graph_api_version

if TYPE_CHECKING:
    from components.gpu_node_pool import GpuNodePool
    from stacks.wiring_eks import Eks


def build(settings: Settings) -> dict[str, Any]:
    """Declare every resource of the stack and return its outputs.

    Order: cluster → namespace → secret and claim → download → GPU nodes → graph, with the platform before GPU nodes.
    """
    plans = settings.plans()
    plan = plans[0]
    eks = _eks(settings)
    cluster: Cluster = _cluster(settings) if eks is None else eks.cluster
    on_cluster = pulumi.ResourceOptions(providers={"kubernetes": cluster.provider}, depends_on=cluster.ready)
    platform = DynamoPlatform(
        "dynamo-platform",
        DynamoPlatformArgs(graph_api_version=graph_api_version(max(each.version for each in plans))),
        on_cluster,
    )
    secret = _token_secret(settings, on_cluster)
    cache = _model_cache(settings, plans, cluster, secret)
    pool, nodes = _gpu_nodes(settings, eks, [platform, cache])
    before_graphs = pulumi.ResourceOptions(
        providers={"kubernetes": cluster.provider}, depends_on=[*cluster.ready, platform, cache, *nodes]
    )
    graphs = [
        InferenceGraph(
            # A name of its own, so that a renamed main graph replaces itself and never waits for its own GPUs.
            "graph" if each is plan else each.name,
            InferenceGraphArgs(plan=each, namespace=settings.cluster.namespace),
            before_graphs,
        )
        for each in plans
        if settings.graphs_run()
    ]
    return (_outputs(settings, plans, graphs) if graphs else {}) | _eks_outputs(settings, eks, pool)


def _cluster(settings: Settings) -> Cluster:
    said = settings.cluster
    if isinstance(said, StackCluster):
        return ReferencedCluster(
            "cluster",
            ReferencedClusterArgs(
                stack=said.stack,
                namespace=said.namespace,
                create_namespace=said.create_namespace,
                retain=settings.cache.retain,
            ),
        )
    assert not isinstance(said, AwsCluster), "the caller makes those"
    return ExistingCluster(
        "cluster",
        ExistingClusterArgs(
            kubeconfig=said.kubeconfig,
            context=said.context,
            namespace=said.namespace,
            create_namespace=said.create_namespace,
            retain=settings.cache.retain,
        ),
    )


def _eks(settings: Settings) -> "Eks | None":
    if not isinstance(settings.cluster, AwsCluster):
        return None
    from stacks import wiring_eks  # noqa: PLC0415  no other stack loads pulumi_aws

    return wiring_eks.eks(settings, PROJECT, pulumi.get_stack())


def _gpu_nodes(
    settings: Settings, eks: "Eks | None", before_paying: Sequence[pulumi.Resource]
) -> tuple["GpuNodePool | None", list[pulumi.Resource]]:
    """The GPU pool, and everything that graphs wait for."""
    if eks is None:
        return None, []
    from stacks import wiring_eks  # noqa: PLC0415  no other stack loads pulumi_aws

    enablement = wiring_eks.gpu_enablement(settings, eks)
    pool = wiring_eks.gpu_pool(settings, eks, [*before_paying, *enablement])
    return pool, [*enablement, *([pool] if pool else [])]


def _token_secret(settings: Settings, on_cluster: pulumi.ResourceOptions) -> HuggingFaceSecret | None:
    said = settings.hugging_face
    if said.token is None and said.existing_secret is None:
        return None
    return HuggingFaceSecret(
        "hugging-face",
        HuggingFaceSecretArgs(
            namespace=settings.cluster.namespace,
            token=None if said.token is None else pulumi.Output.secret(said.token.get_secret_value()),
            existing_secret=said.existing_secret,
        ),
        on_cluster,
    )


def _model_cache(
    settings: Settings,
    plans: Sequence[GraphPlan],
    cluster: Cluster,
    secret: HuggingFaceSecret | None,
) -> ModelCache:
    plan = plans[0]
    return ModelCache(
        "model-cache",
        ModelCacheArgs(
            namespace=settings.cluster.namespace,
            weights=all_weights(plans),
            size=settings.cache.size,
            storage_class=settings.cache.storage_class,
            image=plan.image,
            archs=plan.image_knobs.archs,
            token_secret=None if secret is None else settings.hugging_face.existing_secret or TOKEN_SECRET,
            pull_secret=plan.image_knobs.pull_secret,
        ),
        pulumi.ResourceOptions(
            providers={"kubernetes": cluster.provider},
            depends_on=[*cluster.ready, *([secret] if secret else [])],
        ),
    )


def _outputs(
    settings: Settings, plans: Sequence[GraphPlan], graphs: Sequence[InferenceGraph]
) -> dict[str, Any]:
    """The stack's outputs; they are about the main graph, but `endpoints` (by graph) and `gpus` (in all)."""
    plan, graph = plans[0], graphs[0]
    namespace, service = settings.cluster.namespace, frontend_service(plan.name)
    gpu = plan.pool.instance.gpu
    return {
        "endpoint": graph.endpoint,
        "endpoints": {each.name: made.endpoint for each, made in zip(plans, graphs, strict=True)},
        "namespace": namespace,
        "graph": graph.name,
        "model": MODEL_ID,
        "target": plan.target.name,
        "gpus": {gpu.value: sum(each.gpus for each in plans)} if gpu else {},
        "portForward": f"kubectl port-forward --namespace {namespace} service/{service} {HTTP_PORT}:{HTTP_PORT}",
    }


def _eks_outputs(settings: Settings, eks: "Eks | None", pool: "GpuNodePool | None") -> dict[str, Any]:
    cost = hourly(settings)
    if eks is None or cost is None:
        return {}
    return {
        "cluster": eks.cluster.name,
        "kubeconfig": pulumi.Output.secret(eks.cluster.kubeconfig),
        "cost": described(cost, settings.measured_tokens_per_second),
        **({"capacityBlock": pool.window} if pool is not None and pool.window is not None else {}),
    }
