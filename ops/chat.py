"""`chat`: a quick conversation with a deployed graph, its reasoning shown apart."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Generator, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console

from manifests.verification import expectation
from ops import options
from ops.stack.cluster import EndpointError, reach
from ops.stack.place import find_deployed

_SECONDS_OF_SILENCE = 120.0
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Past any proxy of the environment: the endpoint, or its forwarded port, is on 127.0.0.1."""

_EXITS = {"", "/exit", "/quit"}
_HELP = "An empty line, /exit or Ctrl-D ends the conversation; --effort says how much the model reasons."

Message = Mapping[str, str]


class Effort(StrEnum):
    """GPT-OSS's levels of reasoning effort."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


def chat(
    stack: options.Stack = "dev",
    effort: Annotated[Effort, typer.Option(help="How much the model reasons first.")] = Effort.MEDIUM,
    once: Annotated[str | None, typer.Option(help="Ask this, print the answer and end.")] = None,
    embedded: options.Where = None,
) -> None:
    """Talk to a deployed graph; an empty line or Ctrl-D ends it."""
    console = Console(highlight=False)
    found = find_deployed(stack, embedded=embedded)
    model = expectation(found.plan.main, simulated=found.embedded).model
    with reach(found) as cluster, cluster.endpoint(timeout=60.0) as endpoint:
        if endpoint.simulated:
            console.print(f"simulated: {endpoint.simulated}", style="yellow", markup=False)
        messages: list[Message] = []
        for question in [once] if once is not None else _questions(console):
            messages.append({"role": "user", "content": question})
            answer = _say(console, stream(endpoint.url, model, messages, effort))
            messages.append({"role": "assistant", "content": answer})


def stream(
    url: str, model: str, messages: Sequence[Message], effort: Effort, *, counted: bool = False
) -> Generator[tuple[str, str]]:
    """Yields (`reasoning` or `content`, piece of text) as the model writes. Raises EndpointError.

    counted: at the end (`tokens`, how many it wrote), by the frontend's own count.
    """
    body: dict[str, Any] = {
        "model": model,
        "messages": list(messages),
        "chat_template_args": {"reasoning_effort": effort.value},
        "stream": True,
    }
    if effort is Effort.HIGH:
        body["top_p"] = 1
    if counted:
        body["stream_options"] = {"include_usage": True}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), headers)
    try:
        with _DIRECT.open(request, timeout=_SECONDS_OF_SILENCE) as lines:
            for line in lines:
                event = line.decode().strip()
                if event.removeprefix("data:").strip() == "[DONE]":
                    return
                yield from _pieces(event)
    except urllib.error.HTTPError as error:
        raise EndpointError(f"HTTP {error.code}: {error.read().decode(errors='replace')[:300]}") from None
    except OSError as error:
        raise EndpointError(f"{url} does not answer: {error}") from None
    except (http.client.HTTPException, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EndpointError(f"{url} answers what is no chat: {type(error).__name__}: {error}") from None
    raise EndpointError(f"{url} broke its answer off")


def _pieces(line: str) -> Iterator[tuple[str, str]]:
    if not line.startswith("data:"):
        return
    event = json.loads(line.removeprefix("data:"))
    if "error" in event:
        raise EndpointError(f"the endpoint broke its answer off: {event['error']}")
    for choice in event.get("choices", []):
        delta = choice["delta"] or {}
        for kind, key in (("reasoning", "reasoning_content"), ("content", "content")):
            if delta.get(key):
                yield kind, delta[key]
    if usage := event.get("usage"):
        yield "tokens", str(usage["completion_tokens"])


def _questions(console: Console) -> Iterator[str]:
    """What is typed, until an empty line, /exit, Ctrl-D or Ctrl-C; help is answered here and not by the model."""
    console.print(_HELP, style="dim")
    while True:
        try:
            question = console.input("[bold]you:[/bold] ").strip()
        except (EOFError, KeyboardInterrupt):
            return
        if question in _EXITS:
            return
        if question == "/help":
            console.print(_HELP, style="dim")
        else:
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
