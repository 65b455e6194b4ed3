"""Zones and the ways of buying instances."""

from dataclasses import replace

import pytest

from facts.hardware import INSTANCE_TYPES
from targets.capacity import (
    CapacityKind,
    CapacityKnobs,
    PoolRequest,
    is_local_zone,
    partition_of,
    placed_zones,
    pool_problems,
    region_of,
)

BLOCK = CapacityKnobs(kind=CapacityKind.CAPACITY_BLOCK, reservation_id="cr-0123456789abcdef0")
B200 = PoolRequest(
    instance=INSTANCE_TYPES["p6-b200.48xlarge"],
    nodes=1,
    capacity=CapacityKnobs(),
    region="us-east-2",
    zones=("us-east-2a", "us-east-2b"),
    subnet_zones=None,
    kubernetes="1.35",
)


@pytest.mark.parametrize(
    ("zone", "region", "local"),
    [
        ("us-east-1a", "us-east-1", False),
        ("us-east-1-dfw-2a", "us-east-1", True),
        ("us-gov-west-1b", "us-gov-west-1", False),
        ("ap-southeast-2-per-1a", "ap-southeast-2", True),
    ],
)
def test_a_zone_has_its_regions_name_in_front(zone: str, region: str, local: bool) -> None:
    assert region_of(zone) == region
    assert is_local_zone(zone) is local


def test_what_is_no_zone_is_an_error() -> None:
    with pytest.raises(ValueError, match="'Ohio' is no zone"):
        region_of("Ohio")


@pytest.mark.parametrize(
    ("region", "partition"), [("eu-west-1", "aws"), ("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov")]
)
def test_a_region_is_in_a_part_of_aws(region: str, partition: str) -> None:
    assert partition_of(region) == partition


def test_zones_that_are_not_offered_give_way_to_spare_ones() -> None:
    assert placed_zones(["a", "b"], ["a", "b", "c"]) == {"a": "a", "b": "b"}
    assert placed_zones(["a", "x"], ["b", "a", "c"]) == {"a": "a", "x": "b"}
    assert placed_zones(["a", "x"], ["b", "a", "c"], taken=["b"]) == {"a": "a", "x": "c"}
    assert placed_zones(["x", "y"], ["a"]) == {"x": "a"}, "as far as there are any"


def test_a_pool_as_shipped_can_be_bought() -> None:
    assert list(pool_problems(B200)) == []
    assert list(pool_problems(replace(B200, capacity=BLOCK, zones=("us-east-2a",)))) == []


@pytest.mark.parametrize(
    ("request_", "key"),
    [
        (replace(B200, zones=("us-east-1a",)), "pool.zones"),
        (replace(B200, subnet_zones=("us-east-2c",), zones=("us-east-2a",)), "pool.zones"),
        (replace(B200, nodes=2), "pool.zones"),
        (replace(B200, capacity=BLOCK), "pool.zones"),
        (replace(B200, capacity=CapacityKnobs(kind=CapacityKind.CAPACITY_BLOCK), zones=("us-east-2a",)),
         "pool.capacity.reservationId"),
        (replace(B200, capacity=CapacityKnobs(kind=CapacityKind.ODCR), zones=("us-east-2a",)), "pool.capacity"),
        (replace(B200, capacity=CapacityKnobs(reservation_id="cr-0123456789abcdef0")), "pool.capacity.reservationId"),
        (replace(B200, capacity=CapacityKnobs(ultraserver="u-p6e-gb200x36")), "pool.capacity.ultraserver"),
        (replace(B200, instance=replace(B200.instance, efa_devices=3)), "pool.efaDevices"),
        (replace(B200, region="eu-west-1", zones=()), "cluster.region"),
    ],
)  # fmt: skip
def test_what_cannot_be_bought_is_told_by_its_key(request_: PoolRequest, key: str) -> None:
    (problem,) = pool_problems(request_)
    assert problem.partition(":")[0] == key


GB200 = PoolRequest(
    instance=INSTANCE_TYPES["p6e-gb200.36xlarge"],
    nodes=9,
    capacity=BLOCK.model_copy(update={"ultraserver": "u-p6e-gb200x36"}),
    region="us-east-1",
    zones=("us-east-1-dfw-2a",),
    subnet_zones=None,
    kubernetes="1.35",
)


@pytest.mark.parametrize(
    ("request_", "key"),
    [
        (GB200, None),
        (replace(GB200, nodes=8), "pool.nodes"),
        (replace(GB200, nodes=18), "pool.nodes"),
        (replace(GB200, capacity=BLOCK), "pool.capacity.ultraserver"),
        (replace(GB200, capacity=CapacityKnobs()), "pool.capacity.kind"),
        (replace(GB200, kubernetes="1.33"), "cluster.version"),
        (replace(GB200, kubernetes=None), None),
    ],
)
def test_an_ultraserver_is_sold_whole_and_as_a_block(request_: PoolRequest, key: str | None) -> None:
    assert [each.partition(":")[0] for each in pool_problems(request_)] == ([key] if key else [])
