"""`up --wait-for-block` by a clock of the test's own: what is deployed when, what is said, and what is refused."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from typer.testing import CliRunner

from ops import __main__ as verbs
from ops.checks import capacity
from ops.deploy import blocks, deploy
from ops.deploy.block import OPTION, Block, NotWaitingError
from ops.deploy.blocks import check, turns
from ops.deploy.destination import DestinationError
from ops.money import agree
from ops.pulumi import automation, stack_config
from ops.pulumi.stack_file import StackFile
from ops.rollout.observer import Observer
from ops.stack.stack import Stack
from ops.watch.record import Record
from stacks.pools import PoolPlan
from tests.ops.stacks import of_file, stack
from tests.plans import stack_file

NOW = datetime(2026, 12, 1, 8, tzinfo=UTC)
START, END = NOW + timedelta(hours=3, minutes=30), NOW + timedelta(hours=27, minutes=30)
CLUSTER = {"kind": "eks", "region": "us-east-2", "publicAccessFrom": ["auto"]}


def bought(number: int, **more: Any) -> dict[str, Any]:
    capacity = {"kind": "capacity-block", "reservationId": f"cr-0123456789abcde{number:02x}"}
    return {"zones": ["us-east-2b"], "capacity": capacity, "active": True, **more}


ONE: dict[str, Any] = {"target": "trtllm-disagg-b200", "cluster": CLUSTER, "pool": bought(0)}
TWO = ONE | {
    "pools": [{"name": "second", **bought(1)}],
    "graphs": [{"name": "second", "pool": "second"}],
}
GROUP = "urn:pulumi:mine::p::dynamo-gpt-oss:index:GpuNodePool$aws:eks/nodeGroup:NodeGroup::gpu-nodes"


@dataclass
class Ec2:
    """Blocks that begin at their time, and a clock that a sleep moves. down: when nobody answers."""

    now: datetime = NOW
    starts: tuple[datetime, ...] = (START, START)
    state: str = "scheduled"
    late: timedelta = timedelta()
    down: Callable[[datetime], bool] = lambda _: False
    slept: list[timedelta] = field(default_factory=list)

    def sleep(self, duration: timedelta) -> None:
        self.slept.append(duration)
        self.now += duration

    def look(self, pools: Sequence[PoolPlan]) -> list[Block]:
        if self.down(self.now):
            raise EndpointConnectionError(endpoint_url="https://ec2.us-east-2.amazonaws.com")
        return [
            Block(pool, "active" if self.now >= start + self.late else self.state, start, END)
            for pool, start in zip(pools, self.starts, strict=False)
        ]


class _Clock:
    def __init__(self, ec2: Ec2) -> None:
        self._ec2 = ec2

    def now(self) -> datetime:
        return self._ec2.now

    def sleep(self, duration: timedelta) -> None:
        self._ec2.sleep(duration)


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What Pulumi has written down of the stack."""
    resources: list[dict[str, Any]] = [{"type": "pulumi:pulumi:Stack", "urn": "urn:pulumi:mine::p::s"}]
    monkeypatch.setattr(automation, "state", lambda *_: type("Known", (), {"resources": resources}))
    monkeypatch.setattr(automation, "available", lambda: True)
    monkeypatch.setattr(stack_config, "load", lambda _, name: FILES[name])
    return resources


FILES: dict[str, StackFile] = {}
"""What is on disk, by stack."""


def deployed(of: Stack, ec2: Ec2, said: list[str] | None = None) -> Iterator[tuple[datetime, Stack]]:
    FILES[of.full_name] = of.file
    report = (said if said is not None else []).append
    for turn in turns(of, report, look=ec2.look, clock=_Clock(ec2)):
        yield ec2.now, turn


def running(of: Stack) -> list[bool]:
    return [each.pool.runs for each in of.plan.pools]


def test_all_but_the_nodes_comes_first_and_they_come_when_the_block_begins() -> None:
    mine, ec2 = stack(ONE), Ec2()
    said: list[str] = []
    (first, held), (then, whole) = deployed(mine, ec2, said)
    assert (first, running(held), held.changed) == (NOW, [False], ("dynamo-gpt-oss:pool",))
    assert held.plan.cache == mine.plan.cache
    assert (whole, running(whole), whole.changed) == (mine, [True], ())
    assert timedelta() <= then - START <= timedelta(seconds=15)
    assert said[0] == "mine: all but pool, whose block is still to begin"
    assert said[1] == (
        "waiting for Capacity Block cr-0123456789abcde00 of pool: it begins at 2026-12-01 11:30 UTC, in 3 h 30 min. "
        "Ctrl-C ends the wait; `make up STACK=mine ARGS=--wait-for-block` goes on, before the block begins or after"
    )
    assert said[-1].endswith("has begun; its nodes go at 2026-12-02 10:50 UTC, before EC2 ends them")


def test_it_tells_when_the_main_pools_block_began() -> None:
    told: list[datetime] = []
    ec2 = Ec2(starts=(START, START + timedelta(hours=1)))
    FILES["mine"] = stack(TWO).file
    list(turns(stack(TWO), lambda _: None, began=told.append, look=ec2.look, clock=_Clock(ec2)))
    assert told == [START]


def test_it_says_every_hour_and_near_the_end_what_it_waits_for() -> None:
    said: list[str] = []
    list(deployed(stack(ONE), Ec2(), said))
    waiting = [line.partition(", in ")[2].partition(".")[0] for line in said if line.startswith("waiting")]
    assert waiting == ["3 h 30 min", "2 h 30 min", "1 h 30 min", "30 min", "10 min"]


def test_a_block_that_is_late_is_looked_for_often() -> None:
    ec2 = Ec2(late=timedelta(minutes=1))
    said: list[str] = []
    *_, (then, _) = deployed(stack(ONE), ec2, said)
    assert then == START + timedelta(minutes=1)
    assert ec2.slept[-4:] == [timedelta(seconds=15)] * 4
    assert "in 10 min" in said[-2], "it is not told by the quarter of a minute"


def test_a_block_that_has_begun_is_waited_for_by_nobody() -> None:
    mine, ec2 = stack(ONE), Ec2(now=START)
    assert [turn for _, turn in deployed(mine, ec2)] == [mine]
    assert ec2.slept == []


def test_each_of_several_blocks_is_taken_when_it_begins() -> None:
    ec2 = Ec2(starts=(START + timedelta(hours=1), START))
    found = [(then >= START, running(turn)) for then, turn in deployed(stack(TWO), ec2)]
    assert found == [(False, [False, False]), (True, [False, True]), (True, [True, True])]


def test_other_pools_are_left_as_they_are() -> None:
    other = {"name": "second", "zones": ["us-east-2b"], "capacity": {"kind": "on-demand"}}
    (_, held), _ = deployed(stack(TWO | {"pools": [other]}), Ec2())
    assert running(held) == [False, True]


def test_ec2_may_be_silent_while_nothing_hangs_on_it() -> None:
    said: list[str] = []
    ec2 = Ec2(down=lambda now: NOW < now < NOW + timedelta(hours=1))
    assert len(list(deployed(stack(ONE), ec2, said))) == 2
    assert any(line.startswith("EC2 did not answer and is asked again: ") for line in said)


def test_ec2_may_not_be_silent_when_the_block_begins() -> None:
    with pytest.raises(NotWaitingError) as ended:
        list(deployed(stack(ONE), Ec2(down=lambda now: now > NOW)))
    assert "has begun by now, but EC2 does not say so" in str(ended.value)
    assert "run `make up STACK=mine ARGS=--wait-for-block` again" in str(ended.value)


def test_ec2_may_be_silent_for_a_moment_when_the_block_begins() -> None:
    said: list[str] = []
    ec2 = Ec2(down=lambda now: START <= now < START + timedelta(minutes=5))
    *_, (then, whole) = deployed(stack(ONE), ec2, said)
    assert (then, running(whole)) == (START + timedelta(minutes=5), [True])
    assert any(line.startswith("EC2 did not answer and is asked again: ") for line in said)


def test_without_an_answer_of_ec2_nothing_is_made_and_it_says_what_to_do() -> None:
    with pytest.raises(NotWaitingError) as refused:
        next(deployed(stack(ONE), Ec2(down=lambda _: True)))
    assert str(refused.value).startswith(
        "--wait-for-block: EC2 does not say when the block begins: Could not connect to the endpoint URL"
    )
    assert "`make doctor STACK=mine` says what AWS lacks (credentials: `aws sso login`" in str(refused.value)


def test_a_profile_that_is_nowhere_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    elsewhere = ONE | {"cluster": CLUSTER | {"aws": {"profile": "nowhere"}}}
    with pytest.raises(NotWaitingError, match=r"EC2 does not say .* profile \(nowhere\) could not be found"):
        next(turns(stack(elsewhere), print))


def test_pulumi_is_asked_for_before_ec2_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automation, "available", lambda: False)
    with pytest.raises(DestinationError, match="takes a Pulumi CLI, and none is on PATH"):
        next(deployed(stack(ONE), Ec2(down=lambda _: True)))


def test_another_reservation_than_a_block_begins_never(monkeypatch: pytest.MonkeyPatch) -> None:
    odcr = {"State": "active", "StartDate": NOW, "ReservationType": "default"}
    monkeypatch.setattr(capacity, "described", lambda *_: odcr)
    with pytest.raises(NotWaitingError) as refused:
        next(turns(stack(ONE), print))
    assert str(refused.value) == (
        "dynamo-gpt-oss:pool.capacity.reservationId: cr-0123456789abcde00 is a reservation of type default, and no "
        "Capacity Block; write a block's id, or capacity.kind: odcr and leave --wait-for-block out"
    )


def test_what_never_begins_ends_the_wait() -> None:
    ec2 = Ec2()
    found = deployed(stack(ONE), ec2)
    next(found)
    ec2.state = "payment-failed"
    with pytest.raises(NotWaitingError, match="of pool is payment-failed"):
        next(found)


@pytest.mark.parametrize(
    ("state_of_it", "config", "message"),
    [
        (
            "expired",
            ONE,
            "dynamo-gpt-oss:pool.capacity.reservationId: Capacity Block cr-0123456789abcde00 of pool is expired (from "
            "2026-12-01 11:30 UTC to 2026-12-02 11:30 UTC), so it does not begin any more; write the id of another",
        ),
        (
            "scheduled",
            ONE | {"tags": {"ttl": "4h"}},
            "dynamo-gpt-oss:tags.ttl: 4h are over at 2026-12-01 12:00 UTC, before the nodes of Capacity Block "
            "cr-0123456789abcde00 of pool go at 2026-12-02 10:50 UTC; give it longer, or `never`: the nodes go with "
            "the block",
        ),
    ],
)
def test_what_cannot_come_up_is_refused_before_anything_is_made(
    state_of_it: str, config: dict[str, Any], message: str
) -> None:
    with pytest.raises(NotWaitingError) as refused:
        next(deployed(stack(config), Ec2(state=state_of_it)))
    assert str(refused.value) == message


def test_a_time_to_live_beyond_the_block_is_no_reason_not_to_wait() -> None:
    assert len(list(deployed(stack(ONE | {"tags": {"ttl": "48h"}}), Ec2()))) == 2


def test_a_clock_that_runs_already_counts(state: list[dict[str, Any]]) -> None:
    begun = (NOW - timedelta(hours=40)).isoformat().replace("+00:00", "Z")
    metadata = {"name": "time-to-live-48h", "creationTimestamp": begun}
    state.append({"type": "kubernetes:core/v1:ConfigMap", "outputs": {"metadata": metadata}})
    with pytest.raises(
        NotWaitingError, match=r"tags.ttl: 48h are over at 2026-12-01 16:00 UTC, before the nodes"
    ):
        next(deployed(stack(ONE | {"tags": {"ttl": "48h"}}), Ec2(now=START)))
    assert list(deployed(stack(ONE | {"tags": {"ttl": "72h"}}), Ec2(now=START))), "another clock begins anew"


def test_of_two_blocks_none_may_be_over_before_the_other_begins() -> None:
    with pytest.raises(NotWaitingError) as refused:
        next(deployed(stack(TWO), Ec2(starts=(START, END))))
    assert "of pool go at 2026-12-02 10:50 UTC, before Capacity Block" in str(refused.value)
    assert str(refused.value).endswith("set pools[0].active: false until the other is over")


def test_a_stack_that_was_taken_down_meanwhile_stays_down(state: list[dict[str, Any]]) -> None:
    found = deployed(stack(ONE), Ec2())
    next(found)
    state.clear()
    with pytest.raises(
        NotWaitingError, match="mine was taken down while this waited; it is not brought up again"
    ):
        next(found)


def test_another_stack_file_is_not_deployed_by_the_plan_of_the_first() -> None:
    found = deployed(stack(ONE), Ec2())
    next(found)
    FILES["mine"] = stack(TWO).file
    with pytest.raises(
        NotWaitingError, match=r"Pulumi.mine.yaml was changed while this waited; run `make up"
    ):
        next(found)


def test_nodes_of_an_earlier_block_are_not_ended_by_waiting(state: list[dict[str, Any]]) -> None:
    state.append({
        "type": "aws:eks/nodeGroup:NodeGroup", "urn": GROUP, "inputs": {"scalingConfig": {"desiredSize": 1}}
    })  # fmt: skip
    with pytest.raises(NotWaitingError) as refused:
        next(deployed(stack(ONE), Ec2()))
    assert "by the stack's state pool has 1 nodes" in str(refused.value)
    assert "run `up` with pool.active: false first" in str(refused.value)
    assert len(list(deployed(stack(ONE), Ec2(now=START)))) == 1, "those of the block itself"


def test_an_ultraservers_nodes_go_earlier() -> None:
    capacity = ONE["pool"]["capacity"] | {"ultraserver": "u-p6e-gb200x36"}
    pool = {"zones": ["us-east-1-dfw-2a"], "capacity": capacity, "active": True}
    said: list[str] = []
    gb200 = {"target": "trtllm-agg-gb200", "cluster": CLUSTER | {"region": "us-east-1"}, "pool": pool}
    list(deployed(stack(gb200), Ec2(now=START), said))
    assert said[-1].endswith("its nodes go at 2026-12-02 10:15 UTC, before EC2 ends them")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            ONE | {"pool": {"zones": ["us-east-2b"], "capacity": {"kind": "on-demand"}}},
            "--wait-for-block: no pool of mine is bought as a Capacity Block on AWS (pool.capacity.kind); leave it out",
        ),
        (
            ONE | {"pool": bought(0, active=False)},
            "dynamo-gpt-oss:pool.active: not true, so no node would run when the block begins; set it to true: "
            "--wait-for-block keeps the nodes away until then",
        ),
    ],
)
def test_where_there_is_nothing_to_wait_for_it_says_so(config: dict[str, Any], message: str) -> None:
    with pytest.raises(NotWaitingError) as refused:
        check(stack(config))
    assert str(refused.value) == message


def test_on_the_embedded_cluster_nothing_is_bought() -> None:
    at_home = of_file(stack_file("mine", target="mocker-disagg-cpu", cluster={"kind": "existing"}))
    with pytest.raises(NotWaitingError, match="nothing is bought on the embedded cluster; leave it out"):
        check(replace(at_home, embedded=True))


def test_a_stack_with_blocks_is_waited_for() -> None:
    check(stack(TWO))
    assert OPTION == "--wait-for-block"


class TestVerb:
    """The verb itself; a deployment only says when it was asked for."""

    @pytest.fixture
    def ups(self, monkeypatch: pytest.MonkeyPatch) -> list[list[bool]]:
        """Which pools ran in each deployment."""
        found: list[list[bool]] = []
        ec2 = Ec2()

        def up(of: Stack, *_: object, **__: object) -> dict[str, str]:
            found.append(running(of))
            return {"of": of.name}

        monkeypatch.setattr("ops.stack.stack.find", lambda *_, **__: stack(ONE))
        FILES["mine"] = stack(ONE).file
        monkeypatch.setattr(agree, "agree_to_spend", lambda *_, **__: None)
        monkeypatch.setattr(deploy, "up", up)
        monkeypatch.setattr(Record, "keep", lambda *_: None)
        monkeypatch.setattr(blocks, "on_aws", lambda _: ec2.look)
        monkeypatch.setattr(blocks, "WallClock", lambda: _Clock(ec2))
        return found

    def test_it_deploys_twice_and_ends_when_all_is_ready(self, ups: list[list[bool]]) -> None:
        done = CliRunner().invoke(verbs.app, ["up", "--stack", "mine", "--wait-for-block"])
        assert done.exit_code == 0, done.output
        assert ups == [[False], [True]]
        assert "in 3 h 30 min. Ctrl-C ends the wait" in done.stderr
        assert done.stdout.count("mine is ready after") == 1

    @pytest.mark.usefixtures("ups")
    def test_it_keeps_when_the_block_began(self, monkeypatch: pytest.MonkeyPatch) -> None:
        told: list[datetime] = []
        monkeypatch.setattr(Observer, "block_began", lambda _, at: told.append(at))
        CliRunner().invoke(verbs.app, ["up", "--stack", "mine", "--wait-for-block"])
        assert told == [START]

    def test_ctrl_c_while_it_waits_says_how_to_go_on(
        self, ups: list[list[bool]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(Ec2, "sleep", interrupted)
        done = CliRunner().invoke(verbs.app, ["up", "--stack", "mine", "--wait-for-block"])
        assert ups == [[False]]
        assert done.exit_code != 0
        assert (
            "stays and is paid for: `make up STACK=mine ARGS=--wait-for-block` goes on from there"
            in done.stderr
        )

    def test_without_the_option_all_is_deployed_at_once(self, ups: list[list[bool]]) -> None:
        assert CliRunner().invoke(verbs.app, ["up", "--stack", "mine"]).exit_code == 0
        assert ups == [[True]]
