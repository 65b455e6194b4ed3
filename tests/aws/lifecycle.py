"""Every EKS stack through its life on an account that says no; `python -m tests.aws.lifecycle` prints one line of it.

Each stack is broken off at another part of its resources: together at all that they have in common. With `--every` one
stack of each shape is broken off at every resource of its own, which takes many minutes.
A life: up, again without a change, with other knobs, down, up again, and down. Simulated: the account (moto with the
rules of refusals.py) and the engine (engine.py). Real: the program, and every input that it gives to AWS.
"""

import argparse
import copy
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
import yaml

from ops.aws.own import Own, find_own
from ops.aws.sweep import sweep
from ops.evaluate import evaluate
from ops.pulumi.stack_file import StackFile, stacks
from stacks.load import parse
from stacks.sections.tags import TagSettings
from tests.aws.adapters import snapshot
from tests.aws.engine import Stack
from tests.aws.refusals import Refusal, World, world
from tests.project import PROJECT

KNOBS: dict[str, dict[str, Any]] = {
    "tags": {"owner": "somebody-else", "ttl": "48h"},
    "cluster": {"logRetentionDays": 7},
}
"""What a person changes on a stack that runs, without paying for other nodes."""
KEPT = {"efs": ("file system", "fileSystemId", "fileSystem"), "s3": ("bucket", "bucket", "bucket")}
"""By kind of cache what `cache.retain` keeps: its kind in the account, the stack's output, the next life's key."""
NODES = {"aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/nodeGroup:NodeGroup"}


def config_of(stack: str) -> dict[str, Any]:
    """The stack file's config, and the caller's address, which no file can know."""
    said = yaml.safe_load((PROJECT / f"Pulumi.{stack}.yaml").read_text())["config"]
    config = {key.removeprefix("dynamo-gpt-oss:"): value for key, value in said.items()}
    if config.get("cluster", {}).get("kind") == "eks":
        config["cluster"] |= {"publicAccessFrom": ["198.51.100.7/32"]}
    return config


def eks_stacks() -> list[str]:
    """Names of the stacks that make an EKS cluster."""
    return [stack for stack in stacks(PROJECT) if config_of(stack).get("cluster", {}).get("kind") == "eks"]


def blocks(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The Capacity Block that a stack's file names, as if it had been bought."""
    each = parse(config, set()).pools[0]
    block = each.capacity.reservation_id
    if block is None:
        return {}
    return {
        block: {
            "availabilityZone": each.zones[0],
            "instanceType": each.pool.instance.name,
            "instanceCount": 18,
            "startDate": "2026-12-01T11:30:00Z",
            "endDate": "2026-12-08T11:30:00Z",
            "state": "active",
        }
    }


def with_knobs(config: Mapping[str, Any], knobs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The config with some keys said otherwise."""
    changed = copy.deepcopy(dict(config))
    for section, values in knobs.items():
        changed[section] = {**changed.get(section, {}), **values}
    return changed


@contextmanager
def account_of(config: Mapping[str, Any]) -> Iterator[World]:
    """An account with what a stack's file demands to be there: its Capacity Block."""
    with world(config["cluster"]["region"], blocks=blocks(config)) as account:
        yield account


@dataclass(frozen=True)
class Life:
    """What came of a life. left: things in the account that nobody asked to keep, by kind."""

    steps: int
    refused: int
    left: dict[str, list[str]]


def live(
    account: World, name: str, config: Mapping[str, Any], *, broken_off: tuple[int, int] | None = None
) -> Life:
    """Take one stack through its life. Raises AssertionError, or the Refusal that ends it early."""
    empty, stack = snapshot(account.account), Stack(account, name, broken_off=broken_off)
    bring_up(stack, config)
    done = len(stack.steps)
    stack.up(config)
    assert not stack.steps[done:], "nothing changed"
    bring_up(stack, with_knobs(config, KNOBS))
    touched = [key for _, key in stack.steps[done:] if key[0] in NODES]
    assert not touched, "owner, ttl and log retention are no reason to touch nodes"
    kind, output, key = KEPT[config["cache"]["kind"]]
    store = stack.outputs[output]
    take_down(stack)
    kept = {kind: [store]} if config["cache"].get("retain") else {}
    assert left(account, empty) == kept
    bring_up(stack, with_knobs(config, {"cache": {key: store}}) if kept else config)
    assert not kept or stack.outputs[output] == store
    take_down(stack)
    remains = left(account, empty)
    assert {kind: remains.pop(kind, []) for kind in kept} == kept
    return Life(len(stack.steps), account.refused["broken off"], remains)


def bring_up(stack: Stack, config: Mapping[str, Any]) -> None:
    """Run `up`, and again after each refusal of what is refused once."""
    _repeat(lambda: stack.up(config), stack)


def take_down(stack: Stack) -> None:
    """Run `down`, and again after each refusal of what is refused once; then what `ops down` does behind it."""

    def attempt() -> None:
        mine = find_own(stack.resources())
        stack.down()
        sweep_up(stack, mine)

    _repeat(attempt, stack)


def sweep_up(stack: Stack, mine: Own) -> None:
    """What `ops down` deletes behind a stack that is destroyed. mine: by its state before."""
    tags = TagSettings.immutable(project="dynamo-gpt-oss", stack=stack.name)
    sweep(boto3.Session(region_name=stack.account.region), mine, tags, lambda _: None)


def _repeat(attempt: Callable[[], None], stack: Stack) -> None:
    while True:
        refused = stack.world.refused["broken off"]
        try:
            return attempt()
        except Refusal:
            if stack.world.refused["broken off"] == refused:
                raise


def left(account: World, empty: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """What is in the account and was not before, by kind; aside, that a Local Zone is open to the account."""
    now = snapshot(account.account)
    new = {
        kind: [i for i in ids if i not in empty[kind] and "zone-group" not in i] for kind, ids in now.items()
    }
    return {kind: ids for kind, ids in new.items() if ids}


def shapes(names: Sequence[str]) -> list[str]:
    """One stack for each set of types of resources that stacks are made of."""
    kinds: dict[frozenset[str], str] = {}
    for name in names:
        resources = evaluate(PROJECT, StackFile.load(PROJECT, name)).resources
        kinds.setdefault(frozenset(each.type for each in resources), name)
    return list(kinds.values())


def main() -> None:
    """One line: stacks, steps, refusals met, things left."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--every", action="store_true", help="a stack of each shape, broken off at every resource"
    )
    every = parser.parse_args().every
    # Whatever waits for a thing that is refused fails with it, and asyncio would tell each.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    lives = []
    names = shapes(eks_stacks()) if every else eks_stacks()
    for part, name in enumerate(names):
        config = config_of(name)
        with account_of(config) as account:
            lives.append(live(account, name, config, broken_off=(0, 1) if every else (part, len(names))))
    things = sum(len(ids) for life in lives for ids in life.left.values())
    print(
        f"{len(lives)} stacks, {sum(life.steps for life in lives)} steps, "
        f"{sum(life.refused for life in lives)} refusals met, {things} things left"
    )


if __name__ == "__main__":
    main()
