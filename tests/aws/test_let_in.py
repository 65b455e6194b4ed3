"""Who calls from another address than the one that deployed is let in before Kubernetes objects are touched."""

from collections.abc import Iterator
from typing import Any

import pytest
from moto.eks.models import EKSBackend, eks_backends

from ops import reap
from ops.aws import let_in
from ops.deploy import deploy
from ops.progress import Progress
from ops.pulumi import automation, pending
from ops.stack.stack import find
from stacks.load import parse
from tests.aws.engine import CLUSTER, Stack
from tests.aws.lifecycle import account_of, config_of, with_knobs
from tests.aws.refusals import Refusal, World

HOME, ELSEWHERE = "198.51.100.7", "203.0.113.9"
AUTO = with_knobs(config_of("disagg-b200"), {"cluster": {"publicAccessFrom": ["auto"]}})


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """An account in which an update of an endpoint leaves the rest of the cluster's network as it was."""
    own = EKSBackend.update_cluster_config

    def merged(backend: Any, name: str, resources_vpc_config: dict[str, Any], **more: Any) -> Any:
        there = backend.clusters[name].resources_vpc_config
        return own(backend, name, {**there, **resources_vpc_config}, **more)

    monkeypatch.setattr(EKSBackend, "update_cluster_config", merged)
    with account_of(AUTO) as made:
        yield made


@pytest.fixture
def stack(account: World) -> Stack:
    made = Stack(account, "disagg-b200")
    made.up(AUTO)
    account.address = ELSEWHERE
    return made


def ranges(stack: Stack) -> list[str]:
    said: list[str] = stack.account.cluster(stack._one(CLUSTER).id)["resourcesVpcConfig"]["publicAccessCidrs"]
    return said


def open_to_caller(stack: Stack, config: dict[str, Any] = AUTO, *, alone: bool = False) -> list[str]:
    """What is said."""
    lines: list[str] = []
    with stack.at_the_keyboard():
        let_in.caller(parse(config, set()), stack.resources(), lines.append, alone=alone)
    return lines


def test_who_is_elsewhere_is_let_in_beside_the_others(stack: Stack) -> None:
    with pytest.raises(Refusal, match="i/o timeout"):
        stack.down()
    (line,) = open_to_caller(stack)
    assert line.endswith(
        f"lets in {ELSEWHERE}/32, where this machine calls from ({HOME}/32, {ELSEWHERE}/32 in all)"
    )
    assert ranges(stack) == [f"{HOME}/32", f"{ELSEWHERE}/32"]
    (again,) = open_to_caller(stack)
    assert again.endswith("answers from here already")


def test_alone_it_is_as_the_next_up_would_have_it(stack: Stack) -> None:
    config = with_knobs(AUTO, {"cluster": {"publicAccessFrom": ["auto", "192.0.2.0/24"]}})
    open_to_caller(stack, config, alone=True)
    assert ranges(stack) == ["192.0.2.0/24", f"{ELSEWHERE}/32"]
    stack.up(config)
    assert sorted(ranges(stack)) == ["192.0.2.0/24", f"{ELSEWHERE}/32"]


def test_a_closed_endpoint_opens_to_the_caller_and_not_to_everybody(stack: Stack) -> None:
    closed = {"endpointPublicAccess": False, "publicAccessCidrs": ["0.0.0.0/0"]}
    name = stack._one(CLUSTER).id
    stack.account.call("eks", "UpdateClusterConfig", name=name, resourcesVpcConfig=closed)
    open_to_caller(stack)
    assert ranges(stack) == [f"{ELSEWHERE}/32"]


def test_a_stack_that_names_its_ranges_is_left_as_it_is(stack: Stack) -> None:
    assert open_to_caller(stack, config_of("disagg-b200")) == []
    assert ranges(stack) == [f"{HOME}/32"]


def test_an_address_that_nobody_says_is_one_sentence(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent() -> str:
        raise OSError("no way out")

    with (
        stack.at_the_keyboard(),
        pytest.raises(let_in.LetInError, match=r"did not say from where.*no way out"),
    ):
        monkeypatch.setattr("components.cluster.api_reach.own_address", silent)
        let_in.caller(parse(AUTO, set()), stack.resources(), print)


@pytest.mark.parametrize("verb", ["down", "reap"])
def test_a_stack_goes_from_another_address(stack: Stack, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    monkeypatch.setattr(automation, "available", lambda: True)
    monkeypatch.setattr(automation, "open_stack", lambda *_, **__: None)
    monkeypatch.setattr(
        automation, "export", lambda *_, **__: {"deployment": {"resources": stack.resources()}}
    )
    monkeypatch.setattr(automation, "down", lambda *_: stack.down())
    monkeypatch.setattr(pending, "mend", lambda *_, **__: None)

    class Site:
        def end_graphs(self) -> None:
            assert stack._reached(), "graphs are ended through the API server"

    monkeypatch.setattr(reap, "site", lambda *_: Site())
    with stack.at_the_keyboard():
        if verb == "reap":
            reap.down("disagg-b200", False, Progress())
        else:
            deploy.down(find("disagg-b200"), Progress())
    assert not stack.state


def test_more_than_eks_takes_let_in_the_caller_alone(stack: Stack) -> None:
    """Every runner adds its own address, and nobody takes one away."""
    name = stack._one(CLUSTER).id
    many = [f"192.0.2.{number}/32" for number in range(40)]
    stack.account.call(
        "eks", "UpdateClusterConfig", name=name, resourcesVpcConfig={"publicAccessCidrs": many}
    )
    open_to_caller(stack)
    assert ranges(stack) == [f"{ELSEWHERE}/32"]


def test_ipv6_ranges_are_ranges(stack: Stack) -> None:
    name = stack._one(CLUSTER).id
    both = ["2001:db8::/32", "192.0.2.0/24"]
    stack.account.call(
        "eks", "UpdateClusterConfig", name=name, resourcesVpcConfig={"publicAccessCidrs": both}
    )
    open_to_caller(stack)
    assert sorted(ranges(stack)) == sorted([*both, f"{ELSEWHERE}/32"])


def test_a_cluster_that_failed_to_be_made_lets_nobody_in(stack: Stack) -> None:
    name = stack._one(CLUSTER).id
    made = eks_backends["123456789012"]["us-east-2"].clusters[name]
    made.status, made.endpoint = "FAILED", ""
    (line,) = open_to_caller(stack)
    assert line.endswith("is FAILED and has no API server; nobody is let in")
