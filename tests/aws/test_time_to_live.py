"""One clock for a stack's time: what begins it, what does not, and what reads it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest

from manifests.services import time_to_live
from ops import reap
from ops.pulumi import automation
from ops.pulumi.command import PulumiError
from tests.aws.engine import CONFIG_MAP, Stack
from tests.aws.lifecycle import account_of, config_of, with_knobs

CONFIG = config_of("disagg-b200")
HOUR = timedelta(hours=1)


@pytest.fixture
def stack() -> Iterator[Stack]:
    """A stack of 24 hours that is up."""
    assert CONFIG["tags"]["ttl"] == "24h"
    with account_of(CONFIG) as account:
        made = Stack(account, "disagg-b200")
        made.up(CONFIG)
        yield made


def wait(stack: Stack, hours: int) -> None:
    """Let the clock of the stack be older."""
    (clock,) = [key for key in stack.state if key[0] == CONFIG_MAP and key[1].startswith("time-to-live")]
    metadata = stack.state[clock].outputs["metadata"]
    born = datetime.fromisoformat(metadata["creationTimestamp"]) - hours * HOUR
    metadata["creationTimestamp"] = born.isoformat()


def left(stack: Stack) -> timedelta:
    """Time until the stack's end, as its output and its state have it."""
    end = datetime.fromisoformat(stack.outputs["endsAt"])
    assert end == time_to_live.deployed_end(stack.resources())
    return end - datetime.now(UTC)


def test_another_up_does_not_prolong_a_time_that_is_the_same(stack: Stack) -> None:
    assert 23 * HOUR < left(stack) <= 24 * HOUR
    wait(stack, 10)
    stack.up(with_knobs(CONFIG, {"tags": {"owner": "somebody-else"}}))
    assert 13 * HOUR < left(stack) <= 14 * HOUR


def test_another_time_to_live_begins_a_new_time(stack: Stack) -> None:
    wait(stack, 10)
    stack.up(with_knobs(CONFIG, {"tags": {"ttl": "12h"}}))
    assert 11 * HOUR < left(stack) <= 12 * HOUR
    stack.up(CONFIG)
    assert 23 * HOUR < left(stack) <= 24 * HOUR


def test_an_up_after_the_end_is_refused_before_nodes_or_graphs(stack: Stack) -> None:
    wait(stack, 25)
    done = len(stack.steps)
    with pytest.raises(
        pulumi.RunError,
        match=r"^ttl: the 24h of this stack were over at .* take it down and bring it up again, or give it another "
        r"time to live and run `pulumi up --refresh`",
    ):
        stack.up(with_knobs(CONFIG, {"graph": {"decode": {"maxBatchSize": 64}}}))
    assert not [
        key for _, key in stack.steps[done:] if key[0].endswith((":CronJob", ":DynamoGraphDeployment"))
    ]
    stack.up(with_knobs(CONFIG, {"tags": {"ttl": "48h"}}))
    assert left(stack) > 47 * HOUR


@pytest.mark.parametrize(("hours", "due"), [(23, []), (25, ["disagg-b200"])])
def test_reap_goes_by_the_same_clock(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, hours: int, due: list[str]
) -> None:
    deployed_now: Any = SimpleNamespace(name="disagg-b200", resource_count=1, last_update=datetime.now(UTC))
    monkeypatch.setattr(automation, "available", lambda: True)
    monkeypatch.setattr(automation, "summaries", lambda _, report: [deployed_now])
    monkeypatch.setattr(automation, "open_stack", lambda *_, **__: None)
    monkeypatch.setattr(automation, "resources", lambda _: stack.resources())
    wait(stack, hours)
    assert [name for name, *_ in reap.due(print)] == due


def test_reap_counts_from_the_last_update_where_no_clock_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    long_ago: Any = SimpleNamespace(
        name="disagg-b200", resource_count=1, last_update=datetime.now(UTC) - 25 * HOUR
    )
    monkeypatch.setattr(automation, "available", lambda: True)
    monkeypatch.setattr(automation, "summaries", lambda _, report: [long_ago])
    monkeypatch.setattr(automation, "open_stack", lambda *_, **__: None)
    monkeypatch.setattr(automation, "resources", lambda _: [])
    assert [name for name, *_ in reap.due(print)] == ["disagg-b200"]


def test_reap_takes_down_what_is_due_beside_a_stack_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long_ago = datetime.now(UTC) - 25 * HOUR
    deployed: Any = [
        SimpleNamespace(name=name, resource_count=1, last_update=long_ago)
        for name in ("agg-gb200", "disagg-b200")
    ]

    def opened(_: Path, name: str, **__: Any) -> None:
        if name == "agg-gb200":
            raise PulumiError("its passphrase is missing")

    monkeypatch.setattr(automation, "available", lambda: True)
    monkeypatch.setattr(automation, "summaries", lambda _, report: deployed)
    monkeypatch.setattr(automation, "open_stack", opened)
    monkeypatch.setattr(automation, "resources", lambda _: [])
    down: list[str] = []
    with pytest.raises(reap.ReapError, match=r"^agg-gb200: its passphrase is missing$"):
        list(reap.reap(None, print, take_down=lambda name, *_: down.append(name)))
    assert down == ["disagg-b200"]
