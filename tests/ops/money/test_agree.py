"""Who is asked before money is spent or data deleted, and what happens where nobody can be."""

from collections.abc import Callable
from typing import Any

import pytest
import typer

from ops.money import agree
from ops.money.agree import NotAgreedError, agree_to_delete, agree_to_spend
from ops.pulumi import automation
from tests.engine.record import STATES, read
from tests.ops.stacks import stack

H100: dict[str, Any] = {
    "target": "vllm-disagg-h100",
    "cluster": {"kind": "eks", "region": "us-east-1"},
    "tags": {"ttl": "24h"},
}
DEPLOYED = "960b5bc-disagg-h100-vllm"


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Gives Pulumi a recorded state of the stack; none to begin with."""

    def give(name: str) -> None:
        class Known:
            resources = read(STATES / f"{name}.jsonl") if name else []

        monkeypatch.setattr(automation, "state", lambda *_: Known())

    monkeypatch.setattr(automation, "available", lambda: True)
    give("")
    return give


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], list[str]]:
    """Puts somebody at the terminal, who answers so; returns what is asked."""

    def sit(answer: bool) -> list[str]:
        asked: list[str] = []

        def confirm(text: str, **_: object) -> bool:
            asked.append(text)
            return answer

        monkeypatch.setattr(agree, "_is_somebody_there", lambda: True)
        monkeypatch.setattr(typer, "confirm", confirm)
        return asked

    return sit


def test_without_a_terminal_it_refuses_in_one_sentence(state: object) -> None:
    with pytest.raises(NotAgreedError) as refused:
        agree_to_spend(stack(H100), yes=False)
    assert str(refused.value) == (
        "--yes: mine would make 1 × p5.48xlarge (8 × H100 each, on-demand), which cost money, and there is no "
        "terminal to ask; say --yes (with make: ARGS=--yes)"
    )


def test_price_use_and_end_are_said_before_it_asks(
    state: object, person: Callable[[bool], list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = person(True)
    agree_to_spend(stack(H100), yes=False)
    assert asked == ["Spend it?"]
    first, price, basis, buys, end = capsys.readouterr().err.splitlines()
    assert first == "mine newly makes 1 × p5.48xlarge (8 × H100 each, on-demand)."
    assert price == "  price  57.84 USD an hour, 1,388.08 USD a day"
    assert basis.startswith("         list prices of us-east-1; without data transfer")
    assert buys == "  buys   graph gpt-oss-disagg uses 8 of 8 GPUs of 1 node (p5.48xlarge)"
    assert end.startswith("  end    its GPU nodes are scaled to 0 after 24h (tags.ttl)")


def test_who_says_no_gets_nothing_made(state: object, person: Callable[[bool], list[str]]) -> None:
    person(False)
    with pytest.raises(NotAgreedError, match="mine was not deployed, and nothing was made"):
        agree_to_spend(stack(H100), yes=False)


def test_yes_says_the_price_and_asks_nobody(state: object, capsys: pytest.CaptureFixture[str]) -> None:
    agree_to_spend(stack(H100), yes=True)
    assert "57.84 USD an hour" in capsys.readouterr().err


def test_a_reservation_is_paid_anyway_and_its_price_asked_for(
    state: object, capsys: pytest.CaptureFixture[str]
) -> None:
    block = {"kind": "capacity-block", "reservationId": "cr-0123456789abcdef0"}
    agree_to_spend(
        stack(H100 | {"pool": {"zones": ["us-east-1a"], "capacity": block, "active": True}}), yes=True
    )
    said = capsys.readouterr().err
    assert "what is reserved is paid whether nodes run in it or not" in said
    assert "  dynamo-gpt-oss:prices: { p5.48xlarge: USD }" in said


@pytest.mark.parametrize(
    "config, embedded, deployed",
    [
        (H100, True, ""),
        (H100 | {"cluster": {"kind": "existing"}}, False, ""),
        (H100 | {"pool": {"active": False}}, False, ""),
        (H100, False, DEPLOYED),
    ],
)
def test_where_no_node_is_newly_paid_nothing_is_said(
    config: dict[str, Any],
    embedded: bool,
    deployed: str,
    state: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    state(deployed)
    agree_to_spend(stack(config, embedded=embedded), yes=False)
    assert capsys.readouterr().err == ""


def test_down_says_which_data_goes_and_asks(
    state: Callable[[str], None], person: Callable[[bool], list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    state(DEPLOYED)
    asked = person(False)
    with pytest.raises(NotAgreedError, match="mine stays as it is, and nothing was deleted"):
        agree_to_delete(stack(H100), yes=False)
    assert asked == ["Delete it?"]
    assert "down of mine deletes\n" in capsys.readouterr().err
    agree_to_delete(stack(H100), yes=True)
    assert asked == ["Delete it?"]


def test_a_teardown_without_a_terminal_goes_on(
    state: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """It would leave GPU nodes running, which costs more than to download weights again."""
    state(DEPLOYED)
    agree_to_delete(stack(H100), yes=False)
    assert "down of mine deletes\n" in capsys.readouterr().err
