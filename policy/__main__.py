"""The pack for `pulumi preview --policy-pack policy`: Pulumi's CLI starts this with the stack's config."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the CLI starts it in its own folder

import pulumi_policy as pulumi
from pulumi_policy import proxy

from policy.check import problems_of_all, problems_of_one, settings_in
from policy.resource import UNKNOWN, Resource
from policy.rules import RESOURCE_RULES, STACK_RULES
from stacks.sections.policy import PolicySettings, Rule


def plain(value: Any) -> Any:
    """A value without the SDK's guards, which raise for what is unknown."""
    if isinstance(value, proxy._DictProxy | proxy._ListProxy):
        value = value["__target"]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return UNKNOWN if proxy._is_unknown(value) else value


def of_one(rule: Rule, settings: PolicySettings) -> pulumi.Policy:
    """A rule for single resources, which Pulumi asks before it makes one."""

    def validate(args: pulumi.ResourceValidationArgs, report: pulumi.ReportViolation) -> None:
        asked = Resource(
            urn=args.urn,
            type=args.resource_type,
            name=args.name,
            inputs=plain(args.props),
            provider=plain(args.provider.props) if args.provider else {},
            protect=bool(args.opts.protect),
        )
        for problem in problems_of_one(rule, asked, settings):
            report(problem, None)

    return pulumi.ResourceValidationPolicy(
        name=rule,
        description=str(RESOURCE_RULES[rule].__doc__),
        validate=validate,
        enforcement_level=pulumi.EnforcementLevel(settings.of(rule).level),
    )


def of_all(rule: Rule, settings: PolicySettings) -> pulumi.Policy:
    """A rule for the whole stack, which Pulumi asks at the end of a preview."""

    def validate(args: pulumi.StackValidationArgs, report: pulumi.ReportViolation) -> None:
        resources = [
            Resource(
                urn=each.urn,
                type=each.resource_type,
                name=each.name,
                inputs=plain(each.props),
                dependencies=tuple(other.urn for other in each.dependencies),
            )
            for each in args.resources
        ]
        for resource, problem in problems_of_all(rule, resources, settings):
            report(problem, resource.urn)

    return pulumi.StackValidationPolicy(
        name=rule,
        description=str(STACK_RULES[rule].__doc__),
        validate=validate,
        enforcement_level=pulumi.EnforcementLevel(settings.of(rule).level),
    )


if __name__ == "__main__":
    held = settings_in(json.loads(os.environ.get("PULUMI_CONFIG", "{}")))
    pulumi.PolicyPack(
        name="dynamo-gpt-oss",
        policies=[of_all(rule, held) if rule in STACK_RULES else of_one(rule, held) for rule in Rule],
    )
