"""A stack's config as Pulumi's CLI reads it from Pulumi.yaml and Pulumi.<stack>.yaml."""

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ops.fingerprint import placeholder
from ops.pulumi import yaml_file
from stacks.hidden import visible
from targets.errors import UserError

_KEY = re.compile(r"[^:]+:(config:)?[^:]+")
"""A namespace and a name; the word between them is of old files."""


class StackFileError(UserError):
    """The stack's file is missing or not what Pulumi can read; the message says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(visible(message))


@dataclass(frozen=True, kw_only=True)
class StackFile:
    """config: full key to text, structured values as JSON. secret_keys: the keys that hold an encrypted value.

    stack: its name alone. environments: of Pulumi ESC, whose values only Pulumi's CLI can open.
    """

    project: str
    stack: str
    config: Mapping[str, str]
    secret_keys: frozenset[str]
    environments: tuple[str, ...] = ()

    @classmethod
    def load(cls, project: Path, stack: str) -> "StackFile":
        """Read both files. stack: its name, or `organization/name`. Raises StackFileError."""
        stack = short_name(stack)
        path = project / f"Pulumi.{stack}.yaml"
        if stack not in stacks(project):
            near = difflib.get_close_matches(stack, stacks(project), n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise StackFileError(
                f"--stack: {stack!r} has no {path.name} here{hint}; choose one of {', '.join(stacks(project))}"
            )
        described, content = yaml_file.read(project / "Pulumi.yaml"), yaml_file.read(path)
        name = str(described["name"])
        values = _defaults(name, described.get("config") or {}) | _own(name, path.name, content.get("config"))
        return cls(
            project=name,
            stack=stack,
            config={key: _text(_reveal(value)) for key, value in sorted(values.items())},
            secret_keys=frozenset(key for key, value in values.items() if _has_secret(value)),
            environments=_environments(path.name, content.get("environment")),
        )

    def environment(self) -> dict[str, str]:
        """The environment variables through which a language host hands config to a program."""
        return {
            "PULUMI_CONFIG": json.dumps(self.config, sort_keys=True),
            "PULUMI_CONFIG_SECRET_KEYS": json.dumps(sorted(self.secret_keys)),
        }


def short_name(stack: str) -> str:
    """The name alone of `organization/project/name`: stack files are named by it."""
    return stack.rpartition("/")[2]


def stacks(project: Path) -> list[str]:
    """Names of the project's stacks, those with a config file."""
    return sorted(
        path.name.removeprefix("Pulumi.").removesuffix(".yaml")
        for path in project.glob("Pulumi.*.yaml")
        if path.is_file()
    )


def _own(project: str, file: str, config: Any) -> dict[str, Any]:
    """The stack's values by full key; one without a namespace is the project's, as for Pulumi."""
    if not isinstance(config, Mapping | None):
        raise StackFileError(f"{file}: config: not a mapping of keys to values; write each key below it")
    values: dict[str, Any] = {}
    for key, value in (config or {}).items():
        full = _full(project, key)
        if not _KEY.fullmatch(full):
            raise StackFileError(
                f"{file}: config: '{visible(key)}' is no key that Pulumi takes; write {project}:NAME"
            )
        if full in values:
            raise StackFileError(
                f"{file}: config: {full} is there twice, once without its namespace; keep one"
            )
        values[full] = value
    return values


def _full(project: str, key: str) -> str:
    return key if ":" in key else f"{project}:{key}"


def _environments(file: str, declared: Any) -> tuple[str, ...]:
    """Names of imported environments; one that is written in the stack file itself is called so."""
    if isinstance(declared, list):
        names: list[Any] = [
            next(iter(each), None) if isinstance(each, Mapping) else each for each in declared
        ]
        if wrong := [place for place, name in enumerate(names) if not isinstance(name, str)]:
            raise StackFileError(
                f"{file}: environment[{wrong[0]}]: no name of an environment; write one, as text"
            )
        return tuple(names)
    return ("its own",) if declared else ()


def _defaults(project: str, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Values that Pulumi.yaml gives to every stack."""
    given = {}
    for key, declaration in declared.items():
        full = _full(project, key)
        if not isinstance(declaration, Mapping):
            given[full] = declaration
        elif "value" in declaration or "default" in declaration:
            given[full] = declaration.get("value", declaration.get("default"))
    return given


def _is_secret(value: Any) -> bool:
    """As Pulumi tells: of anything but text it is an object like others."""
    return isinstance(value, Mapping) and set(value) == {"secure"} and isinstance(value["secure"], str)


def _has_secret(value: Any) -> bool:
    if _is_secret(value):
        return True
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(_has_secret(item) for item in items)


def _reveal(value: Any) -> Any:
    if _is_secret(value):
        # Only the CLI can open it.
        return placeholder(value["secure"])
    if isinstance(value, Mapping):
        return {key: _reveal(item) for key, item in value.items()}
    return [_reveal(item) for item in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
