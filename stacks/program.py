"""The program: the only place that wires components together."""

from collections.abc import Sequence
from typing import Any

import pulumi

from components.existing_cluster import ExistingCluster, ExistingClusterArgs
from components.hf_secret import HuggingFaceSecret, HuggingFaceSecretArgs
from components.inference_graph import InferenceGraph, InferenceGraphArgs
from components.model_cache import ModelCache, ModelCacheArgs
from components.platform import DynamoPlatform, DynamoPlatformArgs
from graphs.names import HTTP_PORT, TOKEN_SECRET, frontend_service
from stacks.settings import Settings
from targets.catalogue import MODEL_ID
from targets.plan import GraphPlan, all_weights
from targets.releases import graph_api_version


def build(settings: Settings) -> dict[str, Any]:
    """Declare every resource of the stack and return its outputs.

    Order: namespace → secret and claim → download → graph, with the platform before the graph.
    """
    plans = settings.plans()
    plan = plans[0]
    cluster = _cluster(settings)
    on_cluster = pulumi.ResourceOptions(providers={"kubernetes": cluster.provider}, depends_on=cluster.ready)
    platform = DynamoPlatform(
        "dynamo-platform",
        DynamoPlatformArgs(graph_api_version=graph_api_version(max(each.version for each in plans))),
        on_cluster,
    )
    secret = _token_secret(settings, on_cluster)
    cache = _model_cache(settings, plans, cluster, secret)
    before_graphs = pulumi.ResourceOptions(
        providers={"kubernetes": cluster.provider}, depends_on=[*cluster.ready, platform, cache]
    )
    graphs = [
        InferenceGraph(
            each.name, InferenceGraphArgs(plan=each, namespace=settings.cluster.namespace), before_graphs
        )
        for each in plans
    ]
    return _outputs(settings, plans, graphs)


def _cluster(settings: Settings) -> ExistingCluster:
    said = settings.cluster
    return ExistingCluster(
        "cluster",
        ExistingClusterArgs(
            kubeconfig=said.kubeconfig,
            context=said.context,
            namespace=said.namespace,
            create_namespace=said.create_namespace,
        ),
    )


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
    cluster: ExistingCluster,
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
