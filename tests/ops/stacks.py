"""Stacks of tests, without a file on disk."""

import json
from typing import Any

from ops.pulumi.stack_file import StackFile
from ops.stack.on_embedded import plan_of
from ops.stack.stack import Stack


def stack(config: dict[str, Any], *, embedded: bool = False) -> Stack:
    """The stack `mine` with this config, by key without the project's name."""
    text = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
    return of_file(
        StackFile(
            project="dynamo-gpt-oss",
            stack="mine",
            config={f"dynamo-gpt-oss:{key}": value for key, value in text.items()},
            secret_keys=frozenset(),
        ),
        embedded=embedded,
    )


def of_file(file: StackFile, *, embedded: bool = False, own_nodes: bool = False) -> Stack:
    """The stack of a file."""
    return Stack(
        file=file,
        full_name=file.stack,
        plan=plan_of(file),
        embedded=embedded,
        own_nodes=own_nodes,
    )
