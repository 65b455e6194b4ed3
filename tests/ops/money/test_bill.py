"""What a stack costs, what its graphs use of it and when it ends, in sentences."""

from typing import Any

import pytest

from ops.money.bill import end, how_to_price, price, uses
from ops.pulumi import stack_config
from ops.stack.on_embedded import plan_of
from stacks.cost import cost_per_hour
from stacks.plan import StackPlan
from tests import plans
from tests.project import PROJECT

EKS = {"kind": "eks", "region": "us-east-1"}


def shipped(stack: str) -> StackPlan:
    return plan_of(stack_config.load(PROJECT, stack))


def on_eks(target: str = "vllm-disagg-h100", **config: Any) -> StackPlan:
    return plans.stack(target, cluster=EKS, **config)


def test_a_graph_that_leaves_most_of_an_ultraserver_unused_says_so() -> None:
    (use,) = uses(shipped("agg-gb200"))
    assert str(use) == "graph gpt-oss-agg uses 4 of 36 GPUs of 9 nodes (p6e-gb200.36xlarge)"


def test_each_pool_says_its_own_graphs() -> None:
    plan = on_eks(pools=[{"name": "copy"}], graphs=[{"name": "second", "pool": "copy"}])
    assert [str(use) for use in uses(plan)] == [
        "graph gpt-oss-disagg uses 8 of 8 GPUs of 1 node (p5.48xlarge)",
        "graph second uses 8 of 8 GPUs of 1 node (p5.48xlarge)",
    ]
    assert uses(shipped("smoke")) == []


def test_the_price_is_by_the_hour_and_the_day() -> None:
    priced = cost_per_hour(shipped("disagg-b200"))
    assert priced
    assert price(priced) == "116.73 USD an hour, 2,801.51 USD a day"
    unknown = cost_per_hour(shipped("agg-gb200"))
    assert unknown
    assert price(unknown).endswith(", and what 9 × p6e-gb200.36xlarge (capacity-block) costs: unknown")


def test_the_line_that_gives_a_price_keeps_those_that_are_there() -> None:
    block = {"zones": ["us-east-1a"], "active": True}
    block["capacity"] = {"kind": "capacity-block", "reservationId": "cr-0123456789abcdef0"}
    plan = on_eks(pool=block, prices={"nat-gateway": 0.05})
    priced = cost_per_hour(plan)
    assert priced
    sentence = how_to_price(priced, plan)
    assert sentence
    assert sentence.splitlines()[-1] == "  dynamo-gpt-oss:prices: { nat-gateway: 0.05, p5.48xlarge: USD }"
    plan = on_eks(pool=block, prices={"nat-gateway": 0.05, "p5.48xlarge": 31.5})
    priced = cost_per_hour(plan)
    assert priced and how_to_price(priced, plan) is None


@pytest.mark.parametrize(
    "tags, said",
    [
        (
            {"ttl": "24h"},
            "its GPU nodes are scaled to 0 after 24h (tags.ttl), by when it has cost 1,388.08 USD",
        ),
        (
            {"ttl": "2d"},
            "its GPU nodes are scaled to 0 after 2d (tags.ttl), by when it has cost 2,776.16 USD",
        ),
        ({"ttl": "never"}, "nothing ends it but `make down STACK=s`"),
        (
            {},
            "a line `dynamo-gpt-oss:tags: { ttl: 24h }` in Pulumi.s.yaml scales its GPU nodes to 0 after a day",
        ),
    ],
)
def test_the_end_or_how_to_have_one(tags: dict[str, str], said: str) -> None:
    plan = on_eks(tags=tags)
    priced = cost_per_hour(plan)
    assert priced and said in end(plan, "s", priced)
