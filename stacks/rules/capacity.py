"""Which ways of buying a GPU pool's instances cannot work. Pure.

Sources: the EKS user guide's pages on managed node groups with Capacity Blocks and on P6e-GB200 UltraServers, EC2's
DescribeInstanceTypeOfferings, and the issues named beside the checks.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from facts.hardware import InstanceType, efa_choices
from targets.capacity import DRA_SINCE, ULTRASERVERS, CapacityKind, CapacityKnobs, region_of


@dataclass(frozen=True, kw_only=True)
class PoolRequest:
    """A GPU pool as asked for. zones: where its nodes may be. subnet_zones: where they can be, None for anywhere.

    kubernetes: version of the cluster, None if unknown. key: where it stands in the stack's config, for messages.
    """

    instance: InstanceType
    nodes: int
    capacity: CapacityKnobs
    region: str
    zones: tuple[str, ...]
    subnet_zones: tuple[str, ...] | None
    kubernetes: str | None
    key: str = "pool"


def pool_problems(request: PoolRequest) -> Iterator[str]:
    """Why the pool cannot be bought as asked."""
    for rule in _RULES:
        yield from rule(request)


def _reservation(request: PoolRequest) -> Iterator[str]:
    capacity = request.capacity
    match capacity.kind:
        case CapacityKind.CAPACITY_BLOCK:
            if capacity.reservation_id is None:
                yield (
                    f"{request.key}.capacity.reservationId: missing; a capacity-block pool needs the block's Capacity "
                    "Reservation id (cr-…)"
                )
            if capacity.reservation_group is not None:
                yield (
                    f"{request.key}.capacity.reservationGroup: {capacity.reservation_group!r} is for odcr; "
                    "a capacity-block pool takes reservationId"
                )
        case CapacityKind.ODCR:
            if (capacity.reservation_id is None) == (capacity.reservation_group is None):
                yield (
                    f"{request.key}.capacity: an odcr pool needs either reservationId (cr-…) or reservationGroup "
                    f"(ARN of a resource group), given {'neither' if capacity.reservation_id is None else 'both'}"
                )
        case CapacityKind.ON_DEMAND | CapacityKind.SPOT:
            for key, value in (
                ("reservationId", capacity.reservation_id),
                ("reservationGroup", capacity.reservation_group),
            ):
                if value is not None:
                    yield (
                        f"{request.key}.capacity.{key}: {value!r} with kind {capacity.kind}, which uses no "
                        "reservation; choose kind capacity-block or odcr, or leave it out"
                    )


def _zones(request: PoolRequest) -> Iterator[str]:
    capacity, zones = request.capacity, request.zones
    given = f"[{', '.join(zones)}]"
    for zone in zones:
        if region_of(zone) != request.region:
            yield f"{request.key}.zones: {zone} is not in cluster.region {request.region}"
        elif request.subnet_zones is not None and zone not in request.subnet_zones:
            there = ", ".join(request.subnet_zones)
            yield f"{request.key}.zones: {zone} has no subnet; the cluster has them in {there}"
    if capacity.kind.prepaid and len(zones) != 1:
        yield f"{request.key}.zones: {given} with kind {capacity.kind}; name exactly one zone, the reservation's"
    elif request.nodes > 1 and len(zones) > 1:
        yield (
            f"{request.key}.zones: {given} for {request.nodes} nodes; EFA and placement groups do not cross zones, "
            "name exactly one"
        )


def _offering_problems(request: PoolRequest) -> Iterator[str]:
    instance = request.instance
    if instance.regions is not None and request.region not in instance.regions:
        yield (
            f"cluster.region: {request.region} has no {instance.name}; "
            f"EC2 offers it in {', '.join(sorted(instance.regions))}"
        )


def _ultraserver(request: PoolRequest) -> Iterator[str]:
    capacity, instance = request.capacity, request.instance
    fitting = [name for name, nodes in ULTRASERVERS.items() if nodes in instance.nodes_per_ultraserver]
    choices = " or ".join(fitting)
    if not fitting:
        if capacity.ultraserver is not None:
            yield (
                f"{request.key}.capacity.ultraserver: {capacity.ultraserver!r}, but {instance.name} is sold as single "
                "nodes; leave it out"
            )
        return
    if capacity.kind is not CapacityKind.CAPACITY_BLOCK:
        yield (
            f"{request.key}.capacity.kind: {capacity.kind}, but {instance.name} is sold only in UltraServer Capacity "
            f"Blocks; choose capacity-block with ultraserver {choices}"
        )
    elif capacity.ultraserver not in fitting:
        given = "missing" if capacity.ultraserver is None else f"{capacity.ultraserver!r} is not allowed"
        yield f"{request.key}.capacity.ultraserver: {given}; choose {choices}"
    elif request.nodes != ULTRASERVERS[capacity.ultraserver]:
        yield (
            f"{request.key}.nodes: {request.nodes}, but an UltraServer is sold whole: {capacity.ultraserver} has "
            f"{ULTRASERVERS[capacity.ultraserver]} nodes"
        )
    if request.kubernetes is not None and _minor(request.kubernetes) < DRA_SINCE:
        wanted = ".".join(map(str, DRA_SINCE))
        yield (
            f"cluster.version: {request.kubernetes}, but ComputeDomains on {instance.name} need Kubernetes "
            f"{wanted} or newer"
        )


def _layout(request: PoolRequest) -> Iterator[str]:
    instance, choices = request.instance, efa_choices(request.instance)
    if not choices:
        yield f"{request.key}.instanceType: the EFA layout of {instance.name} is not known; an instance type needs one"
    elif instance.efa_devices not in choices:
        allowed = " or ".join(map(str, choices))
        yield f"{request.key}.efaDevices: {instance.efa_devices} is not allowed on {instance.name}; choose {allowed}"


def _minor(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


_RULES = (_reservation, _zones, _offering_problems, _ultraserver, _layout)
