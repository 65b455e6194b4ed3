"""Which GPU nodes an `up` newly pays, by states that earlier versions of this project left."""

from typing import Any

import pytest

from ops.money.new_nodes import new_nodes
from ops.pulumi import stack_config
from ops.stack.on_embedded import plan_of
from stacks.plan import StackPlan
from tests.engine.record import STATES, read
from tests.project import PROJECT

STATE = "960b5bc-disagg-h100-vllm"
H100: dict[str, Any] = {
    "cluster": {"kind": "eks", "region": "us-east-2", "publicAccessFrom": ["auto"]},
    "pool": {"zones": ["us-east-2b"]},
}


def state() -> list[dict[str, Any]]:
    return read(STATES / f"{STATE}.jsonl")


def plan(**pool: Any) -> StackPlan:
    from tests import plans

    return plans.stack("vllm-disagg-h100", **{**H100, "pool": {**H100["pool"], **pool}})


def said(wanted: StackPlan, resources: list[dict[str, Any]]) -> list[str]:
    return [str(each) for each in new_nodes(wanted, resources)]


def test_a_first_up_makes_them_all() -> None:
    assert said(plan(), []) == ["1 × p5.48xlarge (8 × H100 each, on-demand)"]


def test_an_up_that_changes_no_node_makes_none() -> None:
    assert said(plan(), state()) == []
    assert said(plan_of(stack_config.load(PROJECT, "prod")), read(STATES / "4b076b2-prod.jsonl")) == []


def test_more_nodes_are_those_beside_the_others() -> None:
    assert said(plan(nodes=3), state()) == [
        "2 × p5.48xlarge (8 × H100 each, on-demand), beside 1 that are there"
    ]


@pytest.mark.parametrize("pool", [{"instanceType": "p5en.48xlarge"}, {"capacity": {"kind": "spot"}}])
def test_another_type_or_market_is_another_price(pool: dict[str, Any]) -> None:
    assert len(said(plan(**pool), state())) == 1


def test_fewer_nodes_or_none_are_nothing_new() -> None:
    assert said(plan(active=False), state()) == []
    assert said(plan(active=False), []) == []
    assert said(plan_of(stack_config.load(PROJECT, "smoke")), []) == []
