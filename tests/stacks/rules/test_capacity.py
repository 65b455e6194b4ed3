"""Ways of buying instances that cannot work."""

from dataclasses import replace

import pytest

from facts.hardware import INSTANCE_TYPES
from stacks.rules.capacity import PoolRequest, pool_problems
from targets.capacity import (
    CapacityKind,
    CapacityKnobs,
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
