"""What EC2 says of a pool's capacity, against what the pool asks for. Pure, but for the time of day."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from targets.capacity import CapacityKind

_NAMES = {CapacityKind.CAPACITY_BLOCK: "Capacity Block", CapacityKind.ODCR: "Capacity Reservation"}


ULTRASERVER_LEAD = timedelta(minutes=75)
"""How long before its block's end an UltraServer's nodes go: EC2 begins to end them 60 minutes before it (EKS user
guide, P6e-GB200), and pods are to be drained by then. EKS's own scheduled action comes 40 minutes before."""


class Bought(Protocol):
    """How a pool's instances are bought."""

    @property
    def kind(self) -> CapacityKind:
        """Of a reservation."""

    @property
    def reservation_id(self) -> object:
        """Its id."""

    @property
    def ultraserver(self) -> str | None:
        """Type of a GB200 block."""


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """A Capacity Block or Reservation as EC2 describes it. start, end: as text, None where there is none."""

    zone: str
    instance_type: str
    instances: int
    state: str
    start: str | None
    end: str | None


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a pool wants of a reservation. running: whether nodes are to run now."""

    zone: str
    instance_type: str
    nodes: int
    running: bool


BLOCK_LEAD = timedelta(minutes=40)
"""How long before its end EKS's own scheduled action takes the nodes of any other block: EC2 begins to end them 30
minutes before it (EC2 user guide, Capacity Blocks, and the notice that EventBridge sends 40 minutes before)."""


def nodes_go(block_end: datetime, *, ultraserver: bool) -> datetime:
    """When the nodes of a block are taken away."""
    return block_end - (ULTRASERVER_LEAD if ultraserver else BLOCK_LEAD)


def ultraserver_end(block_end: str) -> str:
    """When an UltraServer's nodes go. Both as `2026-12-08T11:30:00Z`."""
    return f"{nodes_go(datetime.fromisoformat(block_end), ultraserver=True):%Y-%m-%dT%H:%M:%SZ}"


def reservation_problem(
    capacity: Bought, found: Reservation, wanted: Wanted, *, zones_key: str = "zones"
) -> str | None:
    """A sentence that begins with the pool's key that does not fit, now, or None. zones_key: the one of its zones."""
    it = f"{_NAMES[capacity.kind]} {capacity.reservation_id}"
    if found.zone != wanted.zone:
        return f"{zones_key}: {wanted.zone}, but {it} is in {found.zone}"
    if found.instance_type != wanted.instance_type:
        return f"instanceType: {wanted.instance_type}, but {it} is of {found.instance_type}"
    if found.instances < wanted.nodes:
        return f"nodes: {wanted.nodes}, but {it} has {found.instances}"
    if wanted.running and found.state != "active":
        return (
            f"active: true, but {it} is {found.state} (from {found.start} to {found.end}); "
            "set it to false until the block is active"
        )
    if wanted.running and capacity.ultraserver and found.end:
        over = ultraserver_end(found.end)
        if datetime.fromisoformat(over) <= datetime.now(UTC):
            return (
                f"active: true, but {it} ends at {found.end}, and an UltraServer's nodes go at {over}, before EC2 ends "
                "them; set it to false"
            )
    return None


def offering_problem(
    instance_type: str, zones: Iterable[str], offered: Iterable[str], *, zones_key: str = "zones"
) -> str | None:
    """The same for zones of which none has the type. offered: zones that have it, for this account."""
    there = sorted(offered)
    if set(there) & set(zones):
        return None
    return (
        f"{zones_key}: [{', '.join(zones)}] have no {instance_type}; for this account EC2 offers it in "
        f"{', '.join(there) or 'no zone of the region'}"
    )
