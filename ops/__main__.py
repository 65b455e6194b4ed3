"""`python -m ops VERB`: the verbs around Pulumi."""

import sys
from pathlib import Path
from typing import Annotated

import pulumi
import typer

from ops import synth as synthesis
from ops.evaluate import evaluate
from ops.stack_file import StackFileError

PROJECT = Path(__file__).resolve().parent.parent
app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
Stack = Annotated[str, typer.Option(help="Stack, as in Pulumi.<stack>.yaml.")]


@app.callback()
def verbs() -> None:
    """Deploy, check and measure GPT-OSS on NVIDIA Dynamo."""


@app.command()
def synth(
    stack: Stack,
    out: Annotated[Path | None, typer.Option(help="Folder for the tree; out/<stack> if not said.")] = None,
    form: Annotated[
        synthesis.Format, typer.Option("--format", help="What to write.")
    ] = synthesis.Format.TREE,
) -> None:
    """Write every resource that the stack would register."""
    evaluation = evaluate(PROJECT, stack)
    if form is not synthesis.Format.TREE:
        typer.echo(synthesis.render(evaluation, form), nl=False)
        return
    for path in synthesis.write_tree(evaluation, out or PROJECT / "out" / stack):
        typer.echo(path)


def main() -> None:
    """Run a verb; what users can mend is one `error:` line a problem and exit code 1."""
    try:
        app()
    except (pulumi.RunError, StackFileError) as error:
        for line in str(error).splitlines():
            typer.echo(f"error: {line}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
