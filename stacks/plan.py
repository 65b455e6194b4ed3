"""A stack, resolved: all that the program and the verbs need to know, and nothing that is still to be worked out.

Pure. It says nothing of whether the stack can work: `stacks.rules.stack` does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from facts.releases import LATEST_PATCH, Version
from facts.weights import CacheUse
from manifests.cache import node_copy
from manifests.services.secrets import PULL_SECRET
from stacks.pools import PoolPlan, pool_plans
from stacks.sections.autoscaling import AutoscalingSettings
from stacks.sections.benchmark import BenchmarkSettings
from stacks.sections.cache import CacheSettings
from stacks.sections.cluster import AwsCluster, ClusterSettings, NewEksClusterSettings
from stacks.sections.hugging_face import HuggingFaceSettings
from stacks.sections.ingress import IngressSettings
from stacks.sections.monitoring import MonitoringSettings
from stacks.sections.secrets import ExternalSecretsSettings, NgcSettings
from stacks.sections.tags import TagSettings
from stacks.sections.verify import VerifySettings
from stacks.settings import Settings
from targets.catalogue import TARGETS
from targets.knobs import GraphKnobs
from targets.plan import GraphPlan
from targets.platform import ONE_CHART_SINCE, Platform
from targets.pool import Pool
from targets.resolve import beside_each_other
from targets.resolve import resolve as resolve_graph
from targets.sizing import Sizing
from targets.target import Target


@dataclass(frozen=True, kw_only=True)
class PlatformPlan:
    """The Dynamo platform of a stack."""

    install: bool
    """Whether the stack installs it."""
    namespace: str
    """Namespace that it is installed into."""
    operator: str | None
    """Deployment of an operator that is already there, as namespace/name, whose version is checked."""
    wanted: Platform
    """What is to be installed, or what a platform that is there must be like."""
    gpu_enablement: bool
    """Whether the stack installs what makes GPUs and EFA usable."""


@dataclass(frozen=True, kw_only=True)
class Secrets:
    """What opens registries and hubs."""

    hugging_face: HuggingFaceSettings
    ngc: NgcSettings
    external: ExternalSecretsSettings
    """How those that live in AWS come to the cluster."""


@dataclass(frozen=True, kw_only=True)
class Checks:
    """What is asked of the graphs once they run."""

    verify: VerifySettings
    benchmark: BenchmarkSettings
    sizing: Sizing | None
    """What Dynamo's profiler is asked, None where it is not."""


@dataclass(frozen=True, kw_only=True)
class Billing:
    """How what costs money is found, ended and priced."""

    tags: TagSettings
    prices: Mapping[str, float]
    """USD per hour by instance type or part, over the list prices."""
    measured_tokens_per_second: float | None
    """Output tokens per second of the main graph, None where nobody measured."""


@dataclass(frozen=True, kw_only=True)
class StackPlan:
    """Everything about a stack but its name, which Pulumi knows."""

    target: Target
    """The main graph's published system."""
    cluster: ClusterSettings
    """Where it runs."""
    pools: tuple[PoolPlan, ...]
    """The GPU nodes, those of the main graph first."""
    graphs: tuple[GraphPlan, ...]
    """The main graph first."""
    platform: PlatformPlan
    """The Dynamo operator and what it needs."""
    cache: CacheSettings
    """The model cache that all graphs share."""
    secrets: Secrets
    monitoring: MonitoringSettings
    """Prometheus, Grafana and what is alerted about."""
    autoscaling: AutoscalingSettings
    """Who decides how many workers the graphs have."""
    ingress: IngressSettings | None
    """The main graph's endpoint outside the cluster, None for none."""
    checks: Checks
    billing: Billing

    @property
    def main(self) -> GraphPlan:
        """The main graph."""
        return self.graphs[0]

    @property
    def main_pool(self) -> Pool:
        """The main graph's nodes."""
        return self.pools[0].pool

    @property
    def pool_zones(self) -> tuple[str, ...]:
        """Zones that GPU nodes may be in, the main pool's first; none on a cluster that has its nodes already."""
        return tuple(dict.fromkeys(zone for each in self.pools for zone in each.zones))


def resolve(settings: Settings) -> StackPlan:
    """What follows from the settings, whether or not it can work.

    A graph whose pool is not there is resolved on the main pool.
    """
    version = _platform_version(settings)
    pools = pool_plans(settings.target, settings.cluster, settings.pool, settings.pools, settings.graphs)
    graphs = _graphs(settings, {each.pool.name: each.pool for each in pools}, version)
    platform, target = settings.platform, TARGETS[settings.target]
    return StackPlan(
        target=target,
        cluster=settings.cluster,
        pools=pools,
        graphs=graphs,
        platform=PlatformPlan(
            install=platform.install,
            namespace=platform.namespace,
            operator=platform.operator,
            wanted=platform.resolve(
                version, min(graph.version for graph in graphs), settings.monitoring.prometheus
            ),
            gpu_enablement=settings.pool.enablement,
        ),
        cache=_cache(settings),
        secrets=Secrets(
            hugging_face=settings.hugging_face, ngc=settings.ngc, external=settings.external_secrets
        ),
        monitoring=settings.monitoring,
        autoscaling=settings.autoscaling,
        ingress=settings.ingress,
        checks=Checks(
            verify=settings.verify,
            benchmark=settings.benchmark,
            sizing=None if settings.sizing is None else settings.sizing.resolve(target, settings.monitoring),
        ),
        billing=Billing(
            tags=settings.tags,
            prices=settings.prices,
            measured_tokens_per_second=settings.measured_tokens_per_second,
        ),
    )


def _graphs(settings: Settings, pools: Mapping[str, Pool], platform: Version) -> tuple[GraphPlan, ...]:
    monitoring, main_pool = settings.monitoring, next(iter(pools.values()))
    alike: dict[str, Any] = {
        "cache": CacheUse(
            local_copy=settings.cache.copies,
            node_folder=node_copy.folder(settings.cluster.namespace)
            if settings.cache.copies_to_nodes
            else None,
            compiled_folder=node_copy.compiled_folder(settings.cluster.namespace)
            if settings.cache.node.compiled
            else None,
            from_bucket=settings.cache.kind == "s3",
            claim=settings.cache.existing_claim,
        ),
        "planner": settings.autoscaling.planner(monitoring.ttft_seconds, monitoring.itl_seconds),
        "platform": platform,
        "observability": settings.observability.resolve(),
    }
    main = resolve_graph(
        TARGETS[settings.target],
        _with_pull_secret(settings, settings.graph),
        main_pool,
        inference_extension=settings.ingress is not None and settings.ingress.inference_extension,
        **alike,
    )
    others = (
        resolve_graph(
            TARGETS[graph.target or settings.target],
            _with_pull_secret(settings, graph),
            pools.get(graph.pool, main_pool),
            key=f"graphs[{position}]",
            **alike,
        )
        for position, graph in enumerate(settings.graphs)
    )
    return beside_each_other((main, *others))


def _with_pull_secret(settings: Settings, knobs: GraphKnobs) -> GraphKnobs:
    """The knobs, with the pull Secret that the stack makes where they name none."""
    if not settings.ngc.given or knobs.image.pull_secret:
        return knobs
    return knobs.model_copy(update={"image": knobs.image.model_copy(update={"pull_secret": PULL_SECRET})})


def _platform_version(settings: Settings) -> Version:
    """By default that of the newest graph, but one that can be installed."""
    if settings.platform.version:
        return Version.parse(settings.platform.version)
    graphs = (
        (settings.target, settings.graph),
        *((graph.target or settings.target, graph) for graph in settings.graphs),
    )
    newest = max(
        Version.parse(knobs.dynamo_version or TARGETS[name].releases.default) for name, knobs in graphs
    )
    return max(newest, Version.parse(LATEST_PATCH[ONE_CHART_SINCE.line]))


def _cache(settings: Settings) -> CacheSettings:
    """The cache, with whether the mount targets of its EFS file system are the stack's."""
    cache, cluster = settings.cache, settings.cluster
    if cache.kind != "efs" or cache.mount_targets is not None or not isinstance(cluster, AwsCluster):
        return cache
    own_vpc = isinstance(cluster, NewEksClusterSettings) and cluster.vpc is None
    return cache.model_copy(update={"mount_targets": own_vpc or cache.file_system is None})
