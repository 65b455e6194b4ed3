"""Zones and the parts of AWS that they are in."""

import pytest

from targets.capacity import (
    is_local_zone,
    partition_of,
    placed_zones,
    region_of,
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
