"""`up --wait-for-block`: everything else first, and a Capacity Block's nodes and graphs as soon as it has begun."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from embedded.paths import PROJECT as PROJECT_FOLDER
from embedded.processes import Report
from manifests.services.time_to_live import deployed_end, is_clock, seconds
from ops.checks import account
from ops.deploy.block import OPTION, Block, Look, NotWaitingError, at, on_aws
from ops.deploy.destination import require_pulumi
from ops.money.new_nodes import running
from ops.pulumi import automation, stack_config
from ops.pulumi.stack_file import StackFile
from ops.stack.on_embedded import plan_of
from ops.stack.stack import Stack
from stacks.pools import PoolPlan
from stacks.sections.cluster import AwsCluster
from stacks.settings import PROJECT
from targets.capacity import CapacityKind
from targets.knobs import MAIN_POOL

_WILL_BEGIN = ("scheduled", "payment-pending", "assessing", "delayed", "pending")
"""EC2's states of a block that is still to become active."""
_LEAST, _MOST = timedelta(seconds=15), timedelta(minutes=10)
"""Between two looks: at the time of its start, and long before it. A machine that slept looks again soon.

EC2 may be silent for the second one after the start, too: the wait may be one of days, and what throttles passes."""
_TOLD_EVERY = timedelta(hours=1)


class Clock(Protocol):
    """The time, and waiting for it."""

    def now(self) -> datetime:
        """With its time zone."""

    def sleep(self, duration: timedelta) -> None:
        """Return when it is over."""


class WallClock:
    """The machine's own."""

    def now(self) -> datetime:
        """In UTC."""
        return datetime.now(UTC)

    def sleep(self, duration: timedelta) -> None:
        """Ctrl-C ends it."""
        time.sleep(duration.total_seconds())


def check(stack: Stack) -> None:
    """Raise NotWaitingError where no block can be waited for, or waiting would end what runs."""
    pools = _of_blocks(stack)
    if stack.embedded:
        raise NotWaitingError(f"{OPTION}: nothing is bought on the embedded cluster; leave it out")
    if not pools:
        raise NotWaitingError(
            f"{OPTION}: no pool of {stack.name} is bought as a Capacity Block on AWS (pool.capacity.kind); leave it out"
        )
    for each in pools:
        if not each.pool.runs:
            raise NotWaitingError(
                f"{PROJECT}:{each.pool.key}.active: not true, so no node would run when the block begins; set it to "
                f"true: {OPTION} keeps the nodes away until then"
            )


def turns(
    stack: Stack,
    report: Report,
    *,
    began: Callable[[datetime], None] = lambda _: None,
    look: Look | None = None,
    clock: Clock | None = None,
) -> Iterator[Stack]:
    """The stack as it is to be deployed, each time that more of it can be: last of all, all of it.

    Between two of them it waits for the next block. began: takes when that of the main pool did.

    Raises NotWaitingError, and DestinationError without Pulumi.
    """
    require_pulumi(stack)
    clock = clock or WallClock()
    try:
        look = look or on_aws(stack)
        blocks = look(_of_blocks(stack))
    except account.ERRORS as error:
        raise NotWaitingError(
            f"{OPTION}: EC2 does not say when the block begins: {error}; `make doctor STACK={stack.full_name}` says "
            "what AWS lacks (credentials: `aws sso login`, AWS_PROFILE or cluster.aws.profile; the right "
            "ec2:DescribeCapacityReservations)"
        ) from None
    resources = automation.state(PROJECT_FOLDER, stack.full_name).resources
    _refuse_what_cannot_begin(blocks)
    _refuse_one_after_another(blocks)
    _refuse_an_early_end(stack, blocks, resources, clock.now())
    _refuse_to_end(resources, [each for each in blocks if each.state != "active"])
    while waiting := [each for each in blocks if each.state != "active"]:
        held = without(stack, waiting)
        report(
            f"{stack.name}: all but {' and '.join(each.key for each in waiting)}, whose block is still to begin"
        )
        yield held
        blocks = _wait(stack, min(waiting, key=lambda each: each.start), report, look, clock)
        _refuse_what_cannot_begin(blocks)
        _refuse_what_changed(stack)
    for each in blocks:
        report(f"{each.name} has begun; its nodes go at {at(each.nodes_go)}, before EC2 ends them")
        if each.pool.pool.name == MAIN_POOL:
            began(each.start)
    yield stack


def without(stack: Stack, blocks: Sequence[Block]) -> Stack:
    """The stack with those pools off, whatever its file says."""
    keys = [each.key for each in blocks]
    file = _switched_off(stack.file, keys)
    changed = tuple(dict.fromkeys(_section(key) for key in keys))
    return replace(stack, file=file, plan=plan_of(file), changed=changed)


def _wait(stack: Stack, block: Block, report: Report, look: Look, clock: Clock) -> list[Block]:
    """Return the blocks of the stack once that one is not to begin any more."""
    told: datetime | None = None
    while True:
        now = clock.now()
        left = block.start - now
        if told is None or now - told >= _TOLD_EVERY or timedelta() < left <= _MOST:
            report(
                f"waiting for {block.name}: it begins at {at(block.start)}, in {_words(left)}. Ctrl-C ends the wait; "
                f"`{stack.command('up', OPTION)}` goes on, before the block begins or after"
            )
            told = now
        clock.sleep(max(_LEAST, min(_MOST, left)))
        try:
            blocks = look(_of_blocks(stack))
        except account.ERRORS as error:
            if clock.now() >= block.start + _MOST:
                raise NotWaitingError(
                    f"{block.name} has begun by now, but EC2 does not say so: {error}; run "
                    f"`{stack.command('up', OPTION)}` again"
                ) from None
            report(f"EC2 did not answer and is asked again: {error}")
            continue
        (block,) = [each for each in blocks if each.key == block.key]
        if block.state not in _WILL_BEGIN:
            return blocks


def _refuse_what_cannot_begin(blocks: Sequence[Block]) -> None:
    for each in blocks:
        if each.state not in (*_WILL_BEGIN, "active"):
            raise NotWaitingError(
                f"{PROJECT}:{each.key}.capacity.reservationId: {each.name} is {each.state} (from {at(each.start)} to "
                f"{at(each.end)}), so it does not begin any more; write the id of another"
            )


def _refuse_one_after_another(blocks: Sequence[Block]) -> None:
    """A block that is over before another begins: by then its pool would keep the whole stack from coming up."""
    for first in blocks:
        for later in blocks:
            if first.nodes_go <= later.start:
                raise NotWaitingError(
                    f"{OPTION}: the nodes of {first.name} go at {at(first.nodes_go)}, before {later.name} begins at "
                    f"{at(later.start)}; wait for one of them: set {later.key}.active: false until the other is over"
                )


def _refuse_an_early_end(
    stack: Stack, blocks: Sequence[Block], resources: Sequence[Mapping[str, Any]], now: datetime
) -> None:
    """A time to live that is over while nodes of a block are paid. Its clock runs from the first `up` that had it."""
    ttl = stack.plan.billing.tags.end
    if ttl is None:
        return
    running_clock = deployed_end(each for each in resources if is_clock(each, ttl))
    end = running_clock or now + timedelta(seconds=seconds(ttl))
    for each in blocks:
        if end < each.nodes_go:
            raise NotWaitingError(
                f"{PROJECT}:tags.ttl: {ttl} are over at {at(end)}, before the nodes of {each.name} go at "
                f"{at(each.nodes_go)}; give it longer, or `never`: the nodes go with the block"
            )


def _refuse_what_changed(stack: Stack) -> None:
    """A stack that was taken down, or another stack file, since the wait began."""
    if not automation.state(PROJECT_FOLDER, stack.full_name).resources:
        raise NotWaitingError(f"{stack.name} was taken down while this waited; it is not brought up again")
    if stack_config.load(PROJECT_FOLDER, stack.full_name).config != stack.file.config:
        raise NotWaitingError(
            f"Pulumi.{stack.name}.yaml was changed while this waited; run `{stack.command('up', OPTION)}` again"
        )


def _refuse_to_end(resources: Sequence[Mapping[str, Any]], waiting: Sequence[Block]) -> None:
    """Nodes of an earlier block, which keeping the pool off would take away."""
    for each in waiting:
        if nodes := running(each.pool, resources):
            raise NotWaitingError(
                f"{OPTION}: by the stack's state {each.key} has {nodes} nodes, but {each.name} is still to begin, and "
                f"waiting would end them; run `up` with {each.key}.active: false first"
            )


def _of_blocks(stack: Stack) -> list[PoolPlan]:
    """Pools of nodes that the stack makes in a block."""
    if not isinstance(stack.plan.cluster, AwsCluster):
        return []
    return [each for each in stack.plan.pools if each.capacity.kind is CapacityKind.CAPACITY_BLOCK]


def _switched_off(file: StackFile, keys: Sequence[str]) -> StackFile:
    config = dict(file.config)
    for key in keys:
        section = _section(key)
        content = json.loads(config[section])
        position = key.partition("[")[2].rstrip("]")
        (content[int(position)] if position else content)["active"] = False
        config[section] = json.dumps(content, sort_keys=True)
    return replace(file, config=config)


def _section(key: str) -> str:
    """The full config key that a pool stands in: `pool`, or `pools` of `pools[0]`."""
    return f"{PROJECT}:{key.partition('[')[0]}"


def _words(left: timedelta) -> str:
    minutes = max(0, round(left.total_seconds() / 60))
    days, hours = divmod(minutes // 60, 24)
    parts = [(days, "d"), (hours, "h"), (minutes % 60, "min")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "less than a minute"
