"""Options of verbs, and the values that they take."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from ops.pulumi.stack_file import stacks

PROJECT = Path(__file__).resolve().parent.parent


def _stacks(incomplete: str) -> list[str]:
    """Names that a shell may put in place of what is typed."""
    return [name for name in stacks(PROJECT) if name.startswith(incomplete)]


Stack = Annotated[str, typer.Option(help="Stack, as in Pulumi.<stack>.yaml.", autocompletion=_stacks)]
Embedded = Annotated[bool, typer.Option("--embedded", help="On the embedded cluster, with simulated GPUs.")]
Where = Annotated[
    bool | None,
    typer.Option(
        "--embedded/--no-embedded",
        help="On the embedded cluster, or not; by default where the stack is.",
        show_default=False,
    ),
]
WaitForBlock = Annotated[
    bool,
    typer.Option(
        "--wait-for-block",
        help="Deploy all but the GPU nodes, wait until their Capacity Block begins, then deploy them.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Agree beforehand, as CI does.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object instead of lines.")]


class Format(enum.StrEnum):
    """tree: a folder of files. yaml: all Kubernetes objects on standard output. json: resources.json there."""

    TREE = "tree"
    YAML = "yaml"
    JSON = "json"
