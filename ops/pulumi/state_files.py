"""State files of Pulumi on this machine, which a full disk or a power cut leaves half written."""

import json
from pathlib import Path

from targets.errors import UserError


class DamagedStateError(UserError):
    """Pulumi cannot read the state of a stack; the message says what to put in its place."""


def check(backend: Path) -> None:
    """See that every stack's state can be read. backend: folder of a `file://` backend. Raises DamagedStateError."""
    damaged = [file for file in sorted(backend.glob(".pulumi/stacks/**/*.json")) if not _is_whole(file)]
    if damaged:
        raise DamagedStateError("\n".join(map(_sentence, damaged)))


def _is_whole(file: Path) -> bool:
    try:
        return isinstance(json.loads(file.read_bytes()), dict)
    except ValueError:
        return False


def _sentence(file: Path) -> str:
    before = file.with_name(f"{file.name}.bak")
    said = f"--stack: Pulumi's state of {file.stem} in {file} is damaged"
    if before.exists() and _is_whole(before):
        return (
            f"{said}; take the one before it, `cp '{before}' '{file}'`, and run the verb again: what was made since is "
            "taken up by `up`"
        )
    return f"{said}, and there is none before it; `make down STACK={file.stem} ARGS=--force` ends the cluster"
