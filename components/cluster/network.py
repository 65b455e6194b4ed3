"""A VPC with room for GPU nodes."""

import ipaddress
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws

from targets.capacity import is_local_zone, region_of

_PRIVATE_BITS, _PUBLIC_BITS = 4, 8
"""Of the VPC's range, each private subnet is a 16th and each public one a 256th: at most 15 of each."""
_PLACES, _LETTERS = 15, 8
"""Places for subnets, the first of which are for Availability Zones, by their letter, the others for Local Zones."""


@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    """The VPC that is wanted."""

    cidr: str
    """Its range, /16 to /18."""
    zones: Sequence[str]
    """Availability Zones, and Local Zones that nodes go to, of one region."""
    chosen: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """For zones that nobody named, which they are; once a subnet is there, it stays where it is."""


class Network(pulumi.ComponentResource):
    """A VPC: a private subnet in every zone, a public one in every Availability Zone, one NAT gateway.

    One NAT gateway, for a GPU pool is in one zone anyway; what it carries is weights and images. S3 has an endpoint,
    which costs nothing. ECR has none: engine images come from other registries, and layers in ECR from S3.
    """

    vpc_id: pulumi.Output[str]
    private_subnets: Mapping[str, pulumi.Output[str]]
    """Subnet id by zone."""
    zones: Mapping[str, pulumi.Output[str]]
    """By zone where its subnet really is."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Network", name, None, opts)
        self._name, self._args = name, args
        self._groups: dict[str, aws.ec2.AvailabilityZoneGroup] = {}
        self._child = pulumi.ResourceOptions(parent=self)
        self._vpc = aws.ec2.Vpc(
            name,
            cidr_block=args.cidr,
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags={"Name": name},
            opts=self._child,
        )
        # Made by EC2 with every VPC; nothing uses it, and so managed it lets nothing through.
        aws.ec2.DefaultSecurityGroup(name, vpc_id=self._vpc.id, opts=self._child)
        private, public = self._private(), self._public()
        # The way out: what runs in the subnets needs it until it is gone, so it must depend on these.
        self.ready: list[pulumi.Resource] = self._way_out(private, public)
        self.vpc_id = self._vpc.id
        self.private_subnets = {zone: subnet.id for zone, subnet in private.items()}
        self.zones = {zone: subnet.availability_zone for zone, subnet in private.items()}
        self.register_outputs(
            {"vpcId": self.vpc_id, "privateSubnets": self.private_subnets, "zones": self.zones}
        )

    def _private(self) -> dict[str, aws.ec2.Subnet]:
        return {
            zone: self._subnet(f"private-{zone}", zone, private, _internal_load_balancers(zone))
            for zone, (private, _) in self._ranges().items()
        }

    def _public(self) -> dict[str, aws.ec2.Subnet]:
        return {
            zone: self._subnet(f"public-{zone}", zone, public, {"kubernetes.io/role/elb": "1"})
            for zone, (_, public) in self._ranges().items()
            if not is_local_zone(zone)
        }

    def _ranges(self) -> Mapping[str, tuple[str, str]]:
        return subnet_ranges(self._args.cidr, self._args.zones)

    def _subnet(self, kind: str, zone: str, cidr: str, tags: dict[str, str]) -> aws.ec2.Subnet:
        name = f"{self._name}-{kind}"
        return aws.ec2.Subnet(
            name,
            vpc_id=self._vpc.id,
            availability_zone=self._args.chosen.get(zone, zone),
            cidr_block=cidr,
            map_public_ip_on_launch=False,
            tags={"Name": name, **tags},
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=self._opted_in(zone),
                # A later answer of AWS's must not move what stands there, nor another way to share out the range.
                ignore_changes=[
                    "cidr_block",
                    *(["availability_zone"] if zone in self._args.chosen else []),
                ],
            ),
        )

    def _opted_in(self, zone: str) -> list[pulumi.Resource]:
        """A Local Zone's group is closed to an account until it opts in, which costs nothing and only AWS can undo."""
        if not is_local_zone(zone):
            return []
        group = zone[:-1]
        if group not in self._groups:
            self._groups[group] = aws.ec2.AvailabilityZoneGroup(
                f"{self._name}-{group}",
                group_name=group,
                opt_in_status="opted-in",
                opts=pulumi.ResourceOptions(parent=self, retain_on_delete=True),
            )
        return [self._groups[group]]

    def _way_out(
        self, private: dict[str, aws.ec2.Subnet], public: dict[str, aws.ec2.Subnet]
    ) -> list[pulumi.Resource]:
        gateway = aws.ec2.InternetGateway(self._name, vpc_id=self._vpc.id, opts=self._child)
        outside = self._routes("public", public, {"gateway_id": gateway.id})
        address = aws.ec2.Eip(
            self._name, domain="vpc", opts=pulumi.ResourceOptions(parent=self, depends_on=gateway)
        )
        nat = aws.ec2.NatGateway(
            self._name,
            allocation_id=address.id,
            subnet_id=next(iter(public.values())).id,
            # Without a route out it would fail, and be counted against the address, while it starts. It stays in its
            # zone when another becomes the first: a second gateway could not take its address.
            opts=pulumi.ResourceOptions(parent=self, depends_on=outside, ignore_changes=["subnet_id"]),
        )
        inside = self._routes("private", private, {"nat_gateway_id": nat.id})
        endpoint = aws.ec2.VpcEndpoint(
            f"{self._name}-s3",
            vpc_id=self._vpc.id,
            service_name=f"com.amazonaws.{region_of(self._args.zones[0])}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[table.id for table in inside if isinstance(table, aws.ec2.RouteTable)],
            opts=self._child,
        )
        return [*outside, nat, *inside, endpoint]

    def _routes(
        self, kind: str, subnets: dict[str, aws.ec2.Subnet], target: Mapping[str, pulumi.Input[str]]
    ) -> list[pulumi.Resource]:
        name = f"{self._name}-{kind}"
        table = aws.ec2.RouteTable(name, vpc_id=self._vpc.id, tags={"Name": name}, opts=self._child)
        route = aws.ec2.Route(
            name, route_table_id=table.id, destination_cidr_block="0.0.0.0/0", **target, opts=self._child
        )
        return [
            table,
            route,
            *(
                aws.ec2.RouteTableAssociation(
                    f"{name}-{zone}", route_table_id=table.id, subnet_id=subnet.id, opts=self._child
                )
                for zone, subnet in subnets.items()
            ),
        ]


def subnet_ranges(cidr: str, zones: Iterable[str]) -> dict[str, tuple[str, str]]:
    """(private, public) range of each zone; the public ones are cut from the VPC range's last 16th.

    Neither a zone's place among the others nor which others there are changes its range, unless two Local Zones would
    have the same one: the later of them has the next.
    """
    vpc = ipaddress.IPv4Network(cidr)
    private = list(vpc.subnets(prefixlen_diff=_PRIVATE_BITS))
    public = list(private[-1].subnets(prefixlen_diff=_PUBLIC_BITS - _PRIVATE_BITS))
    places: dict[str, int] = {}
    for zone in zones:
        place = _place(zone)
        while place in places.values():
            place = _LETTERS + (place + 1 - _LETTERS) % (_PLACES - _LETTERS)
        places[zone] = place
    return {zone: (str(private[place]), str(public[place])) for zone, place in places.items()}


def _place(zone: str) -> int:
    if is_local_zone(zone):
        return _LETTERS + zlib.crc32(zone.encode()) % (_PLACES - _LETTERS)
    return (ord(zone.removeprefix(region_of(zone))) - ord("a")) % _LETTERS


def zones_with(zones: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The zones, and after them those wanted that are missing, so that no earlier one moves."""
    return (*zones, *(zone for zone in wanted if zone not in zones))


def _internal_load_balancers(zone: str) -> dict[str, str]:
    """The tag by which load balancers find the subnet; Local Zones offer none of the kind that EKS makes."""
    return {} if is_local_zone(zone) else {"kubernetes.io/role/internal-elb": "1"}
