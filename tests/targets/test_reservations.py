"""What EC2 says of a pool's capacity, against what the pool asks for."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from targets.capacity import CapacityKind, CapacityKnobs
from targets.reservations import (
    Reservation,
    Wanted,
    offering_problem,
    reservation_problem,
    ultraserver_end,
)

BLOCK = CapacityKnobs(kind=CapacityKind.CAPACITY_BLOCK, reservation_id="cr-0123456789abcdef0")
WHOLE = BLOCK.model_copy(update={"ultraserver": "u-p6e-gb200x36"})
FOUND = Reservation(
    zone="us-east-1a",
    instance_type="p6-b200.48xlarge",
    instances=2,
    state="active",
    start="2026-01-01T11:30:00Z",
    end=None,
)
WANTED = Wanted(zone="us-east-1a", instance_type="p6-b200.48xlarge", nodes=2, running=True)


def at(minutes: float) -> str:
    """Minutes from now."""
    return f"{datetime.now(UTC) + timedelta(minutes=minutes):%Y-%m-%dT%H:%M:%SZ}"


def test_a_reservation_that_fits_is_no_problem() -> None:
    assert reservation_problem(BLOCK, FOUND, WANTED) is None
    assert reservation_problem(BLOCK, replace(FOUND, instances=3), WANTED) is None


@pytest.mark.parametrize(
    ("found", "begins"),
    [
        (
            replace(FOUND, zone="us-east-1b"),
            "zones: us-east-1a, but Capacity Block cr-",
        ),
        (replace(FOUND, instance_type="p5.48xlarge"), "instanceType: p6-b200.48xlarge, but"),
        (replace(FOUND, instances=1), "nodes: 2, but"),
        (replace(FOUND, state="expired"), "active: true, but"),
    ],
)
def test_what_does_not_fit_is_told_by_the_key_that_is_wrong(found: Reservation, begins: str) -> None:
    problem = reservation_problem(BLOCK, found, WANTED)
    assert problem is not None
    assert problem.startswith(begins)


def test_a_block_that_has_not_begun_is_fine_for_a_pool_that_does_not_run() -> None:
    assert (
        reservation_problem(BLOCK, replace(FOUND, state="scheduled"), replace(WANTED, running=False)) is None
    )


def test_an_ultraservers_nodes_go_before_ec2_ends_them() -> None:
    """EC2 begins to end instances an hour before a block's end, and pods are to be drained by then."""
    assert ultraserver_end("2026-12-08T11:30:00Z") == "2026-12-08T10:15:00Z"
    soon, later = replace(FOUND, end=at(70)), replace(FOUND, end=at(80))
    problem = reservation_problem(WHOLE, soon, WANTED)
    assert problem is not None
    assert "an UltraServer's nodes go at" in problem
    assert reservation_problem(WHOLE, later, WANTED) is None
    assert reservation_problem(BLOCK, soon, WANTED) is None, "others run to the end of their block"
    assert reservation_problem(WHOLE, soon, replace(WANTED, running=False)) is None


def test_one_zone_that_offers_the_type_is_enough() -> None:
    assert offering_problem("p5.48xlarge", ["us-east-2a", "us-east-2b"], ["us-east-2b"]) is None
    assert offering_problem("p5.48xlarge", ["us-east-2a"], ["us-east-2c", "us-east-2b"]) == (
        "zones: [us-east-2a] have no p5.48xlarge; for this account EC2 offers it in us-east-2b, us-east-2c"
    )
    problem = offering_problem("p5.48xlarge", ["us-east-2a"], [])
    assert problem is not None
    assert problem.endswith("EC2 offers it in no zone of the region")
