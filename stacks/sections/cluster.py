"""`cluster`: where the stack runs."""

import ipaddress
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from facts.versions import KUBERNETES
from targets.aws_access import AwsAccess
from targets.capacity import Region, Zone, is_local_zone, region_of
from targets.knobs import ObjectName
from targets.strict import Strict

EksName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]
SubnetId = Annotated[str, StringConstraints(pattern=r"^subnet-[0-9a-f]{8,17}$")]
_TWO_ZONES = {"us-west-1"}
"""Regions that give two zones to an account."""
_OLDEST = (1, 33)
"""Oldest Kubernetes whose GPU AMI has the kernel and driver that the images' CUDA 13 needs."""


def _kubernetes(text: str) -> str:
    if tuple(map(int, text.split("."))) < _OLDEST:
        raise ValueError(f"the oldest that works is {'.'.join(map(str, _OLDEST))}")
    return text


def _vpc_range(text: str) -> str:
    network = ipaddress.IPv4Network(text)
    if not network.is_private or not 16 <= network.prefixlen <= 18:
        raise ValueError("choose a private IPv4 range from /16 to /18")
    return text


AUTO = "auto"
"""Stands for the address of whoever deploys."""


def _caller_range(text: str) -> str:
    if text == AUTO:
        return text
    return _range(text)


def _range(text: str) -> str:
    if ipaddress.IPv4Network(text).prefixlen == 0:
        raise ValueError("opens the control plane to the whole internet; name the ranges that need it")
    return text


class _Cluster(Strict):
    namespace: ObjectName = "dynamo"
    """Namespace of everything that this stack puts on the cluster."""
    create_namespace: bool = True
    """Whether the stack makes the namespace, and deletes it with itself."""


class ExistingClusterSettings(_Cluster):
    """A cluster that is there, reached through a kubeconfig."""

    kind: Literal["existing"]
    """What the cluster is."""
    kubeconfig: str | None = Field(default=None, min_length=1)
    """Path of the kubeconfig, relative to the project; by default kubectl's own default."""
    context: str | None = Field(default=None, min_length=1)
    """Context in the kubeconfig; by default its current one."""
    efa: bool = False
    """Whether its GPU nodes offer AWS's network (`vpc.amazonaws.com/efa`), as EKS's do."""


class StackClusterSettings(_Cluster):
    """A cluster that another stack made or describes, with its GPU nodes."""

    kind: Literal["stack"]
    """What the cluster is."""
    efa: bool = True
    """Whether its GPU nodes offer AWS's network (`vpc.amazonaws.com/efa`)."""
    stack: Annotated[str, StringConstraints(pattern=r"^[^/]+/[^/]+/[^/]+$")]
    """The other stack, as `organization/project/stack`; its output `kubeconfig` is used."""


class ExistingVpc(Strict):
    """A VPC that is there, with a way out for its private subnets."""

    vpc_id: Annotated[str, StringConstraints(pattern=r"^vpc-[0-9a-f]{8,17}$")]
    """Id of the VPC."""
    private_subnets: Mapping[Zone, SubnetId] = Field(min_length=2)
    """One private subnet for each zone."""


class _Aws(_Cluster):
    region: Region
    """AWS region."""
    aws: AwsAccess = AwsAccess()
    """As whom, and in which account, the stack works."""
    ssm: bool = False
    """Whether Session Manager (`aws ssm start-session`) reaches the nodes, for those that do not join."""


class BudgetSettings(Strict):
    """A budget of AWS's that counts what has the stack's tag, once the account has activated `stack` for cost
    allocation. It writes at 80 % of the limit, and when the month is going to cost more than the limit.
    """

    usd_per_month: float = Field(ge=1, le=10_000_000, allow_inf_nan=False)
    """The limit, in USD."""
    notify: tuple[
        Annotated[str, StringConstraints(pattern=r"^[^\s@]+@[^\s@]+\.[^\s@]+$", max_length=50)], ...
    ] = Field(min_length=1, max_length=10)
    """Mail addresses, 10 at most."""


class _Network(_Aws):
    """Where a cluster of the stack's own is, and from where it is reached."""

    zones: tuple[Zone, ...] = ()
    """Availability Zones of control plane and CPU nodes, two or more. By default a deployment takes a, b
    and c, and others for those that the account lacks or EKS refuses; it keeps what it took."""
    cidr: Annotated[str, AfterValidator(_vpc_range)] = "10.80.0.0/16"
    """Address range of the VPC that the stack makes."""
    vpc: ExistingVpc | None = None
    """A VPC that is there, instead of one of the stack's own."""
    public_access_from: tuple[Annotated[str, AfterValidator(_caller_range)], ...] = ()
    """IPv4 ranges that may reach the control plane from the internet, and `auto` for the address that `up` runs from. A
    deployment demands this or `privateAccessFrom`."""
    private_access_from: tuple[Annotated[str, AfterValidator(_range)], ...] = ()
    """IPv4 ranges that may reach the control plane inside its VPC, or from networks that are connected to it."""


class NewEksClusterSettings(_Network):
    """An EKS cluster of the stack's own."""

    kind: Literal["eks"]
    """What the cluster is."""
    name: Annotated[EksName, StringConstraints(max_length=37)] | None = None
    """Name of the cluster; by default `dynamo-<stack>` and seven characters that nobody had before. A name
    that is given is used again in the stack's next life, which then finds the log group that EKS wrote to last: delete
    that first. Names of IAM roles begin with it, which have 64."""
    version: Annotated[str, StringConstraints(pattern=r"^1\.\d\d$"), AfterValidator(_kubernetes)] = KUBERNETES
    """Kubernetes version of control plane and nodes; add-ons and machine images move with it."""
    updated: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z.-]{1,20}$")] | None = None
    """Any text, such as a day. Add-ons and machine images stay at what AWS recommended when they were made; another
    text takes what it recommends then, which replaces the nodes."""
    extended_support: bool = False
    """Whether the cluster may stay on its version once AWS asks 0.60 USD an hour for it; else AWS upgrades it then."""
    deletion_protection: bool = False
    """Whether `destroy` is refused, by Pulumi and by AWS, until this is off."""
    admins: tuple[
        Annotated[str, StringConstraints(pattern=r"^arn:aws[a-z-]*:iam::\d{12}:(role|user)/.+$")], ...
    ] = ()
    """IAM roles or users that administer the cluster, besides the one that deploys it."""
    cpu_nodes: int | None = Field(default=None, ge=1, le=20)
    """Nodes without GPUs, for the platform, frontends and the download. By default one in each zone, so that
    a replaced node reaches the volumes of its zone; fewer stand in as many zones."""
    log_retention_days: Literal[1, 7, 30, 90, 365] = 30
    """How long control-plane logs are kept."""
    budget: BudgetSettings | None = None
    """An AWS Budget on the stack."""

    @property
    def zone_names(self) -> tuple[str, ...]:
        """The control plane's zones."""
        if self.vpc is not None:
            return tuple(sorted(zone for zone in self.vpc.private_subnets if not is_local_zone(zone)))
        letters = "ab" if self.region in _TWO_ZONES else "abc"
        return self.zones or tuple(f"{self.region}{letter}" for letter in letters)

    @property
    def cpu_size(self) -> int:
        """How many nodes without GPUs."""
        return self.cpu_nodes or len(self.zone_names)

    @property
    def subnet_zones(self) -> tuple[str, ...] | None:
        """Zones that nodes can be in; None for any, as the stack makes the subnets."""
        return None if self.vpc is None else tuple(sorted(self.vpc.private_subnets))

    @model_validator(mode="after")
    def _zones(self) -> "NewEksClusterSettings":
        if self.zones and self.vpc is not None:
            raise ValueError("zones and vpc exclude each other; the VPC's private subnets say the zones")
        zones = self.zone_names
        for zone in zones:
            if region_of(zone) != self.region or is_local_zone(zone):
                raise ValueError(f"zone {zone} is no Availability Zone of region {self.region}")
        if len(set(zones)) < max(2, len(zones)):
            raise ValueError(f"zones [{', '.join(zones)}]; EKS needs two or more different ones")
        return self


class ExistingEksClusterSettings(_Aws):
    """An EKS cluster that is there; the stack adds its GPU pool."""

    kind: Literal["existing-eks"]
    """What the cluster is."""
    name: EksName
    """Name of the cluster."""
    subnets: Mapping[Zone, SubnetId] = Field(min_length=1)
    """Private subnets for GPU nodes, one for each zone."""

    @property
    def zone_names(self) -> tuple[str, ...]:
        """Zones that have a subnet."""
        return tuple(sorted(self.subnets))

    @property
    def subnet_zones(self) -> tuple[str, ...]:
        """Zones that nodes can be in."""
        return self.zone_names


AwsCluster = NewEksClusterSettings | ExistingEksClusterSettings
ClusterSettings = Annotated[
    ExistingClusterSettings | NewEksClusterSettings | ExistingEksClusterSettings | StackClusterSettings,
    Field(discriminator="kind"),
]

CLUSTER_KINDS: dict[str, type[Strict]] = {
    "existing": ExistingClusterSettings,
    "eks": NewEksClusterSettings,
    "existing-eks": ExistingEksClusterSettings,
    "stack": StackClusterSettings,
}
