"""Wiring of stacks on EKS."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import pulumi
import pulumi_aws as aws

from components.aws import provider as aws_provider
from components.aws.budget import Budget, BudgetArgs
from components.cluster.api_access import ApiAccess
from components.cluster.cluster_access import WorkNamespace
from components.cluster.eks_cluster import ControlPlane, CpuNodes, EksCluster, EksClusterArgs, FileSystem
from components.cluster.existing_eks_cluster import ExistingEksCluster, ExistingEksClusterArgs
from components.cluster.kubeconfig import Credentials
from components.cluster.network import Network, NetworkArgs, zones_with
from components.cluster.zones import zones_of_account
from components.nodes.gpu_enablement import GpuEnablement, GpuEnablementArgs
from components.nodes.gpu_node_pool import GpuNodePool
from components.nodes.gpu_node_pool_args import Capacity, GpuNodePoolArgs, Host, JoinedCluster, Zones
from components.nodes.node_release import Versions
from manifests.gpu_nodes import pool_labels
from stacks.before_up import public_ranges
from stacks.cost import cpu_instance
from stacks.plan import StackPlan
from stacks.pools import PoolPlan
from stacks.sections.cluster import ExistingEksClusterSettings as ExistingEksSettings
from stacks.sections.cluster import NewEksClusterSettings
from stacks.settings import PROJECT
from targets.aws_access import AwsAccess, is_caller
from targets.capacity import is_local_zone


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


def eks(stack: StackPlan) -> Eks:
    """The stack's EKS cluster, made or found."""
    spec, name = stack.cluster, pulumi.get_stack()
    assert isinstance(spec, NewEksClusterSettings | ExistingEksSettings)
    tags = stack.billing.tags.all(project=PROJECT, stack=name, target=stack.target.name)
    fixed = stack.billing.tags.immutable(project=PROJECT, stack=name)
    provider = aws_provider.provider("aws", spec.region, spec.aws, tags)
    caller = aws.get_caller_identity(opts=pulumi.InvokeOptions(provider=provider))
    public = public_ranges(stack, caller)
    if isinstance(spec, ExistingEksSettings):
        return _existing(stack, spec, provider, fixed)
    spec = spec.model_copy(update={"public_access_from": public})
    if spec.budget is not None:
        limit = BudgetArgs(stack=name, usd_per_month=spec.budget.usd_per_month, notify=spec.budget.notify)
        Budget("budget", limit, pulumi.ResourceOptions(providers=[provider]))
    if spec.name is None:
        first = pulumi.Stash("named-after", input=name).output
        first.apply(partial(_refuse_rename, name))
    return _new(stack, spec, _Made(spec.name or _default_name(name), caller.arn, fixed), provider)


def _default_name(stack: str) -> str:
    """What a cluster is called that the stack file does not name."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,30}", stack):
        raise pulumi.RunError(
            f"{PROJECT}:cluster.name: missing, and a cluster cannot be called dynamo-{stack} after the stack: of that "
            "EKS takes letters, digits, - and _, and names of IAM roles leave room for 37; say another name"
        )
    return f"dynamo-{stack}"


def _refuse_rename(stack: str, first: str) -> None:
    """VPC and cluster are named after the stack as it was called first."""
    if stack != first:
        raise pulumi.RunError(
            f"{PROJECT}:cluster.name: missing, so VPC and cluster are named after the stack as it was called "
            f"first, {first}; as {stack} it would make all of them anew: `pulumi stack rename {first}` brings it back"
        )


def _existing(
    stack: StackPlan, spec: ExistingEksSettings, provider: aws.Provider, tags: Mapping[str, str]
) -> Eks:
    cluster = ExistingEksCluster(
        "cluster",
        ExistingEksClusterArgs(
            name=spec.name,
            region=spec.region,
            namespace=WorkNamespace(
                name=spec.namespace,
                make=spec.create_namespace,
                # Of other kinds a file system outlives the stack, and nothing of the cluster's.
                retain=stack.cache.retain and stack.cache.kind == "class",
            ),
            credentials=_credentials(spec.aws),
        ),
        pulumi.ResourceOptions(providers=[provider]),
    )
    return Eks(
        cluster=cluster,
        provider=provider,
        vpc_id=cluster.vpc_id,
        subnets=dict(spec.subnets),
        zones={},
        tags=tags,
        ssm=spec.ssm,
    )


class _Made(NamedTuple):
    """What a new cluster gets besides what the stack says. deployer: ARN of the caller; None in a synth."""

    name: str
    deployer: str | None
    tags: Mapping[str, str]


def _new(stack: StackPlan, spec: NewEksClusterSettings, made: _Made, provider: aws.Provider) -> Eks:
    network = _network(stack, spec, made.name, provider)
    subnets = network.subnets
    versions = Versions(kubernetes=spec.version, updated=spec.updated or "")
    cluster = EksCluster(
        "cluster",
        EksClusterArgs(
            # A Local Zone takes nodes, but none of the interfaces that EKS puts into the cluster's subnets.
            subnets={zone: subnets[zone] for zone in spec.zone_names},
            prefix=made.name,
            versions=versions,
            control_plane=ControlPlane(
                name=spec.name,
                log_retention_days=spec.log_retention_days,
                extended_support=spec.extended_support,
                protected=spec.deletion_protection,
            ),
            api=ApiAccess(
                public_from=spec.public_access_from,
                private_from=spec.private_access_from,
                admins=spec.admins,
                maker_is_listed=_is_listed(made.deployer, spec.admins),
            ),
            cpu_nodes=CpuNodes(instance_type=cpu_instance(stack).name, count=spec.cpu_size, ssm=spec.ssm),
            file_system=FileSystem(stack.cache.kind) if stack.cache.kind in [*FileSystem] else None,
            namespace=spec.namespace if spec.create_namespace else None,
            tags=made.tags,
            credentials=_credentials(spec.aws),
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
        ssm=spec.ssm,
        versions=versions,
    )


def _is_listed(deployer: str | None, admins: Sequence[str]) -> bool:
    """Whether who deploys is one of the admins. deployer: its ARN, None in a synth."""
    return deployer is not None and any(is_caller(deployer, each) for each in admins)


def _credentials(spec: AwsAccess) -> Credentials:
    return Credentials(profile=spec.profile, assume_role=spec.assume_role)


class _Network(NamedTuple):
    """vpc_id, subnets, zones: as in Eks. way_out: what the cluster must not outlive."""

    vpc_id: pulumi.Input[str]
    subnets: Mapping[str, pulumi.Input[str]]
    zones: Mapping[str, pulumi.Input[str]]
    way_out: list[pulumi.Resource]


def _network(stack: StackPlan, spec: NewEksClusterSettings, name: str, provider: aws.Provider) -> _Network:
    if spec.vpc is not None:
        return _Network(spec.vpc.vpc_id, dict(spec.vpc.private_subnets), {}, [])
    zones = zones_with(spec.zone_names, stack.pool_zones)
    named = {zone for each in stack.pools if each.zones_named for zone in each.zones}
    chosen = {} if spec.zones else zones_of_account(spec.zone_names, provider, named)
    made = Network(
        name,
        NetworkArgs(cidr=spec.cidr, zones=zones, chosen=chosen),
        pulumi.ResourceOptions(providers=[provider]),
    )
    return _Network(made.vpc_id, dict(made.private_subnets), dict(made.zones), made.ready)


def gpu_enablement(stack: StackPlan, on: Eks) -> list[pulumi.Resource]:
    """Plugins and drivers for the GPU nodes; they wait for none of them."""
    instances = [each.pool.instance for each in stack.pools if each.pool.instance.gpus]
    if not stack.platform.gpu_enablement or not instances:
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


def gpu_pools(stack: StackPlan, on: Eks, before_paying: Sequence[pulumi.Resource]) -> dict[str, GpuNodePool]:
    """The GPU nodes by pool. before_paying: what must be there first; hours that are prepaid wait for nothing."""
    return {
        each.pool.name: _gpu_pool(each, on, before_paying) for each in stack.pools if each.pool.instance.gpus
    }


def _gpu_pool(planned: PoolPlan, on: Eks, before_paying: Sequence[pulumi.Resource]) -> GpuNodePool:
    pool, capacity = planned.pool, planned.capacity
    return GpuNodePool(
        planned.component,
        GpuNodePoolArgs(
            cluster=JoinedCluster(
                name=on.cluster.name, vpc_id=on.vpc_id, security_group_id=on.cluster.security_group_id
            ),
            subnets={zone: on.subnets[zone] for zone in planned.zones},
            zones=Zones(
                named=planned.zones_named,
                real={zone: on.zones[zone] for zone in planned.zones if zone in on.zones},
            ),
            instance_type=pool.instance.name,
            efa_devices=pool.instance.efa_devices,
            nodes=pool.nodes,
            active=pool.runs,
            capacity=Capacity(
                kind=capacity.kind,
                reservation_id=capacity.reservation_id,
                reservation_group=capacity.reservation_group,
                ultraserver=capacity.ultraserver,
            ),
            versions=on.versions,
            host=Host(
                ssm=on.ssm,
                root_volume_type=planned.root_volume_type,
                parallel_pull=planned.parallel_pull,
            ),
            labels=pool_labels(pool.name),
            tags=on.tags,
        ),
        pulumi.ResourceOptions(
            providers=[on.provider],
            depends_on=[*on.cluster.ready, *([] if capacity.kind.prepaid else before_paying)],
        ),
    )
