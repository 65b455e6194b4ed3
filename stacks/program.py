"""The program: the only place that wires components together."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pulumi

from components.benchmark import Benchmark, BenchmarkArgs
from components.cluster_access import Cluster
from components.existing_cluster import ExistingCluster, ExistingClusterArgs
from components.inference_graph import InferenceGraph, InferenceGraphArgs
from components.ingress import Ingress
from components.made_namespaces import made_namespaces
from components.model_cache import ModelCache, ModelCacheArgs
from components.platform import DynamoPlatform
from components.referenced_cluster import ReferencedCluster, ReferencedClusterArgs
from components.time_to_live import TimeToLive, TimeToLiveArgs
from components.verification import Verification, VerificationArgs
from graphs.names import HTTP_PORT, TOKEN_SECRET, frontend_service
from graphs.time_to_live import NodeGroups, TimeToLiveSpec
from stacks import wiring_services as services
from stacks.cost import described
from stacks.sections.cluster import AwsCluster, StackCluster
from stacks.settings import PROJECT, Settings
from stacks.wiring_services import Storage
from targets.catalogue import MODEL_ID
from targets.knobs import MAIN_POOL
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
    namespaces = made_namespaces()
    eks = _eks(settings)
    cluster: Cluster = _cluster(settings) if eks is None else eks.cluster
    monitoring = services.monitoring(settings, cluster)
    token, pull_secret, platform_needs = _secrets(settings, eks, cluster)
    inference_extension = services.inference_extension(plan, cluster)
    platform = services.platform(
        settings, plans, [*monitoring, *platform_needs, *inference_extension], cluster
    )
    end, ends_at = _time_to_live(settings, plan, eks, platform, cluster)
    storage = _storage(settings, plans, eks, cluster)
    cache = _model_cache(settings, plans, cluster, storage, [*token, *pull_secret])
    deployed = [each for each in plans if each.pool.runs]
    services.watch(settings, deployed, monitoring, cluster)
    sizing = services.sizing(settings, plan, [platform, cache], cluster)
    keda = services.keda(settings, cluster)
    image_pull = services.image_pull(settings, plans, pull_secret, cluster) if eks else []
    enablement, pools = _gpu_nodes(settings, eks, [platform, cache, *image_pull, *end])
    graphs = [
        InferenceGraph(
            # A name of its own, so that a renamed main graph replaces itself and never waits for its own GPUs.
            "graph" if each is plan else each.name,
            InferenceGraphArgs(
                plan=each, namespace=settings.cluster.namespace, image=_built_image(settings, each)
            ),
            pulumi.ResourceOptions(
                providers={"kubernetes": cluster.provider},
                depends_on=[*cluster.ready, platform, cache, *enablement, *_nodes_of(each, pools)],
            ),
        )
        for each in deployed
    ]
    if graphs:
        services.autoscaling(settings, deployed, [*keda, *graphs], cluster)
    ingress = services.ingress(settings, graphs[0], plan, cluster) if plan.pool.runs else None
    verified = _verified(settings, deployed, graphs, cluster)
    if settings.benchmark.run and plan.pool.runs:
        _benchmark(settings, plan, cluster, verified)
    return {
        **_outputs(settings, deployed, graphs, ingress),
        **({"sizing": sizing.name} if sizing else {}),
        **ends_at,
        **({"fileSystemId": storage.file_system_id} if storage.file_system_id else {}),
        **({"bucket": storage.bucket.name} if storage.bucket else {}),
        **_eks_outputs(settings, eks, pools),
        # A destroy that was broken off knows from here what was its own.
        **({"namespaces": sorted(set(namespaces))} if eks else {}),
    }


def _built_image(settings: Settings, plan: GraphPlan) -> pulumi.Output[str] | None:
    if plan.image_knobs.build is None:
        return None
    from stacks import wiring_images  # noqa: PLC0415  no other stack loads pulumi_aws

    return wiring_images.built_image(settings, plan, PROJECT, pulumi.get_stack())


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
) -> tuple[list[pulumi.Resource], "Mapping[str, GpuNodePool]"]:
    """What makes GPUs usable, and the pools by name."""
    if eks is None:
        return [], {}
    from stacks import wiring_eks  # noqa: PLC0415  no other stack loads pulumi_aws

    enablement = wiring_eks.gpu_enablement(settings, eks)
    return enablement, wiring_eks.gpu_pools(settings, eks, [*before_paying, *enablement])


def _nodes_of(plan: GraphPlan, pools: "Mapping[str, GpuNodePool]") -> list[pulumi.Resource]:
    """The graph's own pool: it waits for no other's nodes."""
    return [pools[plan.pool.name]] if plan.pool.name in pools else []


def _secrets(
    settings: Settings, eks: "Eks | None", cluster: Cluster
) -> tuple[list[pulumi.Resource], list[pulumi.Resource], list[pulumi.Resource]]:
    """The token, the pull Secret, and what the platform waits for: its namespace with that Secret in it."""
    own = services.platform_namespace(settings, cluster)
    namespaces = [settings.cluster.namespace, *([settings.platform.namespace] if own else [])]
    access: list[pulumi.Resource] = []
    if eks is not None:
        from stacks import wiring_eks_services  # noqa: PLC0415  no other stack loads pulumi_aws

        access = wiring_eks_services.secret_access(settings, eks)
    external = services.external_secrets(settings, namespaces, [*own, *access], cluster)
    token = services.token_secret(settings, external, cluster)
    pull_secret = services.pull_secret(settings, namespaces, [*own, *external], cluster)
    return token, pull_secret, [*own, *pull_secret]


def _storage(settings: Settings, plans: Sequence[GraphPlan], eks: "Eks | None", cluster: Cluster) -> Storage:
    """Where the model cache's claim comes from, or the bucket in its place."""
    if eks is None or settings.cache.kind == "class":
        return services.storage(settings, cluster)
    from stacks import wiring_eks_services  # noqa: PLC0415  no other stack loads pulumi_aws

    if settings.cache.kind == "s3":
        return wiring_eks_services.model_bucket(settings, plans, eks)
    return wiring_eks_services.storage(settings, eks)


def _model_cache(
    settings: Settings,
    plans: Sequence[GraphPlan],
    cluster: Cluster,
    storage: Storage,
    secrets: Sequence[pulumi.Resource],
) -> ModelCache:
    plan, hugging_face = plans[0], settings.hugging_face
    return ModelCache(
        "model-cache",
        ModelCacheArgs(
            namespace=settings.cluster.namespace,
            weights=all_weights(plans),
            size=settings.cache.size,
            storage_class=storage.storage_class,
            volume=storage.volume,
            own_root=storage.own_root,
            image=plan.image,
            archs=plan.image_knobs.archs,
            token_secret=(hugging_face.existing_secret or TOKEN_SECRET) if hugging_face.given else None,
            pull_secret=plan.image_knobs.pull_secret,
            # A file system is kept itself; its claim and volume are made again for it.
            retain=settings.cache.retain and storage.volume is None,
            source={**hugging_face.variables(), **settings.cache.variables()},
            existing_claim=settings.cache.existing_claim,
            bucket=storage.bucket,
            keeper=cluster.keeper,
        ),
        pulumi.ResourceOptions(
            providers={"kubernetes": cluster.provider},
            depends_on=[*cluster.ready, *storage.needed, *secrets],
        ),
    )


def _time_to_live(
    settings: Settings, plan: GraphPlan, eks: "Eks | None", platform: DynamoPlatform, cluster: Cluster
) -> tuple[list[pulumi.Resource], dict[str, Any]]:
    """What ends the stack, and the output that says when. GPU nodes wait for it: a broken `up` ends too."""
    if settings.tags.end is None:
        return [], {}
    groups, rights = None, []
    if eks is not None and isinstance(settings.cluster, AwsCluster):
        from components.shrink_role import ShrinkRole, ShrinkRoleArgs  # noqa: PLC0415  it loads pulumi_aws

        stack = pulumi.get_stack()
        groups = NodeGroups(
            cluster=settings.cluster.name or eks.cluster.name, region=settings.cluster.region, stack=stack
        )
        role = ShrinkRoleArgs(
            cluster_name=eks.cluster.name,
            cluster_arn=eks.cluster.arn,
            namespace=settings.cluster.namespace,
            stack=stack,
        )
        rights = [ShrinkRole("shrink-gpu-pools", role, pulumi.ResourceOptions(providers=[eks.provider]))]
    end = TimeToLive(
        "time-to-live",
        TimeToLiveArgs(
            spec=TimeToLiveSpec(
                namespace=settings.cluster.namespace,
                ttl=settings.tags.end,
                graph_api_version=graph_api_version(settings.platform_version()),
                node_groups=groups,
                pull_secret=plan.image_knobs.pull_secret,
            )
        ),
        pulumi.ResourceOptions(
            providers={"kubernetes": cluster.provider}, depends_on=[*cluster.ready, platform]
        ),
    )
    return [*rights, end], {"endsAt": end.ends_at}


def _verified(
    settings: Settings, plans: Sequence[GraphPlan], graphs: Sequence[InferenceGraph], cluster: Cluster
) -> Sequence[pulumi.Resource]:
    """The graphs' verifications, or the graphs themselves where nobody verifies."""
    if not settings.verify.enabled:
        return graphs
    return [
        Verification(
            f"{plan.name}-verify",
            VerificationArgs(
                plan=plan,
                namespace=settings.cluster.namespace,
                timeout_seconds=settings.verify.timeout_seconds,
            ),
            pulumi.ResourceOptions(providers={"kubernetes": cluster.provider}, depends_on=[graph]),
        )
        for plan, graph in zip(plans, graphs, strict=True)
    ]


def _benchmark(
    settings: Settings, plan: GraphPlan, cluster: Cluster, verified: Sequence[pulumi.Resource]
) -> None:
    Benchmark(
        "benchmark",
        BenchmarkArgs(job=settings.benchmark.job(plan, settings.cluster.namespace)),
        pulumi.ResourceOptions(providers={"kubernetes": cluster.provider}, depends_on=list(verified)),
    )


def _outputs(
    settings: Settings, plans: Sequence[GraphPlan], graphs: Sequence[InferenceGraph], ingress: Ingress | None
) -> dict[str, Any]:
    """What the stack is, and what its graphs give: of the first one, but `endpoints` (by graph) and `gpus` (by model).

    What does not hang on running nodes is always there, so that another program can rely on it.
    """
    namespace = settings.cluster.namespace
    always = {"namespace": namespace, "model": MODEL_ID, "target": settings.target}
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
        **({"publicEndpoint": ingress.endpoint} if ingress else {}),
    }


def _eks_outputs(settings: Settings, eks: "Eks | None", pools: "Mapping[str, GpuNodePool]") -> dict[str, Any]:
    if eks is None:
        return {}
    windows = {name: pool.window for name, pool in pools.items() if pool.window is not None}
    return {
        "cluster": eks.cluster.name,
        "kubeconfig": pulumi.Output.secret(eks.cluster.kubeconfig),
        "cost": described(settings),
        # What another program needs to put something beside the stack.
        "vpcId": eks.vpc_id,
        "privateSubnets": list(eks.subnets.values()),
        "securityGroupId": eks.cluster.security_group_id,
        "nodeGroups": {name: pool.node_group_name for name, pool in pools.items()},
        **({"capacityBlock": windows[MAIN_POOL]} if MAIN_POOL in windows else {}),
        **({"capacityBlocks": windows} if settings.pools and windows else {}),
    }
