"""The program: the only place that wires components together."""

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
from targets.plan import GraphPlan
from targets.releases import graph_api_version


def build(settings: Settings) -> dict[str, Any]:
    """Declare every resource of the stack and return its outputs.

    Order: namespace → secret and claim → download → graph, with the platform before the graph.
    """
    plan = settings.plan()
    cluster = _cluster(settings)
    on_cluster = pulumi.ResourceOptions(providers={"kubernetes": cluster.provider}, depends_on=cluster.ready)
    platform = DynamoPlatform(
        "dynamo-platform",
        DynamoPlatformArgs(graph_api_version=graph_api_version(plan.version)),
        on_cluster,
    )
    secret = _token_secret(settings, on_cluster)
    cache = _model_cache(settings, plan, cluster, secret)
    graph = InferenceGraph(
        plan.name,
        InferenceGraphArgs(plan=plan, namespace=settings.cluster.namespace),
        pulumi.ResourceOptions(
            providers={"kubernetes": cluster.provider}, depends_on=[*cluster.ready, platform, cache]
        ),
    )
    return _outputs(settings, plan, graph)


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
    settings: Settings, plan: GraphPlan, cluster: ExistingCluster, secret: HuggingFaceSecret | None
) -> ModelCache:
    return ModelCache(
        "model-cache",
        ModelCacheArgs(
            namespace=settings.cluster.namespace,
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


def _outputs(settings: Settings, plan: GraphPlan, graph: InferenceGraph) -> dict[str, Any]:
    namespace, service = settings.cluster.namespace, frontend_service(plan.name)
    return {
        "endpoint": graph.endpoint,
        "namespace": namespace,
        "graph": graph.name,
        "model": MODEL_ID,
        "target": plan.target.name,
        "gpus": {str(plan.pool.instance.gpu): plan.gpus},
        "portForward": f"kubectl port-forward --namespace {namespace} service/{service} {HTTP_PORT}:{HTTP_PORT}",
    }
