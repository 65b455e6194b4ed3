"""Wiring of what graphs need on any cluster: platform, monitoring, secrets and the cache's storage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pulumi

from components.cache.model_cache import Bucket
from components.charts import Release
from components.cluster.cluster_access import Cluster, directly_on, on
from components.graph.inference_graph import InferenceGraph
from components.kubernetes_objects import KubernetesObjects, KubernetesObjectsArgs
from components.manifests import resource
from components.services.inference_extension import InferenceExtension
from components.services.monitoring import Monitoring, MonitoringArgs
from components.services.platform import (
    DynamoPlatform,
    DynamoPlatformArgs,
    ExistingOperator,
    OperatorSettings,
    PlatformServices,
)
from facts import versions
from facts.releases import graph_api_version
from manifests.cache import compiled
from manifests.cache.node_copy import manifests as node_copies
from manifests.cache.storage import EFS_CLASS, efs_storage_class
from manifests.graph.workers import compiled_key
from manifests.monitoring.alerts import prometheus_rule
from manifests.monitoring.dashboards import config_map, dashboards
from manifests.monitoring.pod_monitors import dcgm_service_monitor, pod_monitors
from manifests.objects import Named, by_own_name, encode, namespace
from manifests.services.autoscaling import Scaling, scaled_objects
from manifests.services.ingress import Route, manifests
from manifests.services.pre_pull import daemon_sets
from manifests.services.secrets import PULL_SECRET
from manifests.services.sizing import sizing_request
from stacks.cost import cost_per_hour
from stacks.plan import StackPlan
from targets.autoscaling import Autoscaler
from targets.plan import GraphPlan


@dataclass(frozen=True, kw_only=True)
class Storage:
    """Where the cache's claim comes from: a class, a volume, or the cluster's default where both are None.

    own_root: whether the volume's root belongs to nobody yet. file_system_id: of EFS, to be used by a later stack, as
    is bucket's name; with a bucket there is no claim.
    """

    storage_class: str | None = None
    volume: str | None = None
    own_root: bool = False
    file_system_id: pulumi.Output[str] | None = None
    bucket: Bucket | None = None
    needed: list[pulumi.Resource] = field(default_factory=list)


def storage(stack: StackPlan, cluster: Cluster) -> Storage:
    """A class of the cluster, or one for an EFS file system that is there already."""
    cache = stack.cache
    if cache.file_system is None:
        return Storage(storage_class=cache.storage_class)
    made = resource(efs_storage_class(cache.file_system), directly_on(cluster))
    return Storage(storage_class=EFS_CLASS, needed=[made])


def platform_namespace(stack: StackPlan, cluster: Cluster) -> list[pulumi.Resource]:
    """The platform's namespace, where the stack installs the platform."""
    platform = stack.platform
    if not platform.install:
        return []
    return [resource(namespace(platform.namespace), directly_on(cluster))]


def monitoring(stack: StackPlan, cluster: Cluster) -> list[pulumi.Resource]:
    """Prometheus and Grafana, where the stack brings them."""
    settings = stack.monitoring
    if settings.kind != "install":
        return []
    wanted = MonitoringArgs(
        namespace=settings.namespace,
        retention_days=settings.retention_days,
        storage=settings.storage,
        storage_class=settings.storage_class,
    )
    return [Monitoring("monitoring", wanted, on(cluster))]


def monitors(
    stack: StackPlan,
    plans: Sequence[GraphPlan],
    needed: Sequence[pulumi.Resource],
    cluster: Cluster,
) -> None:
    """Scrape targets, alert rules and dashboards of the graphs, where the stack is monitored.

    plans: graphs that are deployed; of others the alerts would say that they are missing.
    """
    settings, namespace = stack.monitoring, stack.cluster.namespace
    if settings.kind == "none" or not plans:
        return
    cost = cost_per_hour(stack)
    monitors = [
        *(pod_monitors(plans, namespace, settings.labels) if settings.pod_monitors else []),
        dcgm_service_monitor(namespace, settings.labels),
        prometheus_rule(plans, namespace, settings.objectives(stack.billing.tags.end), settings.labels),
    ]
    files = dashboards(plans, namespace, None if cost is None else cost.usd_per_hour)
    watched = [Named(f"{each['kind']}-{each['metadata']['name']}".lower(), each) for each in monitors]
    shown = by_own_name([config_map(namespace, files)])
    args = KubernetesObjectsArgs(component="Watch", objects=[*watched, *shown])
    KubernetesObjects("watch", args, on(cluster, needed))


def platform(
    stack: StackPlan,
    needed: Sequence[pulumi.Resource],
    cluster: Cluster,
) -> DynamoPlatform:
    """The Dynamo platform, installed or checked.

    needed: monitoring and pull Secret, which it refers to, and the InferencePool API, to look for it before all else.
    """
    settings, wanted = stack.platform, stack.platform.wanted
    namespace, _, operator = (settings.operator or "").partition("/")
    return DynamoPlatform(
        "dynamo-platform",
        DynamoPlatformArgs(
            version=str(wanted.version),
            graph_api_version=graph_api_version(max(plan.version for plan in stack.graphs)),
            install=settings.install,
            namespace=settings.namespace,
            # It is there before, for what must be in it.
            make_namespace=False,
            services=PlatformServices(
                discovery=wanted.discovery,
                nats=wanted.nats,
                etcd=wanted.etcd,
                grove=wanted.grove,
                kai_scheduler=wanted.kai_scheduler,
                storage_class=wanted.storage_class,
            ),
            settings=OperatorSettings(
                webhook_timeout_seconds=wanted.webhook_timeout_seconds,
                cert_manager=wanted.cert_manager,
                prometheus=wanted.prometheus,
                pull_secret=PULL_SECRET if stack.secrets.ngc.given else None,
            ),
            operator=ExistingOperator(namespace=namespace, name=operator) if operator else None,
        ),
        on(cluster, needed),
    )


def keda(stack: StackPlan, cluster: Cluster) -> list[pulumi.Resource]:
    """KEDA, where the stack brings it."""
    autoscaling = stack.autoscaling
    if autoscaling.kind is not Autoscaler.KEDA or not autoscaling.install:
        return []
    brought = Release(chart=replace(versions.KEDA, namespace=autoscaling.namespace), minutes=10)
    args = KubernetesObjectsArgs(component="Keda", release=brought)
    return [KubernetesObjects("keda", args, on(cluster))]


def autoscaling(
    stack: StackPlan, plans: Sequence[GraphPlan], needed: Sequence[pulumi.Resource], cluster: Cluster
) -> None:
    """What KEDA is told about the graphs' workers. needed: KEDA and the graphs, whose adapters the operator makes."""
    settings, monitoring = stack.autoscaling, stack.monitoring
    prometheus = stack.platform.wanted.prometheus
    if settings.kind is not Autoscaler.KEDA or prometheus is None:
        return
    scaling = Scaling(
        prometheus=prometheus,
        pending=settings.pending_requests,
        ttft=monitoring.ttft_seconds,
        itl=monitoring.itl_seconds,
        up_minutes=settings.scale_up_minutes,
        down_minutes=settings.scale_down_minutes,
    )
    objects = [each for plan in plans for each in scaled_objects(plan, stack.cluster.namespace, scaling)]
    if objects:
        args = KubernetesObjectsArgs(component="Autoscaling", objects=by_own_name(objects))
        KubernetesObjects("autoscaling", args, on(cluster, needed))


def pre_pull(
    stack: StackPlan,
    made: Mapping[str, pulumi.Output[str]],
    needed: Sequence[pulumi.Resource],
    cluster: Cluster,
) -> list[pulumi.Resource]:
    """What pulls the graphs' images onto GPU nodes that the stack adds. made: images of its own, by graph.

    needed: the pull Secret.
    """
    if not any(plan.pool.instance.gpus for plan in stack.graphs):
        return []
    objects = by_own_name(daemon_sets(stack.graphs, stack.cluster.namespace, made))
    args = KubernetesObjectsArgs(component="ImagePull", objects=objects)
    return [KubernetesObjects("image-pull", args, on(cluster, needed))]


def node_copy(
    stack: StackPlan,
    made: Mapping[str, pulumi.Output[str]],
    needed: Sequence[pulumi.Resource],
    cluster: Cluster,
) -> list[pulumi.Resource]:
    """What GPU nodes keep, for stacks that want that. made: images of its own, by graph. needed: the whole cache."""
    keys = {
        plan.name: [compiled_key(plan, planned) for planned in plan.workers]
        for plan in stack.graphs
        if compiled.is_kept(plan)
    }
    objects = by_own_name(node_copies(stack.graphs, stack.cluster.namespace, keys, made))
    if not objects:
        return []
    # The DaemonSets go first: their pods ask, with the rights of the account, whether they are to clear the copy.
    args = KubernetesObjectsArgs(component="ModelCopy", objects=objects, one_after_another=True)
    return [KubernetesObjects("model-copy", args, on(cluster, needed))]


def inference_extension(stack: StackPlan, cluster: Cluster) -> list[pulumi.Resource]:
    """The InferencePool API, looked up where the main graph needs it."""
    return (
        [InferenceExtension("inference-extension", on(cluster))]
        if stack.main.frontend.inference_extension
        else []
    )


def sizing(stack: StackPlan, needed: Sequence[pulumi.Resource], cluster: Cluster) -> KubernetesObjects | None:
    """The question to Dynamo's profiler, where one is asked. needed: the platform and the whole cache.

    Without the model's configuration in the cache the profiler asks Hugging Face, and where it gets no answer it
    refuses to propose a graph of vLLM or SGLang.
    """
    if stack.checks.sizing is None:
        return None
    request = sizing_request(
        stack.checks.sizing, stack.main, stack.cluster.namespace, stack.platform.wanted.version
    )
    args = KubernetesObjectsArgs(
        component="SizingRequest",
        objects=[Named("sizing", request)],
        results={"name": request["metadata"]["name"]},
    )
    return KubernetesObjects("sizing", args, on(cluster, needed))


def ingress(stack: StackPlan, graph: InferenceGraph, cluster: Cluster) -> KubernetesObjects | None:
    """The main graph's endpoint outside the cluster, where one is asked for."""
    settings = stack.ingress
    if settings is None:
        return None
    keys = {
        client: pulumi.Output.secret(encode(key.get_secret_value()))
        for client, key in sorted(settings.api_keys.items())
    }
    namespace, _, gateway = settings.gateway.partition("/")
    route = Route(
        namespace=stack.cluster.namespace,
        graph=stack.main.name,
        host=settings.host,
        gateway_namespace=namespace,
        gateway=gateway,
        listener=settings.listener,
        inference_extension=stack.main.frontend.inference_extension,
    )
    args = KubernetesObjectsArgs(
        component="Ingress",
        objects=manifests(route, keys, settings.existing_secret),
        one_after_another=True,
        results={"endpoint": f"https://{settings.host}/v1"},
    )
    return KubernetesObjects("ingress", args, on(cluster, [graph]))
