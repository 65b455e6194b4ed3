"""What a stack on EKS must say before anything is made of it."""

from datetime import date
from typing import Any

import pytest

from components.cluster import api_reach
from facts.kubernetes_support import STANDARD_SUPPORT_ENDS
from stacks.before_up import problems
from tests.plans import stack

TODAY = date(2026, 1, 1)
REACHED = {"kind": "eks", "region": "us-east-2", "version": "1.35", "publicAccessFrom": ["192.0.2.0/24"]}


@pytest.fixture(autouse=True)
def nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_reach, "own_address_if_known", lambda: "203.0.113.7")


def keys(today: date = TODAY, **config: Any) -> list[str]:
    """The keys of the problems."""
    plan = stack("vllm-disagg-h100", **{"cluster": REACHED, "platform": {}, "tags": {"ttl": "8h"}, **config})
    return [problem.partition(":")[0] for problem in problems(plan, today)]


def test_a_stack_that_says_who_reaches_it_and_when_it_ends_may_be_made() -> None:
    assert keys() == []


def test_a_cluster_that_nobody_reaches_is_not_made() -> None:
    closed = {key: value for key, value in REACHED.items() if key != "publicAccessFrom"}
    assert keys(cluster=closed) == ["cluster.publicAccessFrom"]
    assert keys(cluster=closed | {"privateAccessFrom": ["10.0.0.0/8"]}) == []
    plan = stack("vllm-disagg-h100", cluster=closed, platform={}, tags={"ttl": "8h"})
    (problem,) = problems(plan, TODAY)
    assert "203.0.113.7/32" in problem, "what to write for whoever deploys now"


def test_an_old_release_is_dear_unless_that_is_wanted() -> None:
    after = date.fromisoformat(str(STANDARD_SUPPORT_ENDS["1.35"])).replace(year=2030)
    assert keys(after) == ["cluster.version"]
    assert keys(after, cluster=REACHED | {"extendedSupport": True}) == []


@pytest.mark.parametrize(
    ("pool", "found"),
    [
        ({}, ["tags.ttl"]),
        ({"capacity": {"kind": "spot"}}, ["tags.ttl"]),
        ({"active": False}, []),
        (
            {"zones": ["us-east-2a"],
             "capacity": {"kind": "capacity-block", "reservationId": "cr-0123456789abcdef0"}},
            [],
        ),
    ],
)  # fmt: skip
def test_gpus_that_are_paid_until_somebody_ends_them_have_an_end(
    pool: dict[str, Any], found: list[str]
) -> None:
    """A block ends by itself, and is paid for before."""
    assert keys(pool=pool, tags={}) == found
    assert keys(pool=pool, tags={"ttl": "never"}) == []
