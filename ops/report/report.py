"""`python -m ops report`: one HTML page of a stack."""

import json
from pathlib import Path
from typing import Annotated

import typer

from embedded.files import write_whole
from embedded.paths import PROJECT
from ops.options import Json, Stack
from ops.report.page import page
from pages.html import render

NAME = "report.html"


def report(
    stack: Stack,
    out: Annotated[
        Path | None, typer.Option(help="File to write; by default out/<stack>/report.html.")
    ] = None,
    json_: Json = False,
) -> None:
    """Write one page of the stack: topology, timeline, cost, benchmarks, verification, settings."""
    path = write(PROJECT, stack, out)
    typer.echo(json.dumps({"stack": stack, "page": str(path)}) if json_ else path)


def write(project: Path, stack: str, out: Path | None = None) -> Path:
    """Write the page, which needs no other file; returns its path. Raises StackFileError and ConfigError."""
    path = out or project / "out" / stack.rpartition("/")[2] / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    shown = page(project, stack, path.parent.resolve())
    write_whole(path, render("ops.report.templates", "report.html.j2", {"page": shown}))
    return path
