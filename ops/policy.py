"""`synth --check`: the rules of policy/ over what a synth would write."""

from collections.abc import Mapping
from typing import Any

from ops import evaluate
from ops.pulumi.stack_file import StackFile
from policy.check import Finding, findings, settings_in
from policy.resource import STACK, UNKNOWN, Resource


def check(evaluation: evaluate.Evaluation, stack_file: StackFile) -> list[Finding]:
    """Everything in the stack that breaks a rule."""
    return [*findings(resources(evaluation, stack_file.project), settings_in(stack_file.config))]


def resources(evaluation: evaluate.Evaluation, project: str) -> list[Resource]:
    """What is registered as rules see it, and the stack itself with its outputs; not what is only looked up."""
    by_urn = {each.urn: each for each in evaluation.resources}
    registered = [
        Resource(
            urn=each.urn,
            type=each.type,
            name=each.name,
            inputs=_plain(each.inputs),
            provider=_plain(by_urn[each.provider].inputs) if each.provider in by_urn else {},
            dependencies=each.dependencies,
            protect=each.protect,
        )
        for each in evaluation.resources
        if not each.read
    ]
    name = f"{project}-{evaluation.stack}"
    stack = Resource(urn="", type=STACK, name=name, inputs=_plain(evaluation.outputs))
    return [*registered, stack]


def _plain(value: Any) -> Any:
    if isinstance(value, evaluate.Secret):
        return _plain(value.value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return UNKNOWN if value == evaluate.UNKNOWN else value
