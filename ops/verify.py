"""`python -m ops verify`: hold a conversation with a deployed graph and say what is wrong with it."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from graphs.scripts.verification import FAILED, OK, Expectation, Result, summary
from graphs.scripts.verification import verify as checks
from ops.endpoint import Deployment, Endpoint, deployment, reached
from targets.catalogue import MODEL_ID

_COLOURS = {OK: typer.colors.GREEN, FAILED: typer.colors.RED}


def verify(  # noqa: PLR0917 each is an option of the command line
    stack: Annotated[str | None, typer.Option(help="Stack, as in Pulumi.<stack>.yaml.")] = None,
    url: Annotated[
        str | None, typer.Option(help="Endpoint to talk to, instead of finding the stack's.")
    ] = None,
    roles: Annotated[
        str,
        typer.Option(
            help="Roles of the workers behind --url where no --stack says them: prefill,decode or worker."
        ),
    ] = "prefill,decode",
    model: Annotated[str, typer.Option(help="Model behind --url where no --stack says it.")] = MODEL_ID,
    embedded: Annotated[
        bool, typer.Option("--embedded", help="The stack's graph on the embedded cluster.")
    ] = False,
    wait: Annotated[float, typer.Option(help="Seconds that a starting graph has to become ready.")] = 60.0,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object instead of lines.")] = False,
) -> None:
    """Check that a deployed graph answers: readiness, chat, reasoning, tool calls, disaggregation."""
    if not stack and not url:
        raise typer.BadParameter("give --stack, --url or both")
    deployed = deployment(stack, embedded=embedded) if stack else None
    said = tuple(roles.split(","))
    expected = deployed.expected if deployed else Expectation(model, said, disaggregated="prefill" in said)
    with _where(deployed, url, wait) as endpoint:
        results = list(_shown(endpoint, expected, wait, quiet=json_))
    if json_:
        whole = summary(endpoint.url, results)
        typer.echo(json.dumps(whole | {"simulated": endpoint.simulated}, indent=1))
    if not all(result.ok for result in results):
        raise typer.Exit(1)


@contextmanager
def _where(deployed: Deployment | None, url: str | None, wait: float) -> Iterator[Endpoint]:
    if url or not deployed:
        yield Endpoint(str(url))
        return
    with reached(deployed, wait) as endpoint:
        yield endpoint


def _shown(endpoint: Endpoint, expected: Expectation, wait: float, *, quiet: bool) -> Iterator[Result]:
    """The results as they come, each printed unless `quiet`."""
    began, failed = time.monotonic(), []
    if not quiet:
        simulated = f" (simulated: {endpoint.simulated})" if endpoint.simulated else ""
        typer.echo(f"verifying {expected.model} at {endpoint.url}{simulated}")
    for result in checks(endpoint.url, expected, wait=wait):
        if not result.ok:
            failed.append(result.name)
        if not quiet:
            typer.secho("\n".join(result.lines()), fg=_COLOURS.get(result.outcome))
        yield result
    if not quiet:
        took = f"in {time.monotonic() - began:.1f} s"
        typer.echo(f"failed: {', '.join(failed)}; {took}" if failed else f"it answers as it should; {took}")
