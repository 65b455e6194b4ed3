"""What a GPU node pool is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import pulumi

from components.nodes.node_release import Versions
from facts.hardware import INSTANCE_TYPES, InstanceType
from targets.capacity import ULTRASERVERS, CapacityKind


@dataclass(frozen=True, kw_only=True)
class JoinedCluster:
    """The EKS cluster that nodes join."""

    name: pulumi.Input[str]
    """Its name."""
    vpc_id: pulumi.Input[str]
    """The VPC that it is in."""
    security_group_id: pulumi.Input[str]
    """The group through which nodes reach the control plane, as EKS makes it."""


@dataclass(frozen=True, kw_only=True)
class Zones:
    """How the zones of a pool were chosen."""

    named: bool = True
    """Whether somebody named them; else the pool is in one of them that has the type, and stays there."""
    real: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """Where subnets of zones really are, if AWS chose that."""


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """How the instances are bought."""

    kind: CapacityKind = CapacityKind.ON_DEMAND
    """Whether a reservation that exists is used, or instances are bought when nodes are added."""
    reservation_id: pulumi.Input[str] | None = None
    """Capacity Reservation id (`cr-…`) of the block or reservation."""
    reservation_group: pulumi.Input[str] | None = None
    """ARN of a resource group of on-demand reservations, instead of one id."""
    ultraserver: str | None = field(default=None, metadata={"UltraServer": ULTRASERVERS})
    """UltraServer type of a GB200 block."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """A node besides its GPUs."""

    ssm: bool = False
    """Whether Session Manager reaches it."""
    root_volume_type: str = "gp3"
    """EBS type of its root."""
    parallel_pull: bool = False
    """Whether it pulls images by nodeadm's `FastImagePull`, which is experimental."""


@dataclass(frozen=True, kw_only=True)
class GpuNodePoolArgs:
    """The GPU nodes that are wanted."""

    cluster: JoinedCluster
    """The EKS cluster that they join."""
    subnets: Mapping[str, pulumi.Input[str]]
    """Private subnets that they may be in: id by Availability or Local Zone; one for a reservation or several nodes."""
    zones: Zones = field(default_factory=Zones)
    """How the zones were chosen."""
    instance_type: str = field(metadata={"InstanceType": INSTANCE_TYPES})
    """EC2 instance type."""
    efa_devices: int | None = None
    """EFA devices a node, where the instance type leaves a choice (p6e-gb200: 4 × 400 Gbps or 8 × 200)."""
    nodes: int = 1
    """How many."""
    active: bool = True
    """Whether they run; off, the pool has size 0."""
    capacity: Capacity = field(default_factory=Capacity)
    """How the instances are bought."""
    versions: Versions | None = None
    """Of Kubernetes and the machine image, as the cluster has them; by default EKS's own choice."""
    host: Host = field(default_factory=Host)
    """What the nodes are besides."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the nodes, besides those that say which GPUs they have."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Of launched instances, their volumes and interfaces; another tag takes other nodes."""

    @cached_property
    def instance(self) -> InstanceType:
        """The instance type, with the EFA devices that are wanted. Raises KeyError for one that is not known."""
        published = INSTANCE_TYPES[self.instance_type]
        return published if self.efa_devices is None else replace(published, efa_devices=self.efa_devices)
