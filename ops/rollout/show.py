"""`python -m ops timeline`: a rollout before the first token, simulated, or as it happened beside the simulation."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ops import timeline as simulation
from ops.options import PROJECT, Json, Stack
from ops.rollout import picture
from ops.rollout.measured import measure


def timeline(
    stack: Stack,
    assumption: Annotated[
        list[str] | None, typer.Option("--assume", help="Override one, as in weights-rate=100.")
    ] = None,
    measured: Annotated[
        bool,
        typer.Option(
            "--measured", help="Show what really happened beside it, and which assumption was wrong."
        ),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the pictures; by default out/<stack>.")] = None,
    json_: Json = False,
) -> None:
    """Simulate the stack's rollout: what runs when, and what GPU time is paid before the first token."""
    simulated = simulation.simulate(PROJECT, stack, assumption or [])
    found = measure(simulated, stack) if measured else None
    if json_:
        typer.echo(json.dumps((found or simulated).data(), indent=1, ensure_ascii=False))
        return
    typer.echo((found or simulated).text())
    folder = out or PROJECT / "out" / stack
    for path in picture.draw(found, folder) if found else simulation.draw(simulated, folder):
        typer.echo(path)
