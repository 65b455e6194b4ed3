"""A resource as rules see it, wherever it comes from, and what several of them read off one. Pure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

UNKNOWN = "[computed]"
"""Stands for a value that only a deployment can know; a rule takes it for a value that is there."""
STACK = "pulumi:pulumi:Stack"
"""Type of the stack itself, whose inputs here are its outputs."""


@dataclass(frozen=True, kw_only=True)
class Resource:
    """type: Pulumi's token. inputs: plain values, secrets opened. provider: inputs of its provider.

    dependencies: URNs. protect: whether Pulumi refuses to delete it.
    """

    urn: str
    type: str
    name: str
    inputs: Mapping[str, Any]
    provider: Mapping[str, Any] = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    protect: bool = False


def texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a value, with where it stands."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from texts(item, f"{path}[{position}]")
    elif isinstance(value, str):
        yield path, value


def decoded(value: Any) -> Any:
    """What a JSON text holds, such as a policy; None for one that is not known."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None


def listed(value: Any) -> list[Any]:
    """A list of what may be one thing or several; nothing for what is unknown."""
    if value is None or value == UNKNOWN:
        return []
    return value if isinstance(value, list) else [value]


def is_true(value: Any) -> bool:
    """Some providers write booleans as text."""
    return value is True or value == "true"


def tags(resource: Resource) -> dict[str, str]:
    """A resource's tags on AWS, those of its provider included."""
    default = decoded(resource.provider.get("defaultTags")) or {}
    return {**(default.get("tags") or {}), **(resource.inputs.get("tags") or {})}
