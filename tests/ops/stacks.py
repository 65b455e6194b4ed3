"""Stacks of tests, without a file on disk."""

from typing import Any

from ops.pulumi.stack_file import StackFile
from ops.stack.on_embedded import plan_of
from ops.stack.stack import Stack
from tests.plans import stack_file


def stack(config: dict[str, Any], *, embedded: bool = False) -> Stack:
    """The stack `mine` with this config, by key without the project's name."""
    return of_file(stack_file("mine", **config), embedded=embedded)


def of_file(file: StackFile, *, embedded: bool = False, own_nodes: bool = False) -> Stack:
    """The stack of a file."""
    return Stack(
        file=file,
        full_name=file.stack,
        plan=plan_of(file),
        embedded=embedded,
        own_nodes=own_nodes,
    )
