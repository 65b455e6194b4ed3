"""The program: the only place that wires components together."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pulumi

from components.cache.model_cache import Claim, Download, ModelCache, ModelCacheArgs
from components.cluster.cluster_access import Cluster, WorkNamespace
from components.cluster.existing_cluster import ExistingCluster, ExistingClusterArgs
from components.cluster.referenced_cluster import ReferencedCluster, ReferencedClusterArgs
from components.graph.benchmark import Benchmark, BenchmarkArgs
from components.graph.graph import Graph
from components.graph.inference_graph import InferenceGraph, InferenceGraphArgs
from components.graph.verification import Verification, VerificationArgs
from components.made_namespaces import made_namespaces
from components.services.platform import DynamoPlatform
from components.services.time_to_live import TimeToLive, TimeToLiveArgs
from facts.hardware import Arch
from facts.releases import graph_api_version
from manifests.benchmark.job import AIPERF_IMAGE, AIPERF_PYTHON
from manifests.names import TOKEN_SECRET
from manifests.services.time_to_live import TimeToLiveSpec
from stacks import outputs, wiring
from stacks.plan import StackPlan
from stacks.sections.cluster import AwsCluster, StackClusterSettings
from stacks.wiring import secrets, services
from stacks.wiring.services import Storage
from targets.plan import GraphPlan, all_weights

if TYPE_CHECKING:
    from components.nodes.gpu_node_pool import GpuNodePool
    from stacks.wiring.eks import Eks


def build(stack: StackPlan) -> dict[str, Any]:
    """Declare every resource of the stack and return its outputs.

    Order: cluster → namespace → secret and claim → download → GPU nodes → graph, with the platform before GPU nodes.
    """
    plans, plan = stack.graphs, stack.main
    namespaces = made_namespaces()
    eks = _eks(stack)
    cluster: Cluster = _cluster(stack) if eks is None else eks.cluster
    monitoring = services.monitoring(stack, cluster)
    token, pull_secret, platform_needs = _secrets(stack, eks, cluster)
    inference_extension = services.inference_extension(stack, cluster)
    platform = services.platform(stack, [*monitoring, *platform_needs, *inference_extension], cluster)
    end, ends_at = _time_to_live(stack, eks, platform, cluster)
    storage = _storage(stack, eks, cluster)
    cache = _model_cache(stack, cluster, storage, [*token, *pull_secret])
    deployed = [each for each in plans if each.pool.runs]
    services.monitors(stack, deployed, monitoring, cluster)
    images = _own_images(stack)
    sizing = services.sizing(stack, [platform, cache], cluster)
    keda = services.keda(stack, cluster)
    pre_pull = services.pre_pull(stack, images, pull_secret, cluster) if eks else []
    copies = services.node_copy(stack, images, [cache, *pull_secret], cluster)
    enablement, pools = _gpu_nodes(stack, eks, [platform, cache, *pre_pull, *copies, *end])
    graphs = [
        InferenceGraph(
            # A name of its own, so that a renamed main graph replaces itself and never waits for its own GPUs.
            "graph" if each is plan else each.name,
            InferenceGraphArgs(
                graph=Graph.of(each), namespace=stack.cluster.namespace, image=images.get(each.name)
            ),
            pulumi.ResourceOptions(
                providers={"kubernetes": cluster.provider},
                depends_on=[*cluster.ready, platform, cache, *copies, *enablement, *_nodes_of(each, pools)],
            ),
        )
        for each in deployed
    ]
    if graphs:
        services.autoscaling(stack, deployed, [*keda, *graphs], cluster)
    ingress = services.ingress(stack, graphs[0], cluster) if plan.pool.runs else None
    verified = _verifications(stack, deployed, graphs, cluster)
    if stack.checks.benchmark.run and plan.pool.runs:
        _benchmark(stack, cluster, verified)
    return {
        **outputs.of_graphs(stack, deployed, graphs, ingress),
        **({"sizing": sizing.results["name"]} if sizing else {}),
        **ends_at,
        **({"fileSystemId": storage.file_system_id} if storage.file_system_id else {}),
        **({"bucket": storage.bucket.name} if storage.bucket else {}),
        **outputs.of_eks(stack, eks, pools),
        # A destroy that was broken off knows from here what was its own.
        **({"namespaces": sorted(set(namespaces))} if eks else {}),
    }


def _own_images(stack: StackPlan) -> dict[str, pulumi.Output[str]]:
    """Images that the stack builds or copies, by graph: of those that do not run yet, too, to be there when they do."""
    return {
        plan.name: wiring.images.built_image(stack, plan)
        for plan in stack.graphs
        if plan.image.build is not None or plan.image.mirror is not None
    }


def _cluster(stack: StackPlan) -> Cluster:
    spec = stack.cluster
    namespace = WorkNamespace(name=spec.namespace, make=spec.create_namespace, retain=stack.cache.retain)
    if isinstance(spec, StackClusterSettings):
        return ReferencedCluster("cluster", ReferencedClusterArgs(stack=spec.stack, namespace=namespace))
    assert not isinstance(spec, AwsCluster), "the caller makes those"
    args = ExistingClusterArgs(kubeconfig=spec.kubeconfig, context=spec.context, namespace=namespace)
    return ExistingCluster("cluster", args)


def _eks(stack: StackPlan) -> "Eks | None":
    if not isinstance(stack.cluster, AwsCluster):
        return None
    return wiring.eks.eks(stack)


def _gpu_nodes(
    stack: StackPlan, eks: "Eks | None", before_paying: Sequence[pulumi.Resource]
) -> tuple[list[pulumi.Resource], "Mapping[str, GpuNodePool]"]:
    """What makes GPUs usable, and the pools by name."""
    if eks is None:
        return [], {}
    enablement = wiring.eks.gpu_enablement(stack, eks)
    return enablement, wiring.eks.gpu_pools(stack, eks, [*before_paying, *enablement])


def _nodes_of(plan: GraphPlan, pools: "Mapping[str, GpuNodePool]") -> list[pulumi.Resource]:
    """The graph's own pool: it waits for no other's nodes."""
    return [pools[plan.pool.name]] if plan.pool.name in pools else []


def _secrets(
    stack: StackPlan, eks: "Eks | None", cluster: Cluster
) -> tuple[list[pulumi.Resource], list[pulumi.Resource], list[pulumi.Resource]]:
    """The token, the pull Secret, and what the platform waits for: its namespace with that Secret in it."""
    own = services.platform_namespace(stack, cluster)
    namespaces = [stack.cluster.namespace, *([stack.platform.namespace] if own else [])]
    access: list[pulumi.Resource] = []
    if eks is not None:
        access = wiring.eks_services.secret_access(stack, eks)
    external = secrets.external_secrets(stack, namespaces, [*own, *access], cluster)
    token = secrets.token_secret(stack, external, cluster)
    pull_secret = secrets.pull_secret(stack, namespaces, [*own, *external], cluster)
    return token, pull_secret, [*own, *pull_secret]


def _storage(stack: StackPlan, eks: "Eks | None", cluster: Cluster) -> Storage:
    """Where the model cache's claim comes from, or the bucket in its place."""
    if eks is None or stack.cache.kind == "class":
        return services.storage(stack, cluster)
    if stack.cache.kind == "s3":
        return wiring.eks_services.model_bucket(stack, eks)
    return wiring.eks_services.storage(stack, eks)


def download_image(stack: StackPlan) -> str:
    """A small image, or the main graph's where its registry is the stack's own, which may hold no other.

    So for pools on ARM64, too: Dynamo's recipes for GB200 install AIPerf with pip, and nobody here knows whether its
    image is for ARM64.
    """
    plan = stack.main
    known = plan.image.repository is None and plan.pool.instance.arch is Arch.AMD64
    return stack.cache.image or (AIPERF_IMAGE if known else plan.image.reference)


def _model_cache(
    stack: StackPlan,
    cluster: Cluster,
    storage: Storage,
    secrets: Sequence[pulumi.Resource],
) -> ModelCache:
    plan, hugging_face, image = stack.main, stack.secrets.hugging_face, download_image(stack)
    return ModelCache(
        "model-cache",
        ModelCacheArgs(
            namespace=stack.cluster.namespace,
            weights=all_weights(stack.graphs),
            claim=Claim(
                size=stack.cache.size,
                storage_class=storage.storage_class,
                volume=storage.volume,
                own_root=storage.own_root,
                # A file system is kept itself; its claim and volume are made again for it.
                retain=stack.cache.retain and storage.volume is None,
                existing=stack.cache.existing_claim,
            ),
            bucket=storage.bucket,
            download=Download(
                image=image,
                archs=(Arch.AMD64,) if image == AIPERF_IMAGE else plan.image.archs,
                token_secret=(hugging_face.existing_secret or TOKEN_SECRET) if hugging_face.given else None,
                pull_secret=plan.image.pull_secret,
                environment={**hugging_face.variables(), **stack.cache.variables()},
            ),
        ),
        pulumi.ResourceOptions(
            providers={"kubernetes": cluster.provider},
            depends_on=[*cluster.ready, *storage.needed, *secrets],
        ),
        keeper=cluster.keeper,
    )


def _time_to_live(
    stack: StackPlan, eks: "Eks | None", platform: DynamoPlatform, cluster: Cluster
) -> tuple[list[pulumi.Resource], dict[str, Any]]:
    """What ends the stack, and the output that says when. GPU nodes wait for it: a broken `up` ends too."""
    if stack.billing.tags.end is None:
        return [], {}
    groups, rights = wiring.eks_services.shrink_role(stack, eks) if eks else (None, [])
    # CPU nodes are of the GPU nodes' architecture. Where the small image does not start, GPUs are paid without an end.
    small = stack.main.pool.instance.arch is Arch.AMD64
    image, python = (AIPERF_IMAGE, AIPERF_PYTHON) if small else (download_image(stack), "python3")
    end = TimeToLive(
        "time-to-live",
        TimeToLiveArgs(
            spec=TimeToLiveSpec(
                namespace=stack.cluster.namespace,
                ttl=stack.billing.tags.end,
                graphs=tuple(plan.name for plan in stack.graphs),
                graph_api_version=graph_api_version(stack.platform.wanted.version),
                node_groups=groups,
                pull_secret=stack.main.image.pull_secret,
                image=image,
                python=python,
            )
        ),
        pulumi.ResourceOptions(
            providers={"kubernetes": cluster.provider}, depends_on=[*cluster.ready, platform]
        ),
    )
    return [*rights, end], {"endsAt": end.ends_at}


def _verifications(
    stack: StackPlan, plans: Sequence[GraphPlan], graphs: Sequence[InferenceGraph], cluster: Cluster
) -> Sequence[pulumi.Resource]:
    """The graphs' verifications, or the graphs themselves where nobody verifies."""
    if not stack.checks.verify.enabled:
        return graphs
    return [
        Verification(
            f"{plan.name}-verify",
            VerificationArgs(
                graph=Graph.of(plan),
                namespace=stack.cluster.namespace,
                timeout_seconds=stack.checks.verify.timeout_seconds,
            ),
            pulumi.ResourceOptions(providers={"kubernetes": cluster.provider}, depends_on=[graph]),
        )
        for plan, graph in zip(plans, graphs, strict=True)
    ]


def _benchmark(stack: StackPlan, cluster: Cluster, verified: Sequence[pulumi.Resource]) -> None:
    Benchmark(
        "benchmark",
        BenchmarkArgs.of(stack.checks.benchmark.job(stack.main, stack.cluster.namespace), stack.main),
        pulumi.ResourceOptions(providers={"kubernetes": cluster.provider}, depends_on=list(verified)),
    )
