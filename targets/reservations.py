"""What EC2 says of a pool's capacity, against what the pool asks for. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from targets.capacity import CapacityKind, CapacityKnobs

_NAMES = {CapacityKind.CAPACITY_BLOCK: "Capacity Block", CapacityKind.ODCR: "Capacity Reservation"}


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


def reservation_problem(said: CapacityKnobs, found: Reservation, wanted: Wanted) -> str | None:
    """A sentence that begins with the pool's key that does not fit, or None."""
    it = f"{_NAMES[said.kind]} {said.reservation_id}"
    if found.zone != wanted.zone:
        return f"zones: {wanted.zone}, but {it} is in {found.zone}"
    if found.instance_type != wanted.instance_type:
        return f"instanceType: {wanted.instance_type}, but {it} is of {found.instance_type}"
    if found.instances < wanted.nodes:
        return f"nodes: {wanted.nodes}, but {it} has {found.instances}"
    if wanted.running and found.state != "active":
        return (
            f"active: true, but {it} is {found.state} (from {found.start} to {found.end}); "
            "set it to false until the block is active"
        )
    return None


def offering_problem(instance_type: str, zones: Iterable[str], offered: Iterable[str]) -> str | None:
    """The same for zones of which none has the type. offered: zones that have it, for this account."""
    there = sorted(offered)
    if set(there) & set(zones):
        return None
    return (
        f"zones: [{', '.join(zones)}] have no {instance_type}; for this account EC2 offers it in "
        f"{', '.join(there) or 'no zone of the region'}"
    )
