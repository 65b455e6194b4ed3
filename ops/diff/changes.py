"""What a change of a stack is made of."""

import enum
import re
from dataclasses import dataclass
from typing import Any

SECRET = re.compile(r"\[secret( [0-9a-f]+)?\]")
"""What stands for a secret, with its fingerprint where there is one."""


class Missing(enum.Enum):
    """Stands for a field that one side does not have."""

    MISSING = enum.auto()


MISSING = Missing.MISSING


class DiffFormat(enum.StrEnum):
    """text: for a terminal. md: for a pull request. json: for programs."""

    TEXT = "text"
    MD = "md"
    JSON = "json"


class Action(enum.StrEnum):
    """What would happen to a resource."""

    CREATE = "create"
    UPDATE = "update"
    HANDLE = "handle differently"
    """Nothing of it changes but what the engine does with it, as `retainOnDelete`."""
    REPLACE = "replace"
    DELETE = "delete"


@dataclass(frozen=True, kw_only=True)
class FieldChange:
    """One field; before or after is MISSING where the field is not there. path: `a.b[name].c`."""

    path: str
    before: Any
    after: Any

    @property
    def secret(self) -> bool:
        """Whether both sides are a secret, which changed without being shown."""
        return all(isinstance(side, str) and SECRET.fullmatch(side) for side in (self.before, self.after))


@dataclass(frozen=True, kw_only=True)
class ResourceChange:
    """One resource. component: name of the component it belongs to. replaced_for: the fields that force it.

    downtime: what the change costs in time without an answer, or what else follows; empty where nothing does. refused:
    why `up` would not make the change as things are.
    """

    component: str
    type: str
    name: str
    action: Action
    fields: tuple[FieldChange, ...] = ()
    replaced_for: tuple[str, ...] = ()
    downtime: str = ""
    refused: str = ""
