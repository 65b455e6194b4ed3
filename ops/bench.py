"""`python -m ops bench`: measure a stack with AIPerf, compare runs, and stop regressions.

What it needs is imported when a verb runs: matplotlib and Jinja2 are of no use to the others.
"""

import json
from pathlib import Path
from typing import Annotated

import typer

from ops import options
from ops.progress import Progress, tell

app = typer.Typer(help="Measure a stack with AIPerf; compare runs; stop regressions.")
Runs = Annotated[list[Path], typer.Argument(help="Folders of runs.")]


@app.callback(invoke_without_command=True)
def bench(  # noqa: PLR0917 each is an option of the command line
    context: typer.Context,
    stack: Annotated[str | None, typer.Option(help="Stack, as in Pulumi.<stack>.yaml.")] = None,
    shape: Annotated[
        str | None,
        typer.Option(help="Load, instead of the stack's: `published`, 8192/1024, … or one of its own."),
    ] = None,
    sweep: Annotated[
        str | None, typer.Option(help="Concurrencies to measure, for example 1,8,64; the shape's by default.")
    ] = None,
    repetitions: Annotated[
        int | None,
        typer.Option(min=1, max=20, help="How often each is measured; two or more show the noise."),
    ] = None,
    per_gpu: Annotated[
        bool | None,
        typer.Option("--per-gpu", help="The published concurrency per GPU times the graph's GPUs."),
    ] = None,
    teardown: Annotated[
        bool | None,
        typer.Option(
            "--teardown/--keep", help="Take the stack down at the end; by default unless it was up before."
        ),
    ] = None,
    minutes: Annotated[
        float,
        typer.Option(min=0.01, help="Time limit for up, verify and benchmark; then comes the teardown."),
    ] = 360.0,
    embedded: Annotated[
        bool,
        typer.Option("--embedded", help="The stack's graph on the embedded cluster, with simulated GPUs."),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; by default one in out/bench.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Agree beforehand to what GPU nodes cost.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print the headline as one JSON object.")] = False,
) -> None:
    """Deploy a stack, measure it, write a report, take it down."""
    if context.invoked_subcommand:
        return
    if not stack:
        raise typer.BadParameter("say which stack", param_hint="--stack")
    from ops import sites  # noqa: PLC0415

    chosen = {"shape": shape, "sweep": _concurrencies(sweep), "repetitions": repetitions, "per_gpu": per_gpu}
    folder = sites.measure(
        stack,
        {key: value for key, value in chosen.items() if value is not None},
        embedded=embedded,
        teardown=teardown,
        seconds=60 * minutes,
        out=out,
        report=tell if json_ else Progress(),
        yes=yes,
    )
    _say_headline(folder, as_json=json_)


def _say_headline(folder: Path, *, as_json: bool) -> None:
    from measure import headline, results  # noqa: PLC0415

    measured = results.load(folder)
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), **headline.data(measured)}, indent=1))
        return
    for line in headline.lines(measured):
        typer.echo(line)
    typer.echo(folder)


@app.command("compare")
def compare_runs(
    runs: Runs,
    out: Annotated[
        Path | None, typer.Option(help="Folder for compare.md and plots of all runs together.")
    ] = None,
) -> None:
    """Put runs side by side; the last column is the last run against the first."""
    from measure import runs as measured  # noqa: PLC0415

    typer.echo(measured.compare_runs(runs, out))


@app.command("gate")
def gate_run(
    against: Annotated[Path, typer.Option(help="Folder of the run that this one must not fall behind.")],
    run: Annotated[
        Path | None, typer.Argument(help="Folder of the run; by default the stack's newest.")
    ] = None,
    tolerance: Annotated[
        list[str] | None, typer.Option(help="METRIC=PERCENT that it may be worse by; may be given again.")
    ] = None,
    json_: options.Json = False,
) -> None:
    """Fail where a run is worse than another beyond tolerance and noise."""
    from measure import runs  # noqa: PLC0415

    gate = runs.gate_runs(run, against, tolerance or [])
    if not json_:
        typer.echo("\n".join(gate.lines()))
        return
    typer.echo(json.dumps(gate.data(), indent=1))
    if gate.regressions:
        raise typer.Exit(1)


@app.command("command")
def show_command(
    stack: options.Stack,
    tool: Annotated[
        str, typer.Option(help="aiperf, or genai-perf for the container of Dynamo's 0.4 guide.")
    ] = "aiperf",
) -> None:
    """Print the stack's benchmark as command lines, for use inside its cluster."""
    from measure import description  # noqa: PLC0415
    from ops.stack.stack import find  # noqa: PLC0415

    for line in description.commands(find(stack).plan, tool):
        typer.echo(line)


def _concurrencies(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise typer.BadParameter(
            f"{text!r}: whole numbers with commas between them, for example 1,8,64", param_hint="--sweep"
        ) from None


app.command("run", help="The same as `bench` without a verb.")(bench)
