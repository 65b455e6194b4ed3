"""What a stack asks for and cannot have: every problem at once, each a sentence that begins with its key. Pure.

A sentence says the key, the value, what is allowed, and where it helps the reason.
"""

from collections.abc import Iterator

from stacks.plan import StackPlan
from stacks.rules.arguments import argument_problems
from stacks.rules.autoscaling import autoscaling_problems
from stacks.rules.benchmark import shape_problems
from stacks.rules.bucket import bucket_problems
from stacks.rules.capacity import PoolRequest, pool_problems
from stacks.rules.graphs import knob_problems, release_problems
from stacks.rules.images import mirror_problems
from stacks.rules.local_copy import compiled_problems, local_copy_problems
from stacks.rules.observability import observability_problems
from stacks.rules.platform import namespace_problems, platform_problems
from stacks.rules.pools import node_problems
from stacks.rules.rolling import rolling_problems
from stacks.rules.sharing import sharing_problems
from stacks.rules.sizing import sizing_problems
from stacks.sections.cluster import AwsCluster, NewEksClusterSettings
from targets.autoscaling import Autoscaler
from targets.capacity import is_local_zone
from targets.errors import Refusal
from targets.plan import GraphPlan


def cluster_problems(stack: StackPlan) -> Iterator[str]:
    """What the stack's cluster cannot give."""
    yield from _services(stack)
    yield from node_problems(stack.cluster, stack.pools)


def graph_problems(stack: StackPlan) -> Iterator[str]:
    """What is wrong with the graphs, their platform and their pools."""
    plans, platform = stack.graphs, stack.platform.wanted
    alone = [problem for plan in plans for problem in _graph(plan)]
    yield from alone
    region = stack.cluster.region if isinstance(stack.cluster, AwsCluster) else None
    for plan in plans:
        yield from mirror_problems(plan, region)
    yield from namespace_problems(plans, stack.cluster.namespace)
    yield from platform_problems(platform, plans, install=stack.platform.install)
    yield from _autoscaling_sources(stack, platform.prometheus)
    yield from _benchmark(stack)
    yield from _capacity(stack)
    if stack.cache.kind == "s3":
        on_aws, sizing = isinstance(stack.cluster, AwsCluster), stack.checks.sizing is not None
        yield from bucket_problems(platform, on_aws=on_aws, sizing=sizing)
    if alone:
        return  # Of graphs that cannot be, what they would need together would mislead.
    yield from sharing_problems(plans)
    yield from compiled_problems(plans)
    yield from local_copy_problems(plans, own_nodes=isinstance(stack.cluster, AwsCluster))
    yield from autoscaling_problems(stack.autoscaling.kind, plans, platform)
    yield from rolling_problems(plans, platform)
    yield from _cpu_nodes(stack)
    if stack.checks.sizing is not None:
        yield from sizing_problems(stack.checks.sizing, stack.main)


def _graph(plan: GraphPlan) -> Iterator[str]:
    yield from knob_problems(plan)
    yield from release_problems(plan)
    yield from argument_problems(plan)
    yield from observability_problems(plan)


def _services(stack: StackPlan) -> Iterator[str]:
    """What the stack's cluster cannot give to cache, platform or secrets."""
    cluster, cache = stack.cluster, stack.cache
    on_aws = isinstance(cluster, AwsCluster)
    if cache.kind in ("efs", "fsx") and cache.file_system is None and not on_aws:
        yield (
            f"cache.kind: {cache.kind!r} makes a file system, for cluster.kind eks or existing-eks; choose class and "
            "name a storageClass, or efs and name its fileSystem"
        )
    if cache.mount_targets and not on_aws:
        yield (
            "cache.mountTargets: true makes them, for cluster.kind eks or existing-eks; leave it out where the file "
            "system has them"
        )
    if (
        cache.kind in ("efs", "fsx")
        and isinstance(cluster, AwsCluster)
        and all(map(is_local_zone, cluster.zone_names))
    ):
        yield (
            f"cache.kind: {cache.kind!r} needs a subnet in an Availability Zone, which Local Zones "
            f"[{', '.join(cluster.zone_names)}] reach; add one to cluster.subnets"
        )
    if stack.platform.install and stack.platform.namespace == stack.cluster.namespace:
        yield (
            f"platform.namespace: {stack.platform.namespace!r} is the graphs' namespace; the platform needs one of "
            "its own, which goes with it"
        )
    from_aws = stack.secrets.hugging_face.aws_secret is not None or stack.secrets.ngc.aws_secret is not None
    if from_aws and stack.secrets.external.install and not on_aws:
        yield (
            "externalSecrets.install: true gives External Secrets a pod identity, for cluster.kind eks or "
            "existing-eks; set it to false where External Secrets is on the cluster"
        )


def _autoscaling_sources(stack: StackPlan, prometheus: str | None) -> Iterator[str]:
    """Where the autoscaler's figures are to come from and do not. prometheus: its address."""
    kind, monitoring = stack.autoscaling.kind, stack.monitoring
    if kind is Autoscaler.KEDA and (
        prometheus is None or not monitoring.pod_monitors or monitoring.kind == "none"
    ):
        yield (
            "autoscaling.kind: 'keda' asks Prometheus for series that the stack's own PodMonitors label; set "
            "monitoring.kind to install, or to existing with its endpoint, and leave podMonitors on"
        )
    if kind is Autoscaler.PLANNER and stack.autoscaling.optimization == "sla" and prometheus is None:
        yield (
            "autoscaling.optimization: 'sla' reads latencies from Prometheus; set monitoring.kind or "
            "platform.prometheusEndpoint, or choose throughput or latency"
        )


def _benchmark(stack: StackPlan) -> Iterator[str]:
    """A load that is not there, or that is to be run and that the graph cannot take."""
    try:
        load = stack.checks.benchmark.load(stack.target, stack.main.gpus)
    except Refusal as refusal:
        yield str(refusal)
    else:
        if stack.checks.benchmark.run:
            yield from shape_problems(stack.main, load)


def _capacity(stack: StackPlan) -> Iterator[str]:
    """GPU nodes that cannot be bought as asked, on a cluster that the stack buys them for."""
    cluster = stack.cluster
    if not isinstance(cluster, AwsCluster):
        return
    for each in stack.pools:
        if each.pool.instance.gpus:
            yield from pool_problems(
                PoolRequest(
                    key=each.pool.key,
                    instance=each.pool.instance,
                    nodes=each.pool.nodes,
                    capacity=each.capacity,
                    region=cluster.region,
                    zones=each.zones,
                    subnet_zones=cluster.subnet_zones,
                    kubernetes=cluster.version if isinstance(cluster, NewEksClusterSettings) else None,
                )
            )


def _cpu_nodes(stack: StackPlan) -> Iterator[str]:
    """Graphs whose frontend and verification the stack's CPU nodes cannot run."""
    if not isinstance(stack.cluster, NewEksClusterSettings):
        return
    arch = stack.main_pool.instance.arch
    for plan in stack.graphs:
        if arch.value not in plan.image.archs:
            yield (
                f"{plan.key}.image.archs: [{', '.join(plan.image.archs)}] does not hold {arch}, the architecture "
                "of the main pool and so of the CPU nodes, which frontends run on"
            )
