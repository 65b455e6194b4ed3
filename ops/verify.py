"""`python -m ops verify`: hold a conversation with a deployed graph and say what is wrong with it."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated

import typer

from embedded.paths import PROJECT
from facts import releases
from facts.engines import Engine
from facts.weights import MODEL_ID
from manifests.verification import expectation
from ops import options
from ops.kept import Kept, keep
from ops.stack.cluster import Endpoint, reach
from ops.stack.place import find_deployed
from ops.stack.stack import Stack
from pods.verification.checks import verify as checks
from pods.verification.conversation import REQUEST_SECONDS, release_of
from pods.verification.expectation import Expectation
from pods.verification.results import FAILED, OK, WARNING, Result, summary

_CONVERSATION = "chat"
"""The check that gets the first answer."""
_COLOURS = {OK: typer.colors.GREEN, WARNING: typer.colors.YELLOW, FAILED: typer.colors.RED}


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
    dynamo_version: Annotated[
        str | None,
        typer.Option(
            help="Release behind --url where no --stack says it; the frontend's own word otherwise."
        ),
    ] = None,
    router_mode: Annotated[
        str, typer.Option(help="Router mode behind --url where no --stack says it.")
    ] = "round-robin",
    engine: Annotated[
        Engine | None, typer.Option(help="Engine behind --url where no --stack says it.")
    ] = None,
    embedded: options.Where = None,
    wait: Annotated[float, typer.Option(help="Seconds that a starting graph has to become ready.")] = 60.0,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object instead of lines.")] = False,
) -> None:
    """Check that a deployed graph answers: readiness, chat, reasoning, tool calls, disaggregation."""
    if not stack and not url:
        raise typer.BadParameter("give --stack, --url or both")
    if url and not re.match(r"https?://[^/]", url):
        raise typer.BadParameter(f"--url: {url!r} is no address; write http://HOST:PORT or https://HOST")
    found = find_deployed(stack, embedded=embedded) if stack else None
    named = tuple(roles.split(","))
    with _where(found, url, wait) as endpoint:
        expected = (
            expectation(found.plan.main, simulated=found.embedded)
            if found
            else Expectation(
                model,
                named,
                disaggregated="prefill" in named,
                version=_release(dynamo_version, endpoint.url),
                router_mode=router_mode,
                engine=engine,
            )
        )
        results, answered = [], None
        for result in _show(endpoint, expected, wait, quiet=json_):
            results.append(result)
            if result.name == _CONVERSATION and result.outcome == OK:
                answered = datetime.now(UTC).isoformat()
    whole = summary(endpoint.url, results) | {"simulated": endpoint.simulated, "answered": answered}
    if found:
        keep(Kept.VERIFY, found.name, whole, PROJECT)
    if json_:
        typer.echo(json.dumps(whole, indent=1))
    if not all(result.ok for result in results):
        raise typer.Exit(1)


def _release(given: str | None, url: str) -> str:
    """The release that was given, else the frontend's own word, else the default."""
    if given is None:
        return release_of(url, REQUEST_SECONDS) or releases.DEFAULT
    try:
        return str(releases.Version.parse(given))
    except ValueError as error:
        raise typer.BadParameter(f"--dynamo-version: {error}") from None


@contextmanager
def _where(stack: Stack | None, url: str | None, wait: float) -> Iterator[Endpoint]:
    if url or not stack:
        yield Endpoint(str(url))
        return
    with reach(stack) as cluster, cluster.endpoint(wait) as endpoint:
        yield endpoint


def _show(endpoint: Endpoint, expected: Expectation, wait: float, *, quiet: bool) -> Iterator[Result]:
    """The results as they come, each printed unless `quiet`."""
    began = time.monotonic()
    failed: list[str] = []
    warned: list[str] = []
    if not quiet:
        simulated = f" (simulated: {endpoint.simulated})" if endpoint.simulated else ""
        typer.echo(f"verifying {expected.model} at {endpoint.url}{simulated}")
    for result in checks(endpoint.url, expected, wait=wait):
        if not result.ok:
            failed.append(result.name)
        elif result.outcome == WARNING:
            warned.append(result.name)
        if not quiet:
            typer.secho("\n".join(result.lines()), fg=_COLOURS.get(result.outcome))
        yield result
    if not quiet:
        took = f"in {time.monotonic() - began:.1f} s"
        warnings = f"; warnings: {', '.join(warned)}" if warned else ""
        verdict = f"failed: {', '.join(failed)}" if failed else "it answers as it should"
        typer.echo(f"{verdict}{warnings}; {took}")
