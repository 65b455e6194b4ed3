"""`up --wait-for-block` asks EC2 for a block, in a simulated account."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ops.deploy import block
from ops.deploy.block import NotWaitingError
from ops.deploy.blocks import turns
from ops.pulumi import automation, stack_config
from tests.aws.simulated import Accounts, Simulated, reservation
from tests.ops.stacks import stack

BLOCK = "cr-0123456789abcdef0"
START = datetime(2026, 12, 1, 11, 30, tzinfo=UTC)
ON_BLOCK: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "eks", "region": "us-east-2", "publicAccessFrom": ["auto"]},
    "pool": {
        "zones": ["us-east-2b"],
        "capacity": {"kind": "capacity-block", "reservationId": BLOCK},
        "active": True,
    },
}


class Clock:
    """Two hours before the block; while it is slept, the block begins."""

    def __init__(self, account: Simulated) -> None:
        self._account = account

    def now(self) -> datetime:
        return START - timedelta(hours=2)

    def sleep(self, duration: timedelta) -> None:
        self._account.reservations[BLOCK] = reservation()


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulated]:
    known = type(
        "Known", (), {"resources": [{"type": "pulumi:pulumi:Stack", "urn": "urn:pulumi:mine::p::s"}]}
    )
    monkeypatch.setattr(automation, "state", lambda *_: known)
    monkeypatch.setattr(automation, "available", lambda: True)
    monkeypatch.setattr(stack_config, "load", lambda *_: stack(ON_BLOCK).file)
    with Accounts().account("us-east-2", monkeypatch) as made:
        monkeypatch.setattr(block, "aws_session", lambda *_: made.session)
        yield made


def test_a_scheduled_block_is_waited_for_until_ec2_says_that_it_is_active(account: Simulated) -> None:
    account.reservations[BLOCK] = reservation(State="scheduled")
    said: list[str] = []
    found = [turn.plan.main_pool.runs for turn in turns(stack(ON_BLOCK), said.append, clock=Clock(account))]
    assert found == [False, True]
    assert "it begins at 2026-12-01 11:30 UTC, in 2 h." in said[1]


def test_a_block_that_ec2_does_not_have_is_refused(account: Simulated) -> None:
    with pytest.raises(NotWaitingError) as refused:
        next(turns(stack(ON_BLOCK), print, clock=Clock(account)))
    assert str(refused.value) == (
        f"dynamo-gpt-oss:pool.capacity.reservationId: {BLOCK}: the account and region have no such reservation, or it "
        "is over; correct it"
    )
