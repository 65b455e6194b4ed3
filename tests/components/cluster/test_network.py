"""Subnet ranges of a VPC of the stack's own."""

import ipaddress

import pytest

from components.cluster.network import subnet_ranges, zones_with

ZONES = [f"us-east-1{letter}" for letter in "abcdef"]
LOCAL = ["us-east-1-dfw-2a", "us-east-1-atl-2a", "us-east-1-chi-2a"]


@pytest.mark.parametrize("cidr", ["10.80.0.0/16", "172.16.0.0/18"])
def test_ranges_are_in_the_vpc_and_apart(cidr: str) -> None:
    found = subnet_ranges(cidr, [*ZONES, *LOCAL]).values()
    ranges = [ipaddress.IPv4Network(each) for pair in found for each in pair]
    assert all(each.subnet_of(ipaddress.IPv4Network(cidr)) for each in ranges)
    assert not any(a.overlaps(b) for a in ranges for b in ranges if a is not b)


def test_seven_local_zones_find_ranges_apart() -> None:
    found = subnet_ranges("10.80.0.0/16", [f"us-east-1-dfw-2{letter}" for letter in "abcdefg"])
    assert len({private for private, _ in found.values()}) == 7


def test_no_other_zone_moves_a_range() -> None:
    alone = subnet_ranges("10.80.0.0/16", ["us-east-1c"])["us-east-1c"]
    assert subnet_ranges("10.80.0.0/16", ["us-east-1a", "us-east-1b", "us-east-1c"])["us-east-1c"] == alone
    dallas, atlanta = (subnet_ranges("10.80.0.0/16", [zone])[zone] for zone in LOCAL[:2])
    assert dallas != atlanta, "one that takes another's place has a range of its own"
    assert zones_with(("a", "b"), ("c", "a")) == ("a", "b", "c")


def test_private_subnets_have_room_for_gpu_nodes() -> None:
    ((private, public),) = subnet_ranges("10.80.0.0/16", ["us-east-1a"]).values()
    assert ipaddress.IPv4Network(private).num_addresses == 4096
    assert ipaddress.IPv4Network(public).num_addresses == 256
