"""`policy`: what the stack is held to beyond what can work, and where it may differ."""

from collections.abc import Mapping
from enum import StrEnum
from fnmatch import fnmatchcase

from pydantic import Field, model_validator

from targets.strict import Strict


class Rule(StrEnum):
    """The rules by name; what each demands stands in docs/policies.md."""

    OWNER_AND_TTL = "owner-and-ttl"
    PRICE_CEILING = "price-ceiling"
    ON_DEMAND_GPUS = "on-demand-gpus"
    PROTECTED_PRODUCTION = "protected-production"
    NO_OPEN_ENDPOINT = "no-open-endpoint"
    KEYS_AT_THE_INGRESS = "keys-at-the-ingress"
    IMDSV2 = "imdsv2"
    ENCRYPTION = "encryption"
    PINNED_VERSIONS = "pinned-versions"
    UNPRIVILEGED_PODS = "unprivileged-pods"
    NO_WILDCARD_RIGHTS = "no-wildcard-rights"
    FIXED_NODE_TAGS = "fixed-node-tags"
    NO_PLAIN_SECRETS = "no-plain-secrets"


class Level(StrEnum):
    """What a rule that is broken does."""

    ADVISORY = "advisory"
    """It is told, and stops nothing."""
    MANDATORY = "mandatory"
    """The stack is refused."""
    DISABLED = "disabled"
    """It is not looked at."""


class RuleSettings(Strict):
    """How one rule is held. What is less than mandatory for every resource needs its reason."""

    level: Level = Level.MANDATORY
    """What it does if it is broken: `mandatory` refuses the stack, `advisory` tells it, `disabled` does not look."""
    not_for: tuple[str, ...] = ()
    """Names of resources that it does not hold for; `*` stands for any text."""
    reason: str = ""
    """Why this stack differs; must be given for another level than `mandatory`, and for `notFor`."""

    @model_validator(mode="after")
    def _has_a_reason(self) -> "RuleSettings":
        if not self.reason.strip() and (self.level is not Level.MANDATORY or self.not_for):
            raise ValueError("says less than the rule and not why; write a reason beside it")
        return self

    def spares(self, name: str) -> bool:
        """Whether the rule does not hold for the resource of this name."""
        return any(fnmatchcase(name, pattern) for pattern in self.not_for)


class PolicySettings(Strict):
    """Rules that `synth --check` and `pulumi preview --policy-pack policy` hold the stack to."""

    production: bool = False
    """Whether others rely on the stack, so that what cannot be had again must be protected."""
    max_usd_per_hour: float = Field(default=200, gt=0, allow_inf_nan=False)
    """What the stack may cost, in USD an hour, by `cost`; a price that is not known counts as too much."""
    max_on_demand_gpus: int = Field(default=8, ge=0)
    """How many GPUs may be bought on demand, with neither a reservation nor a Capacity Block."""
    rules: Mapping[Rule, RuleSettings] = {}
    """The rules that are held otherwise than for everything and `mandatory`."""

    def of(self, rule: Rule) -> RuleSettings:
        """How a rule is held."""
        return self.rules.get(rule, RuleSettings())
