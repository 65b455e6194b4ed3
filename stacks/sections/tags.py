"""`tags`: how everything that costs money can be found and ended."""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema

from targets.strict import Strict


def _key(text: str) -> str:
    if text.lower().startswith("aws:"):
        raise ValueError("AWS keeps tags that start with aws: to itself")
    return text


def _text(value: object) -> object:
    """`pulumi config set --path` writes a number for what looks like one."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


TagKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9 _.:/=+@-]{1,128}$"), AfterValidator(_key)]
_VALUE = r"^[A-Za-z0-9 _.:/=+@-]{0,256}$"
TagValue = Annotated[
    str,
    BeforeValidator(_text),
    StringConstraints(pattern=_VALUE),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": _VALUE}, {"type": "integer"}]}),
]


NEVER = "never"
_LIFETIME = r"^([1-9][0-9]*[hd]|never)$"


def _lifetime(value: str) -> str:
    if not re.search(_LIFETIME, value):
        raise ValueError("write hours (48h), days (2d) or never")
    return value


Lifetime = Annotated[str, AfterValidator(_lifetime), WithJsonSchema({"type": "string", "pattern": _LIFETIME})]


class TagSettings(Strict):
    """Tags of every AWS resource, added to project, stack and target."""

    owner: TagValue | None = None
    """Who answers for the stack."""
    ttl: Lifetime | None = None
    """How long the stack is meant to live, for example `72h` or `14d`, or `never` where it has no end. A deployment
    with GPUs bought on demand or spot demands it."""
    more: Mapping[TagKey, TagValue] = Field(default={}, max_length=40)
    """Any others."""

    @property
    def end(self) -> str | None:
        """How long the stack lives; None for one without an end."""
        return None if self.ttl == NEVER else self.ttl

    @staticmethod
    def immutable(*, project: str, stack: str) -> dict[str, str]:
        """Those that never change, for what is made anew when a tag does."""
        return {"project": project, "stack": stack}

    def all(self, *, project: str, stack: str, target: str) -> dict[str, str]:
        """All tags of a stack; the five names here cannot be replaced by others."""
        named = {"project": project, "stack": stack, "target": target, "owner": self.owner, "ttl": self.ttl}
        return dict(self.more) | {key: value for key, value in named.items() if value is not None}
