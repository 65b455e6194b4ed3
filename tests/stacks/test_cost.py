"""What a stack pays for by the hour: everything that is bought, once, and nothing that others pay."""

from typing import Any

import pytest

from facts.prices import Cost
from stacks.cost import cost_output, cost_per_hour, hourly_of_main_graph, hourly_of_main_pool
from stacks.plan import StackPlan
from tests.plans import stack

EKS = {"kind": "eks", "region": "us-east-2", "version": "1.35"}
ODCR = {"kind": "odcr", "reservationId": "cr-0123456789abcdef0"}


def on_eks(target: str = "vllm-disagg-h100", **config: Any) -> StackPlan:
    return stack(target, **{"cluster": EKS, "platform": {}, **config})


def parts(plan: StackPlan) -> dict[str, float | None]:
    cost = cost_per_hour(plan)
    assert cost is not None
    return dict(cost.parts)


def named(plan: StackPlan, word: str) -> list[str]:
    return [name for name in parts(plan) if word in name]


def test_a_cluster_that_is_there_costs_the_stack_nothing_but_has_a_price() -> None:
    there = stack("vllm-disagg-h100", cluster={"kind": "existing"})
    assert cost_per_hour(there) is None
    assert cost_output(there) == {}
    price: Cost = hourly_of_main_pool(there)
    assert list(price.parts) == ["1 × p5.48xlarge"]
    assert price.usd_per_hour


def test_the_sum_is_of_all_parts() -> None:
    cost = cost_per_hour(on_eks())
    assert cost is not None
    known = [usd for usd in cost.parts.values() if usd is not None]
    assert len(known) == len(cost.parts)
    assert cost.usd_per_hour == pytest.approx(sum(known))


def test_nodes_that_do_not_run_cost_nothing_and_a_reservation_its_hours() -> None:
    assert named(on_eks(pool={"active": False}), "p5.48xlarge") == []
    idle = on_eks(pool={"active": False, "zones": ["us-east-2a"], "capacity": ODCR})
    assert named(idle, "p5.48xlarge") == ["1 × p5.48xlarge (odcr)"]
    assert named(idle, "GPU nodes") == [], "no instance, no root volume"


def test_what_no_list_has_is_unknown_and_not_free() -> None:
    spot = on_eks(pool={"capacity": {"kind": "spot"}})
    assert parts(spot)["1 × p5.48xlarge (spot)"] is None
    output = cost_output(spot)
    assert output["perHour"] == output["perHourByPart"]["1 × p5.48xlarge (spot)"] == "unknown"


def test_a_vpc_of_ones_own_has_its_own_way_out() -> None:
    subnets = {"us-east-2a": "subnet-0123456789abcdef0", "us-east-2b": "subnet-0123456789abcdef1"}
    vpc = {"vpcId": "vpc-0123456789abcdef0", "privateSubnets": subnets}
    assert len(named(on_eks(), "NAT gateway")) == 2
    assert named(on_eks(cluster=EKS | {"vpc": vpc}), "NAT gateway") == []


def test_what_is_measured_on_the_main_graph_is_not_made_by_other_pools() -> None:
    two = on_eks(graphs=[{"name": "b", "pool": "second"}], pools=[{"name": "second"}])
    whole, main = cost_per_hour(two), hourly_of_main_graph(two)
    assert whole is not None and main is not None
    assert set(whole.parts) - set(main.parts) == {
        "1 × p5.48xlarge of second (on-demand)",
        "1 × 200 GiB root, GPU nodes of second",
    }
