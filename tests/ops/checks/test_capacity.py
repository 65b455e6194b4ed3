"""Whether EC2 can give a pool its instances, from what a client of EC2 answers."""

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from ops.checks.capacity import capacity
from ops.checks.finding import Finding, Verdict
from stacks.pools import PoolPlan
from tests.plans import stack

ID = "cr-0123456789abcdef0"
BLOCK = {"kind": "capacity-block", "reservationId": ID}
EKS = {"kind": "eks", "region": "us-east-2", "publicAccessFrom": ["192.0.2.0/24"]}


def pool(**said: Any) -> PoolPlan:
    (planned,) = stack("trtllm-disagg-b200", cluster=EKS, platform={}, pool=said).pools
    return planned


class Ec2:
    """What EC2 says of one reservation and of the zones that have the type; itself a session and its client."""

    def __init__(self, zones: tuple[str, ...] = (), error: str = "", **reservation: Any) -> None:
        self.zones, self.error, self.reservation = zones, error, reservation

    def client(self, _: str, region_name: str) -> "Ec2":
        assert region_name == "us-east-2"
        return self

    def describe_instance_type_offerings(self, **asked: Any) -> dict[str, Any]:
        assert asked["Filters"] == [{"Name": "instance-type", "Values": ["p6-b200.48xlarge"]}]
        return {"InstanceTypeOfferings": [{"Location": zone} for zone in self.zones]}

    def describe_capacity_reservations(self, **asked: Any) -> dict[str, Any]:
        assert asked == {"CapacityReservationIds": [ID]}
        if self.error:
            raise ClientError({"Error": {"Code": self.error, "Message": ""}}, "DescribeCapacityReservations")
        usual = {
            "ReservationType": "capacity-block",
            "AvailabilityZone": "us-east-2a",
            "InstanceType": "p6-b200.48xlarge",
            "TotalInstanceCount": 1,
            "State": "active",
            "StartDate": datetime(2026, 1, 1, tzinfo=UTC),
        }
        return {"CapacityReservations": [usual | self.reservation]}


def look(ec2: Ec2, **said: Any) -> Finding:
    planned = pool(**said)
    (finding,) = capacity(ec2, "us-east-2", planned, planned.zones)
    return finding


def test_a_type_that_some_zone_offers_is_no_promise() -> None:
    found = look(Ec2(zones=("us-east-2b", "us-east-2c")))
    assert found.verdict is Verdict.OK
    assert found.text == (
        "EC2 offers p6-b200.48xlarge in us-east-2b, us-east-2c, which is no promise that one is free"
    )
    spot = look(Ec2(zones=("us-east-2b",)), capacity={"kind": "spot"})
    assert spot.text.endswith("; what spot has at the time nobody can tell")


def test_a_type_that_no_zone_of_the_pool_offers_is_wrong() -> None:
    found = look(Ec2(zones=("us-east-2c",)), zones=["us-east-2a"])
    assert found.verdict is Verdict.WRONG
    assert found.text == (
        "pool.zones: [us-east-2a] have no p6-b200.48xlarge; for this account EC2 offers it in us-east-2c"
    )


def test_an_active_block_of_the_pools_zone_and_type_is_fine() -> None:
    found = look(Ec2(), zones=["us-east-2a"], capacity=BLOCK, active=True)
    assert found.verdict is Verdict.OK
    assert found.text == f"{ID} is active, from 2026-01-01T00:00:00Z to no end, 1 instances in us-east-2a"


@pytest.mark.parametrize(
    ("reservation", "text"),
    [
        (
            {"AvailabilityZone": "us-east-2b"},
            f"pool.zones: us-east-2a, but Capacity Block {ID} is in us-east-2b",
        ),
        (
            {"InstanceType": "p5.48xlarge"},
            f"pool.instanceType: p6-b200.48xlarge, but Capacity Block {ID} is of p5.48xlarge",
        ),
        ({"TotalInstanceCount": 0}, f"pool.nodes: 1, but Capacity Block {ID} has 0"),
        (
            {"State": "scheduled"},
            f"pool.active: true, but Capacity Block {ID} is scheduled (from 2026-01-01T00:00:00Z to None); set it to "
            "false until the block is active, or run `up` with --wait-for-block",
        ),
        (
            {"ReservationType": "default"},
            f"pool.capacity.kind: capacity-block, but {ID} is of kind odcr",
        ),
    ],
)
def test_a_block_that_does_not_fit_is_wrong(reservation: dict[str, Any], text: str) -> None:
    found = look(Ec2(**reservation), zones=["us-east-2a"], capacity=BLOCK, active=True)
    assert (found.verdict, found.text) == (Verdict.WRONG, text)


def test_a_block_that_is_not_there_is_wrong_and_a_refusal_is_no_answer() -> None:
    found = look(Ec2(error="InvalidCapacityReservationId.NotFound"), zones=["us-east-2a"], capacity=BLOCK)
    assert found.verdict is Verdict.WRONG
    assert "the account and region have no such reservation" in found.text
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        look(Ec2(error="UnauthorizedOperation"), zones=["us-east-2a"], capacity=BLOCK)


def test_members_of_a_group_are_not_looked_at() -> None:
    group = "arn:aws:resource-groups:us-east-2:123456789012:group/ours"
    found = look(Ec2(), zones=["us-east-2a"], capacity={"kind": "odcr", "reservationGroup": group})
    assert found.verdict is Verdict.UNKNOWN
