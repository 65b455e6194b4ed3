"""A stack's config as a deployment will see it, whatever it takes from environments of Pulumi ESC included."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ops.fingerprint import is_placeholder
from ops.pulumi.stack_file import StackFile, StackFileError
from stacks.hidden import SECRETS
from stacks.load import not_encrypted
from stacks.settings import PROJECT, ConfigError


def load(project: Path, stack: str) -> StackFile:
    """Read the stack's files, and ask Pulumi's CLI for what they import.

    stack: its name, or `organization/name`. Raises StackFileError, stacks.settings.ConfigError, and what
    automation.config raises.
    """
    file = StackFile.load(project, stack)
    if problems := "\n".join(f"{PROJECT}:{not_encrypted(key)}" for key in _plain_beside_encrypted(file)):
        raise ConfigError(problems)
    if not file.environments:
        return file
    from ops.pulumi import automation  # noqa: PLC0415  a verb that needs no CLI does not wait for its SDK

    imported = ", ".join(file.environments)
    if not automation.available():
        raise StackFileError(
            f"Pulumi.{file.stack}.yaml: environment: {imported} can be opened by a Pulumi CLI alone, and none is on "
            f"PATH; {automation.HOW_TO_GET_PULUMI}"
        )
    found = automation.config(project, stack)
    return replace(
        file,
        config=dict(file.config) | {key: text for key, (text, _) in found.items()},
        secret_keys=file.secret_keys | {key for key, (_, secret) in found.items() if secret},
    )


def _plain_beside_encrypted(file: StackFile) -> Iterator[str]:
    """Secrets that are written as they are in a section of which another value is encrypted.

    Here alone they can be told apart: Pulumi hands a program the whole section as one secret.
    """
    for section, key in SECRETS:
        value: Any = None
        if f"{PROJECT}:{section}" in file.secret_keys:
            with suppress(
                ValueError, AttributeError
            ):  # no object: refused elsewhere, or encrypted as a whole
                value = json.loads(file.config[f"{PROJECT}:{section}"]).get(key)
        each = {f".{name}": one for name, one in value.items()} if isinstance(value, Mapping) else {"": value}
        for name, one in each.items():
            if one is not None and not is_placeholder(one):
                yield f"{section}.{key}{name}"
