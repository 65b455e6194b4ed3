"""A pool's Capacity Block, as EC2 describes it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from components.aws.session import session as aws_session
from ops.checks import capacity
from ops.stack.stack import Stack
from stacks.pools import PoolPlan
from stacks.sections.cluster import AwsCluster
from stacks.settings import PROJECT
from targets.capacity import CapacityKind
from targets.errors import UserError
from targets.reservations import nodes_go

OPTION = "--wait-for-block"


class NotWaitingError(UserError):
    """There is no block to wait for; nothing was made."""


@dataclass(frozen=True)
class Block:
    """A pool's Capacity Block, as EC2 describes it."""

    pool: PoolPlan
    state: str
    start: datetime
    end: datetime

    @property
    def key(self) -> str:
        """The pool, as the stack file has it."""
        return self.pool.pool.key

    @property
    def name(self) -> str:
        """For people."""
        return f"Capacity Block {self.pool.capacity.reservation_id} of {self.key}"

    @property
    def nodes_go(self) -> datetime:
        """When its nodes are taken away, before EC2 would end them."""
        return nodes_go(self.end, ultraserver=self.pool.capacity.ultraserver is not None)


Look = Callable[[Sequence[PoolPlan]], list[Block]]
"""Asks EC2 for the blocks of pools. Raises as boto3 does, and NotWaitingError for a block that is not there."""


def on_aws(stack: Stack) -> Look:
    """The account that the stack is deployed to. Raises as boto3 does."""
    cluster = stack.plan.cluster
    assert isinstance(cluster, AwsCluster), "blocks are on AWS alone"
    client = aws_session(cluster.region, cluster.aws).client("ec2", region_name=cluster.region)

    def look(pools: Sequence[PoolPlan]) -> list[Block]:
        return [_block(client, each) for each in pools]

    return look


def _block(client: Any, pool: PoolPlan) -> Block:
    identity = str(pool.capacity.reservation_id)
    found = capacity.described(client, identity)
    if found is None:
        raise NotWaitingError(
            f"{PROJECT}:{pool.pool.key}.capacity.reservationId: {identity}: {capacity.NOT_THERE}; correct it"
        )
    if (other := found.get("ReservationType", "default")) != "capacity-block":
        raise NotWaitingError(
            f"{PROJECT}:{pool.pool.key}.capacity.reservationId: {identity} is a reservation of type {other}, and no "
            f"Capacity Block; write a block's id, or capacity.kind: {CapacityKind.ODCR} and leave {OPTION} out"
        )
    return Block(pool, found["State"], found["StartDate"], found["EndDate"])


def at(moment: datetime) -> str:
    """For people."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
