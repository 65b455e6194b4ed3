"""Wiring of stacks on EKS. The program imports this module for them alone: it brings pulumi_aws with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import pulumi
import pulumi_aws as aws

from components import aws_provider
from components.budget import Budget, BudgetArgs
from components.eks_cluster import EksCluster, EksClusterArgs
from components.existing_eks_cluster import ExistingEksCluster, ExistingEksClusterArgs
from components.gpu_enablement import GpuEnablement, GpuEnablementArgs
from components.gpu_node_pool import GpuNodePool, GpuNodePoolArgs
from components.network import Network, NetworkArgs, zones_with
from components.node_release import Versions
from components.zones import zones_of_account
from graphs.gpu_nodes import pool_labels
from stacks.before_up import public_ranges
from stacks.cost import cpu_instance
from stacks.pools import StackPool
from stacks.sections.cluster import ExistingEksCluster as ExistingEksSettings
from stacks.sections.cluster import NewEksCluster
from stacks.settings import Settings
from targets.aws_access import is_caller
from targets.capacity import is_local_zone
from targets.knobs import MAIN_POOL


@dataclass(frozen=True, kw_only=True)
class Eks:
    """An EKS cluster and what else of AWS the stack's other parts need. subnets: private subnet ids by zone.

    zones: where each of them really is, if AWS chose it. tags: those that never change, for launched instances. ssm:
    whether Session Manager reaches nodes. versions: of the nodes, None on a cluster that is there.
    """

    cluster: EksCluster | ExistingEksCluster
    provider: aws.Provider
    vpc_id: pulumi.Input[str]
    subnets: Mapping[str, pulumi.Input[str]]
    zones: Mapping[str, pulumi.Input[str]]
    tags: Mapping[str, str]
    ssm: bool
    versions: Versions | None = None

    def file_system_zones(self, pool_zones: Sequence[str]) -> list[str]:
        """Zones for mount targets, the GPU pool's first; Local Zones take none."""
        zones = [zone for zone in self.subnets if not is_local_zone(zone)]
        return sorted(zones, key=lambda zone: zone not in pool_zones)


def eks(settings: Settings, project: str, stack: str) -> Eks:
    """The stack's EKS cluster, made or found. project, stack: for names and tags."""
    said = settings.cluster
    assert isinstance(said, NewEksCluster | ExistingEksSettings)
    tags = settings.tags.applied(project=project, stack=stack, target=settings.target)
    fixed = settings.tags.fixed(project=project, stack=stack)
    provider = aws_provider.provider("aws", said.region, said.aws, tags)
    caller = aws.get_caller_identity(opts=pulumi.InvokeOptions(provider=provider))
    public = public_ranges(settings, caller)
    if isinstance(said, ExistingEksSettings):
        return _existing(settings, said, provider, fixed)
    said = said.model_copy(update={"public_access_from": public})
    if said.budget is not None:
        limit = BudgetArgs(stack=stack, usd_per_month=said.budget.usd_per_month, notify=said.budget.notify)
        Budget("budget", limit, pulumi.ResourceOptions(providers=[provider]))
    if said.name is None:
        first = pulumi.Stash("named-after", input=stack).output
        first.apply(partial(_refuse_rename, stack))
    return _new(settings, said, _Made(said.name or f"dynamo-{stack}", caller.arn, fixed), provider)


def _refuse_rename(stack: str, first: str) -> None:
    """VPC and cluster are named after the stack as it was called first."""
    if stack != first:
        raise pulumi.RunError(
            f"dynamo-gpt-oss:cluster.name: missing, so VPC and cluster are named after the stack as it was called "
            f"first, {first}; as {stack} it would make all of them anew: `pulumi stack rename {first}` brings it back"
        )


def _existing(
    settings: Settings, said: ExistingEksSettings, provider: aws.Provider, tags: Mapping[str, str]
) -> Eks:
    cluster = ExistingEksCluster(
        "cluster",
        ExistingEksClusterArgs(
            name=said.name,
            region=said.region,
            namespace=said.namespace,
            create_namespace=said.create_namespace,
            # Of other kinds a file system outlives the stack, and nothing of the cluster's.
            retain=settings.cache.retain and settings.cache.kind == "class",
            access=said.aws,
        ),
        pulumi.ResourceOptions(providers=[provider]),
    )
    return Eks(
        cluster=cluster,
        provider=provider,
        vpc_id=cluster.vpc_id,
        subnets=dict(said.subnets),
        zones={},
        tags=tags,
        ssm=said.ssm,
    )


class _Made(NamedTuple):
    """What a new cluster gets besides what the stack says. deployer: ARN of the caller; None in a synth."""

    name: str
    deployer: str | None
    tags: Mapping[str, str]


def _new(settings: Settings, said: NewEksCluster, made: _Made, provider: aws.Provider) -> Eks:
    network = _network(settings, said, made.name, provider)
    subnets = network.subnets
    versions = Versions(kubernetes=said.version, updated=said.updated or "")
    cluster = EksCluster(
        "cluster",
        EksClusterArgs(
            name=made.name,
            whole_name=said.name,
            region=said.region,
            versions=versions,
            # A Local Zone takes nodes, but none of the interfaces that EKS puts into the cluster's subnets.
            subnets={zone: subnets[zone] for zone in said.zone_names},
            public_access_from=said.public_access_from,
            private_access_from=said.private_access_from,
            admins=said.admins,
            listed=made.deployer is not None and any(is_caller(made.deployer, each) for each in said.admins),
            cpu_instance=cpu_instance(settings),
            cpu_nodes=said.cpu_size,
            file_system=settings.cache.kind if settings.cache.kind in ("efs", "fsx") else None,
            log_retention_days=said.log_retention_days,
            namespace=said.namespace,
            create_namespace=said.create_namespace,
            ssm=said.ssm,
            extended_support=said.extended_support,
            protected=said.deletion_protection,
            tags=made.tags,
            access=said.aws,
        ),
        pulumi.ResourceOptions(providers=[provider], depends_on=network.way_out),
    )
    return Eks(
        cluster=cluster,
        provider=provider,
        vpc_id=network.vpc_id,
        subnets=subnets,
        zones=network.zones,
        tags=made.tags,
        ssm=said.ssm,
        versions=versions,
    )


class _Network(NamedTuple):
    """vpc_id, subnets, zones: as in Eks. way_out: what the cluster must not outlive."""

    vpc_id: pulumi.Input[str]
    subnets: Mapping[str, pulumi.Input[str]]
    zones: Mapping[str, pulumi.Input[str]]
    way_out: list[pulumi.Resource]


def _network(settings: Settings, said: NewEksCluster, name: str, provider: aws.Provider) -> _Network:
    if said.vpc is not None:
        return _Network(said.vpc.vpc_id, dict(said.vpc.private_subnets), {}, [])
    zones = zones_with(said.zone_names, settings.pool_zones())
    named = {zone for each in settings.gpu_pools() for zone in each.said.zones}
    chosen = {} if said.zones else zones_of_account(said.zone_names, provider, named)
    made = Network(
        name,
        NetworkArgs(cidr=said.cidr, zones=zones, region=said.region, chosen=chosen),
        pulumi.ResourceOptions(providers=[provider]),
    )
    return _Network(made.vpc_id, dict(made.private_subnets), dict(made.zones), made.ready)


def gpu_enablement(settings: Settings, on: Eks) -> list[pulumi.Resource]:
    """Plugins and drivers for the GPU nodes; they wait for none of them."""
    instances = [each.pool.instance for each in settings.gpu_pools() if each.pool.instance.gpus]
    if not settings.pool.enablement or not instances:
        return []
    return [
        GpuEnablement(
            "gpu-enablement",
            GpuEnablementArgs(
                efa=any(instance.efa_devices for instance in instances),
                compute_domains=any(instance.nodes_per_ultraserver for instance in instances),
            ),
            pulumi.ResourceOptions(
                providers={"kubernetes": on.cluster.provider}, depends_on=on.cluster.ready
            ),
        )
    ]


def gpu_pools(
    settings: Settings, on: Eks, before_paying: Sequence[pulumi.Resource]
) -> dict[str, GpuNodePool]:
    """The GPU nodes by pool. before_paying: what must be there first; hours that are prepaid wait for nothing."""
    return {
        each.pool.name: _gpu_pool(each, on, before_paying)
        for each in settings.gpu_pools()
        if each.pool.instance.gpus
    }


def _gpu_pool(said: StackPool, on: Eks, before_paying: Sequence[pulumi.Resource]) -> GpuNodePool:
    pool, capacity = said.pool, said.said.capacity
    return GpuNodePool(
        "gpu-nodes" if pool.name == MAIN_POOL else f"gpu-nodes-{pool.name}",
        GpuNodePoolArgs(
            cluster_name=on.cluster.name,
            vpc_id=on.vpc_id,
            cluster_security_group_id=on.cluster.security_group_id,
            subnets={zone: on.subnets[zone] for zone in said.zones},
            real_zones={zone: on.zones[zone] for zone in said.zones if zone in on.zones},
            named_zones=bool(said.said.zones),
            instance=pool.instance,
            nodes=pool.nodes,
            running=pool.runs,
            capacity=capacity,
            tags=on.tags,
            labels=pool_labels(pool.name),
            key=pool.key,
            versions=on.versions,
            ssm=on.ssm,
            root_volume_type=said.said.root_volume_type,
        ),
        pulumi.ResourceOptions(
            providers=[on.provider],
            depends_on=[*on.cluster.ready, *([] if capacity.kind.prepaid else before_paying)],
        ),
    )
