"""Run a stack's program against moto, and take it down again in the order that the engine would."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

import pulumi
from botocore.exceptions import ClientError
from moto import mock_aws
from pulumi.runtime import mocks, set_mocks
from pulumi.runtime.stack import run_pulumi_func

from ops.evaluate import Recorder, Resource, dependency_order, event_loop
from stacks.load import parse
from stacks.program import build
from tests.aws.adapters import ADAPTERS, CALLS, Account, read_cluster
from tests.aws.buckets import NotFound

Key = tuple[str, str]
CALLER = "198.51.100.7"
"""Where the program seems to call from."""


class MotoMocks(mocks.Mocks):
    """Makes AWS resources in moto and answers with its ids and ARNs; Kubernetes objects are taken as they come."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.made: dict[Key, tuple[str, dict[str, Any]]] = {}

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        given = dict(args.inputs)
        if args.typ == "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition":
            # Of a cluster with the platform on it.
            served = [{"name": name, "served": True} for name in ("v1alpha1", "v1beta1")]
            return args.name, {**given, "spec": {"versions": served}}
        if args.typ == "pulumi:index:Stash":
            return args.name, {**given, "output": given.get("input")}
        if not args.typ.startswith("aws:"):
            return f"{args.name}-id", given
        if args.typ == "aws:eks/cluster:Cluster" and args.resource_id:
            return args.resource_id, read_cluster(self.account, args.resource_id)
        assert args.typ in ADAPTERS, f"no adapter for {args.typ}"
        made, state = ADAPTERS[args.typ].create(self.account, args.name, given)
        self.made[args.typ, args.name] = made, given | state
        return made, given | state

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        assert args.token in CALLS, f"no answer to {args.token}"
        try:
            return CALLS[args.token](self.account, args.args), []
        except (ClientError, NotFound) as refused:
            return {}, [("", str(refused))]  # as the provider hands on what AWS says


class MotoMonitor(Recorder):
    """Records every registration, as a synth does, and lets the mocks answer."""

    def __init__(self, answers: MotoMocks) -> None:
        super().__init__()
        self.mocks = answers
        self.retained: set[Key] = set()
        self.ignored: dict[Key, list[str]] = {}

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        super().RegisterResource(request)
        self.ignored[request.type, request.name] = list(request.ignoreChanges)
        if request.retainOnDelete:
            self.retained.add((request.type, request.name))
        return mocks.MockMonitor.RegisterResource(self, request)  # type: ignore[no-untyped-call]

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        super().ReadResource(request)
        return mocks.MockMonitor.ReadResource(self, request)  # type: ignore[no-untyped-call]


@dataclass
class Deployment:
    """A stack that was brought up. state: id and outputs by type and logical name."""

    account: Account
    resources: tuple[Resource, ...]
    outputs: dict[str, Any]
    state: dict[Key, tuple[str, dict[str, Any]]]
    retained: set[Key] = field(default_factory=set)
    ignored: dict[Key, list[str]] = field(default_factory=dict)
    """Properties that stay as they are when the program says another value later, by resource."""

    def of_type(self, token: str) -> dict[str, dict[str, Any]]:
        """Outputs by logical name."""
        return {name: state for (type_, name), (_, state) in self.state.items() if type_ == token}

    def destroy(self) -> None:
        """Delete everything but what is retained, what depends on it first."""
        for resource in reversed(self.resources):
            key = resource.type, resource.name
            if key in self.state and key not in self.retained:
                made, state = self.state[key]
                ADAPTERS[resource.type].delete(self.account, made, state)


@contextmanager
def moto_account(region: str, **more: Any) -> Iterator[Account]:
    """An empty account in moto."""
    with mock_aws(config={"iam": {"load_aws_managed_policies": True}}):
        yield Account(region=region, **more)


def deploy(account: Account, config: Mapping[str, Any], stack: str = "test") -> Deployment:
    """Bring a stack up. Raises what the program raises."""
    checked = parse(config, set())
    return run(account, lambda: build(checked), stack)


def run(account: Account, declare: Callable[[], Mapping[str, Any]], stack: str = "test") -> Deployment:
    """Bring up whatever `declare` declares; it returns the outputs. What a refused program made is taken down again."""
    answers = MotoMocks(account)
    monitor = MotoMonitor(answers)
    outputs: dict[str, Any] = {}

    def program() -> None:
        for name, value in declare().items():
            pulumi.Output.from_input(value).apply(partial(outputs.__setitem__, name))

    try:
        with (
            patch("components.cluster.api_reach.answers", lambda *_: account.reached),
            patch("components.cluster.api_reach.own_address", lambda: CALLER),
            patch("components.cluster.api_reach.knows", lambda *_: True),
            patch("stacks.before_up.which", lambda _: "/usr/bin/aws" if account.aws_cli else None),
        ):
            _finish(
                lambda: set_mocks(answers, "dynamo-gpt-oss", stack, preview=False, monitor=monitor), program
            )
    except Exception as refused:
        _deployment(answers, monitor, outputs).destroy()
        # Its traceback goes through every output that waited for it, too deep for pytest to show.
        raise refused.with_traceback(None) from None
    return _deployment(answers, monitor, outputs)


def _finish(prepare: Callable[[], None], program: Callable[[], None]) -> None:
    with event_loop() as loop:
        prepare()
        loop.run_until_complete(run_pulumi_func(program))


def _deployment(answers: MotoMocks, monitor: MotoMonitor, outputs: dict[str, Any]) -> Deployment:
    return Deployment(
        account=answers.account,
        resources=tuple(dependency_order(monitor.recorded)),
        outputs=outputs,
        state=answers.made,
        retained=monitor.retained,
        ignored=monitor.ignored,
    )
