"""A stack's resources held to the rules, as its config wants them held. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from policy.resource import Resource
from policy.rules import RESOURCE_RULES, STACK_RULES
from stacks.sections.policy import Level, PolicySettings, Rule

SECTION = "dynamo-gpt-oss:policy"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A rule that a resource breaks. problem: a sentence."""

    rule: Rule
    level: Level
    resource: Resource
    problem: str

    def __str__(self) -> str:
        return f"{self.level}: {self.rule}: {self.resource.name}: {self.problem}"


def settings_in(config: Mapping[str, str]) -> PolicySettings:
    """What a stack's config says of its rules. config: full keys to text, checked by the program before."""
    return PolicySettings.model_validate_json(config.get(SECTION, "{}"))


def problems_of_one(rule: Rule, resource: Resource, settings: PolicySettings) -> Iterator[str]:
    """What a rule for single resources finds, but for those that the stack's config spares."""
    if not settings.of(rule).spares(resource.name):
        yield from RESOURCE_RULES[rule](resource, settings)


def problems_of_all(
    rule: Rule, resources: Sequence[Resource], settings: PolicySettings
) -> Iterator[tuple[Resource, str]]:
    """The same of a rule for all of them."""
    for resource, problem in STACK_RULES[rule](resources, settings):
        if not settings.of(rule).spares(resource.name):
            yield resource, problem


def findings(resources: Sequence[Resource], settings: PolicySettings) -> Iterator[Finding]:
    """Everything that is broken, rule by rule; nothing of those that are disabled."""
    for rule in Rule:
        level = settings.of(rule).level
        if level is Level.DISABLED:
            continue
        found = (
            problems_of_all(rule, resources, settings)
            if rule in STACK_RULES
            else ((each, text) for each in resources for text in problems_of_one(rule, each, settings))
        )
        yield from (Finding(rule=rule, level=level, resource=each, problem=text) for each, text in found)
