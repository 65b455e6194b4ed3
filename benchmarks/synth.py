"""`synth` of every shipped stack, beside importing the SDKs' packages whose resources it registers."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.cpu_time import PROJECT, environment, in_turn
from benchmarks.figures import Figure
from ops.pulumi.stack_file import stacks

MOST = 1.5


def figures(rounds: int) -> Iterator[Figure]:
    """A figure a stack: its user CPU time, and the ratio to its own floor."""
    commands: dict[str, tuple[str, ...]] = {}
    for stack in stacks(PROJECT):
        shown = ("-m", "ops", "synth", "--stack", stack, "--format", "json")
        commands[f"floor of {stack}"] = ("-c", imports(packages(_types(shown))))
        commands[f"synth {stack}"] = shown
    spent = in_turn(commands, rounds)
    for stack in stacks(PROJECT):
        own, floor = spent[f"synth {stack}"], spent[f"floor of {stack}"]
        yield Figure(
            name=f"synth {stack}",
            value=own.seconds,
            unit="s CPU",
            ratio=own.seconds / floor.seconds,
            beside="importing its SDKs",
            most=MOST,
            mebibytes=own.mebibytes,
        )


def imports(names: Sequence[str]) -> str:
    """A program that imports packages and runs what they consist of: the SDKs' do so only once they are asked."""
    listed = ", ".join(names)
    return f"import {listed}\nfor each in ({listed},): hasattr(each, 'anything')"


def packages(types: Iterable[str]) -> list[str]:
    """The packages that have the resource types, such as `pulumi_aws.ec2` for `aws:ec2/vpc:Vpc`, and what all need."""
    return sorted({"pulumi", "pydantic", *filter(None, map(_package, types))})


def _package(type_: str) -> str | None:
    provider, _, rest = type_.partition(":")
    place = rest.partition(":")[0]
    if provider == "aws":
        return f"pulumi_aws.{place.partition('/')[0]}"
    if provider != "kubernetes":
        return None
    group, _, version = place.partition("/")
    name = f"pulumi_kubernetes.{group.partition('.')[0]}"
    known = importlib.util.find_spec(name) and importlib.util.find_spec(f"{name}.{version}")
    return f"{name}.{version}" if known else "pulumi_kubernetes.apiextensions"


def _types(shown: Iterable[str]) -> set[str]:
    text = subprocess.run(
        [sys.executable, *shown], cwd=PROJECT, env=environment(), check=True, capture_output=True, text=True
    ).stdout
    return {resource["type"] for resource in json.loads(text)["resources"]}
