"""`python -m ops VERB`: the verbs around Pulumi."""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pulumi
import typer
import yaml

from measure.guard import Ended
from ops import bench
from ops import synth as synthesis
from ops.diff import diff as changes
from ops.evaluate import evaluate
from ops.progress import Progress, tell
from ops.pulumi import interruption, stack_config
from policy.check import Finding
from targets.errors import UserError

PROJECT = Path(__file__).resolve().parent.parent
app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.add_typer(bench.app, name="bench")
_MODULES = {
    "verify": "ops.verify",
    "chat": "ops.chat",
    "doctor": "ops.doctor",
    "init": "ops.init",
    "leftovers": "ops.aws.leftovers",
    "let-in": "ops.aws.let_in",
}
"""Verbs whose imports the others need not wait for."""
Stack = Annotated[str, typer.Option(help="Stack, as in Pulumi.<stack>.yaml.")]
Embedded = Annotated[bool, typer.Option("--embedded", help="On the embedded cluster, with simulated GPUs.")]


@app.callback()
def verbs() -> None:
    """Deploy, check and measure GPT-OSS on NVIDIA Dynamo."""


@app.command()
def synth(
    stack: Stack,
    out: Annotated[Path | None, typer.Option(help="Folder for the tree; by default out/<stack>.")] = None,
    form: Annotated[
        synthesis.Format, typer.Option("--format", help="What to write.")
    ] = synthesis.Format.TREE,
    check: Annotated[
        bool, typer.Option("--check", help="Hold it to the rules of policy/ instead; 1 if it is refused.")
    ] = False,
) -> None:
    """Write every resource that the stack would register."""
    stack_file = stack_config.load(PROJECT, stack)
    evaluation = evaluate(PROJECT, stack_file)
    if check:
        from ops import policy

        _say_findings(policy.check(evaluation, stack_file))
        return
    if form is not synthesis.Format.TREE:
        typer.echo(synthesis.render(evaluation, form), nl=False)
        return
    for path in synthesis.write_tree(evaluation, out or PROJECT / "out" / stack):
        typer.echo(path)


def _say_findings(findings: Sequence[Finding]) -> None:
    for finding in findings:
        typer.echo(finding)
    refused = sum(finding.level == "mandatory" for finding in findings)
    typer.echo(f"{refused} mandatory, {len(findings) - refused} advisory")
    if refused:
        raise typer.Exit(1)


@app.command()
def up(stack: Stack, embedded: Embedded = False) -> None:
    """Deploy the stack and wait until it is ready."""
    from ops.deploy import deploy
    from ops.deploy.embedded import SIMULATED
    from ops.stack.stack import find

    report = Progress()
    found = find(stack, embedded=embedded)
    outputs = deploy.up(found, report)
    typer.echo(yaml.safe_dump(dict(outputs), sort_keys=True, width=200), nl=False)
    if found.embedded:
        typer.echo(SIMULATED)
    typer.echo(f"{stack} is ready after {report.seconds():.0f} s")


@app.command()
def down(
    stack: Stack,
    embedded: Embedded = False,
    timeout: Annotated[float, typer.Option(help="Seconds that one object may take to go.")] = 120.0,
) -> None:
    """Take the stack down, in order; the embedded cluster goes with its last stack."""
    from ops.deploy import deploy
    from ops.stack.stack import find

    report = Progress()
    deploy.down(find(stack, embedded=embedded), report, timeout=timeout)
    typer.echo(f"{stack} is down after {report.seconds():.0f} s")


@app.command()
def status(stack: Stack, embedded: Embedded = False) -> None:
    """What of the stack is deployed."""
    from ops.deploy.status import status as lines_of
    from ops.stack.stack import find

    for line in lines_of(find(stack, embedded=embedded)):
        typer.echo(line)


@app.command()
def diff(
    base: Annotated[str, typer.Option(help="Revision to compare the working tree with.")],
    form: Annotated[
        changes.DiffFormat, typer.Option("--format", help="How to write it.")
    ] = changes.DiffFormat.TEXT,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="End with 2 if a stack changes.")] = False,
) -> None:
    """Show what would change in every stack since a revision; needs no credentials."""
    found = changes.diff(PROJECT, base)
    typer.echo(changes.render(found, base, form), nl=False)
    if exit_code and any(each.state != "unchanged" for each in found):
        raise typer.Exit(2)


@app.command()
def timeline(
    stack: Stack,
    assumption: Annotated[
        list[str] | None, typer.Option("--assume", help="Override one, as in weights-rate=100.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the pictures; by default out/<stack>.")] = None,
) -> None:
    """Simulate the stack's rollout: what runs when, and what GPU time is paid before the first token."""
    from ops import timeline as simulation

    simulated = simulation.simulate(PROJECT, stack, assumption or [])
    typer.echo(simulated.text())
    for path in simulation.draw(simulated, out or PROJECT / "out" / stack):
        typer.echo(path)


@app.command()
def reap(
    stack: Annotated[str | None, typer.Option(help="This stack alone; by default every stack.")] = None,
) -> None:
    """Take down what should be down by now: stacks past their tags.ttl, and benchmarks whose driver was killed."""
    from ops import reap as reaper

    for line in reaper.reap(stack, Progress()):
        typer.echo(line)


@app.command()
def cost(stack: Stack) -> None:
    """What the stack costs by the hour, and for a million output tokens once it was measured."""
    from ops import cost as costing

    for line in costing.cost(PROJECT, stack):
        typer.echo(line)


def _add_verbs(asked: str | None) -> None:
    """Add the verbs that are modules of their own: all for the help, otherwise only the one that is asked for."""
    for verb, module in _MODULES.items():
        if asked not in _MODULES or asked == verb:
            app.command(verb)(getattr(importlib.import_module(module), verb.replace("-", "_")))


def main() -> None:
    """Run a verb; what users can mend is one `error:` line a problem and exit code 1. A signal ends it in order."""
    interruption.install(tell)
    verb = next(iter(sys.argv[1:]), None)
    here = {command.callback.__name__ for command in app.registered_commands if command.callback}
    if verb not in here:
        _add_verbs(verb)
    try:
        app()
    except Ended as ended:
        tell(f"error: {ended}")
        sys.exit(ended.code)
    except (UserError, pulumi.RunError) as error:
        for line in str(error).splitlines():
            tell(f"error: {line}")
        sys.exit(1)


if __name__ == "__main__":
    main()
