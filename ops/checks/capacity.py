"""Whether EC2 can give the pools their instances: types in zones, reservations and Capacity Blocks."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from ops.checks.finding import Finding, ok, unknown, wrong
from stacks.pools import PoolPlan
from targets.capacity import CapacityKind
from targets.reservations import Reservation, Wanted, offering_problem, reservation_problem

NOT_THERE = "the account and region have no such reservation, or it is over"


def capacity(session: Any, region: str, planned: PoolPlan, zones: Collection[str]) -> Iterator[Finding]:
    """A line about a pool's instances. zones: where its nodes may really be."""
    client = session.client("ec2", region_name=region)
    if planned.capacity.kind.prepaid:
        yield _reservation(client, planned)
    else:
        yield _offering(client, planned, zones)


def _offering(client: Any, planned: PoolPlan, zones: Collection[str]) -> Finding:
    key, name = planned.pool.key, planned.pool.instance.name
    offers = client.describe_instance_type_offerings(
        LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": [name]}]
    )["InstanceTypeOfferings"]
    there = [offer["Location"] for offer in offers]
    problem = offering_problem(name, zones, there)
    if problem is not None:
        return wrong(key, f"{key}.{problem}")
    offering = ", ".join(zone for zone in zones if zone in there)
    now = (
        ""
        if planned.capacity.kind is CapacityKind.ON_DEMAND
        else "; what spot has at the time nobody can tell"
    )
    return ok(key, f"EC2 offers {name} in {offering}, which is no promise that one is free{now}")


def _reservation(client: Any, planned: PoolPlan) -> Finding:
    key, capacity = planned.pool.key, planned.capacity
    if capacity.reservation_id is None:
        return unknown(key, f"the members of {capacity.reservation_group} are not looked at")
    found = described(client, capacity.reservation_id)
    if found is None:
        return wrong(key, f"{key}.capacity.reservationId: {capacity.reservation_id}: {NOT_THERE}; correct it")
    wanted_type = "capacity-block" if capacity.kind is CapacityKind.CAPACITY_BLOCK else "default"
    if found.get("ReservationType", "default") != wanted_type:
        kinds = {"capacity-block": CapacityKind.CAPACITY_BLOCK, "default": CapacityKind.ODCR}
        right = kinds[found.get("ReservationType", "default")]
        return wrong(
            key, f"{key}.capacity.kind: {capacity.kind}, but {capacity.reservation_id} is of kind {right}"
        )
    bought = _bought(found)
    (zone,) = planned.zones
    wanted = Wanted(
        zone=zone,
        instance_type=planned.pool.instance.name,
        nodes=planned.pool.nodes,
        running=planned.pool.runs,
    )
    problem = reservation_problem(capacity, bought, wanted)
    if problem is not None:
        wait = ", or run `up` with --wait-for-block" if bought.state == "scheduled" else ""
        return wrong(key, f"{key}.{problem}{wait}")
    window = f"from {bought.start} to {bought.end or 'no end'}"
    return ok(
        key,
        f"{capacity.reservation_id} is {bought.state}, {window}, {bought.instances} instances in {zone}",
    )


def described(client: Any, identity: str) -> dict[str, Any] | None:
    """What EC2 says of a Capacity Reservation or Block; None where it has none of that id. Raises as boto3 does."""
    try:
        answer = client.describe_capacity_reservations(CapacityReservationIds=[identity])
    except ClientError as error:
        if "InvalidCapacityReservationId" not in error.response["Error"]["Code"]:
            raise
        return None
    (found,) = answer["CapacityReservations"]
    return dict(found)


def _bought(found: Mapping[str, Any]) -> Reservation:
    return Reservation(
        zone=found["AvailabilityZone"],
        instance_type=found["InstanceType"],
        instances=found["TotalInstanceCount"],
        state=found["State"],
        start=_time(found.get("StartDate")),
        end=_time(found.get("EndDate")),
    )


def _time(at: Any) -> str | None:
    return None if at is None else f"{at:%Y-%m-%dT%H:%M:%SZ}"
