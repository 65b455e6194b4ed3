"""`python -m ops chat`: a quick conversation with a deployed graph, its reasoning shown apart."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console

from manifests.verification import expectation
from ops.stack.cluster import EndpointError, reach
from ops.stack.stack import find

_SECONDS_OF_SILENCE = 120.0
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Past any proxy of the environment: the endpoint, or its forwarded port, is on 127.0.0.1."""

Message = Mapping[str, str]


class Effort(StrEnum):
    """GPT-OSS's levels of reasoning effort."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


def chat(
    stack: Annotated[str, typer.Option(help="Stack, as in Pulumi.<stack>.yaml.")] = "dev",
    effort: Annotated[Effort, typer.Option(help="How much the model reasons first.")] = Effort.MEDIUM,
    once: Annotated[str | None, typer.Option(help="Ask this, print the answer and end.")] = None,
    embedded: Annotated[
        bool, typer.Option("--embedded", help="The stack's graph on the embedded cluster.")
    ] = False,
) -> None:
    """Talk to a deployed graph; an empty line or Ctrl-D ends it."""
    console = Console(highlight=False)
    found = find(stack, embedded=embedded)
    model = expectation(found.plan.main, simulated=found.embedded).model
    with reach(found) as cluster, cluster.endpoint(timeout=60.0) as endpoint:
        if endpoint.simulated:
            console.print(f"simulated: {endpoint.simulated}", style="yellow", markup=False)
        messages: list[Message] = []
        for question in [once] if once is not None else _questions(console):
            messages.append({"role": "user", "content": question})
            answer = _say(console, stream(endpoint.url, model, messages, effort))
            messages.append({"role": "assistant", "content": answer})


def stream(url: str, model: str, messages: Sequence[Message], effort: Effort) -> Iterator[tuple[str, str]]:
    """Yields (`reasoning` or `content`, piece of text) as the model writes. Raises EndpointError."""
    body: dict[str, Any] = {
        "model": model,
        "messages": list(messages),
        "chat_template_args": {"reasoning_effort": effort.value},
        "stream": True,
    }
    if effort is Effort.HIGH:
        body["top_p"] = 1
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), headers)
    try:
        with _DIRECT.open(request, timeout=_SECONDS_OF_SILENCE) as lines:
            for line in lines:
                yield from _pieces(line.decode().strip())
    except urllib.error.HTTPError as error:
        raise EndpointError(f"HTTP {error.code}: {error.read().decode(errors='replace')[:300]}") from None
    except OSError as error:
        raise EndpointError(f"{url} does not answer: {error}") from None


def _pieces(line: str) -> Iterator[tuple[str, str]]:
    event = line.removeprefix("data:").strip()
    if event in (line, "[DONE]"):  # not an event at all, or the last one
        return
    for choice in json.loads(event).get("choices", []):
        delta = choice["delta"]
        for kind, key in (("reasoning", "reasoning_content"), ("content", "content")):
            if delta.get(key):
                yield kind, delta[key]


def _questions(console: Console) -> Iterator[str]:
    while True:
        try:
            question = console.input("[bold]you:[/bold] ")
        except (EOFError, KeyboardInterrupt):
            return
        if not question.strip():
            return
        yield question


def _say(console: Console, pieces: Iterator[tuple[str, str]]) -> str:
    """Prints the pieces, reasoning dim and on lines of its own; returns the answer without it."""
    answer, before = "", ""
    for kind, piece in pieces:
        if before and kind != before:
            console.print()
        console.print(piece, end="", style="dim" if kind == "reasoning" else "", markup=False, soft_wrap=True)
        answer += piece if kind == "content" else ""
        before = kind
    console.print()
    return answer
