"""`dynamo-gpt-oss VERB`, or `python -m ops VERB`: the verbs around Pulumi."""

import atexit
import gc
import importlib
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml

from measure.guard import Ended
from ops import bench
from ops.diff.changes import DiffFormat
from ops.options import PROJECT, Embedded, Format, Json, Stack, WaitForBlock, Where, Yes
from ops.progress import Progress, tell
from ops.pulumi import interruption
from targets.errors import UserError

if TYPE_CHECKING:
    from policy.check import Finding

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
app.add_typer(bench.app, name="bench")
_MODULES = {
    "verify": "ops.verify",
    "chat": "ops.chat",
    "doctor": "ops.doctor",
    "report": "ops.report.report",
    "init": "ops.init",
    "leftovers": "ops.aws.leftovers",
    "let-in": "ops.aws.let_in",
    "logs": "ops.logs:show_logs",
    "status": "ops.deploy.status:show_status",
    "timeline": "ops.rollout.show:timeline",
    "open": "ops.web.opening:open_page",
}
"""Verbs whose imports the others need not wait for: the module, and its function if that is not called as the verb."""
_COMPLETING = "_DYNAMO_GPT_OSS_COMPLETE"
"""Set by a shell that asks for completions of the installed command."""


def _say_version(asked: bool) -> None:
    if asked:
        from ops.version import version

        typer.echo(version())
        raise typer.Exit


@app.callback()
def verbs(
    version: Annotated[
        bool,
        typer.Option("--version", help="Say the version and end.", callback=_say_version, is_eager=True),
    ] = False,
) -> None:
    """Deploy, check and measure GPT-OSS on NVIDIA Dynamo."""


@app.command()
def synth(
    stack: Stack,
    out: Annotated[Path | None, typer.Option(help="Folder for the tree; by default out/<stack>.")] = None,
    form: Annotated[Format, typer.Option("--format", help="What to write.")] = Format.TREE,
    check: Annotated[
        bool, typer.Option("--check", help="Hold it to the rules of policy/ instead; 1 if it is refused.")
    ] = False,
) -> None:
    """Write every resource that the stack would register."""
    from ops import synth as synthesis
    from ops.evaluate import evaluate
    from ops.pulumi import stack_config

    stack_file = stack_config.load(PROJECT, stack)
    evaluation = evaluate(PROJECT, stack_file)
    if check:
        from ops import policy

        _say_findings(policy.check(evaluation, stack_file))
        return
    if form is not Format.TREE:
        typer.echo(synthesis.render(evaluation, form), nl=False)
        return
    for path in synthesis.write_tree(evaluation, out or PROJECT / "out" / stack):
        typer.echo(path)


def _say_findings(findings: "Sequence[Finding]") -> None:
    for finding in findings:
        typer.echo(finding)
    refused = sum(finding.level == "mandatory" for finding in findings)
    typer.echo(f"{refused} mandatory, {len(findings) - refused} advisory")
    if refused:
        raise typer.Exit(1)


@app.command()
def up(
    stack: Stack,
    embedded: Embedded = False,
    yes: Yes = False,
    wait_for_block: WaitForBlock = False,
    json_: Json = False,
) -> None:
    """Deploy the stack and wait until it is ready; asks before it newly pays for GPU nodes."""
    from ops.deploy import deploy
    from ops.deploy.embedded import notes
    from ops.money import agree
    from ops.rollout.observer import SIMULATED, Observer
    from ops.stack.stack import find
    from ops.watch.record import Record
    from ops.watch.screen import screen

    found = find(stack, embedded=embedded)
    if wait_for_block:
        from ops.deploy import blocks

        blocks.check(found)
    agree.agree_to_spend(found, yes=yes)
    observer = Observer(datetime.now(UTC))
    try:
        turns = blocks.turns(found, tell, began=observer.block_began) if wait_for_block else (found,)
        for turn in turns:
            with screen(f"{stack}: {found.plan.target.name}", beside=json_) as shown:
                record = Record(shown.show)
                outputs = deploy.up(turn, shown.report, show=record, observe=observer)
    except (KeyboardInterrupt, Ended):
        tell(deploy.what_stays(found, *(["--wait-for-block"] if wait_for_block else [])))
        raise
    finally:
        observer.keep(found, PROJECT)
    record.keep(found.name, SIMULATED if found.embedded else "", PROJECT)
    if json_:
        _say_json({"stack": stack, "seconds": round(shown.seconds(), 1), "outputs": dict(outputs)})
        return
    typer.echo(yaml.safe_dump(dict(outputs), sort_keys=True, width=200), nl=False)
    if found.embedded:
        typer.echo("\n".join(notes(outputs)))
    typer.echo(f"{stack} is ready after {shown.seconds():.0f} s")


@app.command()
def down(  # noqa: PLR0917 each is an option of the command line
    stack: Stack,
    embedded: Where = None,
    timeout: Annotated[float, typer.Option(help="Seconds that one object may take to go.")] = 120.0,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="End the embedded cluster with all that is on it, even if it is broken."
        ),
    ] = False,
    yes: Yes = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go, and delete nothing.")
    ] = False,
    json_: Json = False,
) -> None:
    """Take the stack down, in order; the embedded cluster goes with its last stack."""
    from ops.deploy import deploy, removal
    from ops.money import agree
    from ops.stack.place import find_deployed

    found = find_deployed(stack, embedded=embedded)
    agree.agree_to_delete(found, yes=yes or dry_run)
    report = Progress(beside=json_)
    if dry_run:
        _say(removal.preview(found, report), {"stack": stack, "down": False}, json_=json_)
        return
    deploy.down(found, report, timeout=timeout, force=force)
    if json_:
        _say_json({"stack": stack, "down": True, "seconds": round(report.seconds(), 1)})
    else:
        typer.echo(f"{stack} is down after {report.seconds():.0f} s")


@app.command()
def diff(
    base: Annotated[str, typer.Option(help="Revision to compare the working tree with.")],
    form: Annotated[DiffFormat, typer.Option("--format", help="How to write it.")] = DiffFormat.TEXT,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="End with 2 if a stack changes.")] = False,
) -> None:
    """Show what would change in every stack since a revision; needs no credentials."""
    from ops.diff import diff as changes

    found = changes.diff(PROJECT, base, tell)
    typer.echo(changes.render(found, base, form), nl=False)
    if exit_code and any(each.state != "unchanged" for each in found):
        raise typer.Exit(2)


@app.command()
def reap(
    stack: Annotated[str | None, typer.Option(help="This stack alone; by default every stack.")] = None,
    json_: Json = False,
) -> None:
    """Take down what should be down by now: stacks past their tags.ttl, and benchmarks whose driver was killed."""
    from ops import reap as reaper

    _say(reaper.reap(stack, Progress(beside=json_)), {}, json_=json_)


@app.command()
def cost(stack: Stack, json_: Json = False) -> None:
    """What the stack costs by the hour, and for a million output tokens once it was measured."""
    from ops import cost as costing

    if json_:
        _say_json(costing.cost_data(PROJECT, stack))
        return
    for line in costing.cost(PROJECT, stack):
        typer.echo(line)


def _say(lines: Iterable[str], about: Mapping[str, Any], *, json_: bool) -> None:
    """The lines as they come, or all of them in one JSON object with what they are about."""
    if json_:
        _say_json({**about, "lines": list(lines)})
        return
    for line in lines:
        typer.echo(line)


def _say_json(data: Mapping[str, Any]) -> None:
    typer.echo(json.dumps(data, indent=1, ensure_ascii=False))


def _add_verbs(asked: str | None) -> None:
    """Add the verbs that are modules of their own: all for the help, otherwise only the one that is asked for."""
    for verb, where in _MODULES.items():
        if asked not in _MODULES or asked == verb:
            module, _, function = where.partition(":")
            app.command(verb)(getattr(importlib.import_module(module), function or verb.replace("-", "_")))


def _add_names() -> None:
    """Add those verbs by their names alone, for a shell that completes one and cannot wait for their modules."""
    for verb in _MODULES:
        app.command(verb)(lambda: None)


def _words() -> list[str]:
    """The words of the command line behind the program's name, also of one that a shell completes."""
    if os.environ.get(_COMPLETING):
        return (os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")).split()[1:]
    return sys.argv[1:]


def collect_seldom() -> None:
    """What a verb imports stays until its end: looking there for garbage takes a third of a synth's time."""
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)


def main() -> None:
    """Run a verb; what users can mend is one `error:` line a problem and exit code 1. A signal ends it in order."""
    interruption.install(tell)
    collect_seldom()
    verb = next(iter(_words()), None)
    here = {command.callback.__name__ for command in app.registered_commands if command.callback}
    if os.environ.get(_COMPLETING) and verb not in _MODULES:
        _add_names()
    elif verb not in {*here, "--version"}:
        _add_verbs(verb)
    try:
        app()
    except Ended as ended:
        tell(f"error: {ended}")
        sys.exit(ended.code)
    except OSError as error:
        # A folder that is read-only, no folder, or full; a disk or a pipe that takes no more.
        tell(f"error: {f'{error.filename}: ' if error.filename else ''}{error.strerror or error}")
        sys.exit(1)
    except Exception as error:
        from pulumi import RunError  # a verb that raises none need not have waited for Pulumi

        if not isinstance(error, UserError | RunError):
            raise
        for line in str(error).splitlines():
            tell(f"error: {line}")
        sys.exit(1)


if __name__ == "__main__":
    main()
