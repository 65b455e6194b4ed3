"""Checks of what the model answers. Bodies are those of Dynamo's guides to GPT-OSS, with what is said beside them."""

import json
from typing import Any

from .conversation import QUESTION, Conversation
from .expectation import MOCKED, MOCKER, untold
from .results import Failure, Skipped

_THOUGHT_TOKENS = 4096


def chat(talk: Conversation) -> str:
    """A completion has content."""
    data = talk.chat(QUESTION)
    content = data["choices"][0]["message"].get("content") or ""
    return _spoken(talk, content, (data.get("usage") or {}).get("completion_tokens", 0))


def stream(talk: Conversation) -> str:
    """A streamed completion has content, arrives whole, and counts its tokens."""
    more = {"stream": True, "stream_options": {"include_usage": True}}
    text = talk.served("/v1/chat/completions", talk.chat_body(QUESTION, **more)).text
    events = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
    chunks = [json.loads(event) for event in events if event != "[DONE]"]
    # What fails once the frontend has begun to answer comes as an event, under HTTP 200 and before [DONE].
    for chunk in chunks:
        if "error" in chunk:
            raise Failure("not served", f"HTTP 200, then in the stream: {json.dumps(chunk['error'])[:200]}")
    if not events or events[-1] != "[DONE]":
        raise Failure("broken stream", f"the stream ended without [DONE] after {len(events)} events")
    deltas = [choice["delta"] for chunk in chunks for choice in chunk.get("choices", [])]
    content = "".join(delta.get("content") or "" for delta in deltas)
    tokens = max(((chunk.get("usage") or {}).get("completion_tokens", 0) for chunk in chunks), default=0)
    return f"{_spoken(talk, content, tokens)} in {len(chunks)} chunks"


def _spoken(talk: Conversation, content: str, tokens: int) -> str:
    """What was said. A mocker's random tokens need not be text."""
    silent = not content.strip() and talk.expected.engine != MOCKER
    if silent or not tokens:
        raise Failure("empty", f"HTTP 200, but {len(content)} characters and {tokens} completion tokens")
    return f"{tokens} tokens: {_short(content)}"


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return f"{plain[:60]}…" if len(plain) > 60 else plain


def responses(talk: Conversation) -> str:
    """The guides' own request to /v1/responses; where 200 tokens went into reasoning alone, with room for more."""
    body = {
        "model": talk.expected.model,
        "input": "Explain the concept of disaggregated serving in LLM inference in 3 sentences.",
        "max_output_tokens": 200,
        "stream": False,
    }
    text, tokens = _response(talk, body)
    if not text.strip() and tokens >= 200 and talk.expected.engine != MOCKER:
        text, tokens = _response(talk, {**body, "max_output_tokens": 2048})
    if text.strip() and (reason := untold("response usage", talk.expected)):
        return f"{_short(text)} ({reason})"
    return _spoken(talk, text, tokens)


def _response(talk: Conversation, body: dict[str, Any]) -> tuple[str, int]:
    data = talk.served("/v1/responses", body).data
    parts = [part for item in data["output"] for part in item.get("content") or []]
    text = "".join(part.get("text", "") for part in parts if part.get("type") == "output_text")
    return text, (data.get("usage") or {}).get("output_tokens", 0)


def reasoning(talk: Conversation) -> str:
    """Reasoning comes apart from the answer, at every effort."""
    _demand_parsers(talk)
    question = {
        "role": "user",
        "content": "How many prime numbers lie between 20 and 40? Answer with the number.",
    }
    lengths = {}
    # At high effort the guides set top_p to 1, against repetition.
    for effort, more in (("low", {}), ("medium", {}), ("high", {"top_p": 1})):
        template = {"chat_template_args": {"reasoning_effort": effort}}
        answer = talk.chat([question], max_tokens=_THOUGHT_TOKENS, **template, **more)
        message = answer["choices"][0]["message"]
        content = message.get("content") or ""
        thought = message.get("reasoning_content") or message.get("reasoning") or ""
        # At low effort the model may answer without reasoning.
        if "<|channel|>" in content or not (thought or effort == "low"):
            raise Failure("no reasoning", f"effort {effort}: no reasoning_content beside {_short(content)!r}")
        lengths[effort] = len(thought)
    return ", ".join(f"{effort} {length} characters" for effort, length in lengths.items())


_TOOL = {
    "type": "function",
    "function": {
        "name": "get_system_health",
        "description": (
            "Returns the current health status of the LLM runtime—use before critical operations to verify the "
            "service is live."
        ),
        "parameters": {"type": "object", "properties": {}},
    },
}
_TOOL_REQUEST = {"tools": [_TOOL], "response_format": {"type": "text"}, "stream": False, "max_tokens": 300}
"""The guides' first and second request, beside their messages."""


def tools(talk: Conversation) -> str:
    """The model calls a tool and answers from its result: both requests of the guides, at low effort.

    `tool_choice` stays open: `required` would constrain the answer to JSON, past the parser that is to be tried.
    """
    _demand_parsers(talk)
    question = {"role": "user", "content": "Hey, quick check: is everything up and running?"}
    choice = talk.chat([question], **_TOOL_REQUEST)["choices"][0]
    calls = choice["message"].get("tool_calls") or []
    if choice["finish_reason"] != "tool_calls" or not calls:
        content = _short(choice["message"].get("content") or "")
        raise Failure("no tool call", f"finish_reason {choice['finish_reason']}, content {content!r}")
    name, arguments = calls[0]["function"]["name"], calls[0]["function"]["arguments"]
    if name != "get_system_health" or not isinstance(_parsed(arguments), dict):
        raise Failure("no tool call", f"it called {name} with {arguments!r}")
    result = {
        "role": "tool",
        "tool_call_id": calls[0]["id"],
        "content": '{"status":"ok","uptime_seconds":372045}',
    }
    asked = {"role": "assistant", "tool_calls": calls[:1]}
    choice = talk.chat([question, asked, result], **_TOOL_REQUEST)["choices"][0]
    content = choice["message"].get("content") or ""
    if choice["finish_reason"] != "stop" or not content.strip():
        raise Failure("tool result lost", f"finish_reason {choice['finish_reason']}, content {content!r}")
    return f"get_system_health was called, then: {_short(content)}"


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _demand_parsers(talk: Conversation) -> None:
    """Raises Skipped where nothing could tell reasoning and tool calls from text."""
    if talk.expected.engine == MOCKER:
        raise Skipped(MOCKED)
    if reason := untold("harmony", talk.expected):
        raise Skipped(reason)


def unknown_model(talk: Conversation) -> str:
    """A model that is not there is refused."""
    model = f"{talk.expected.model}-does-not-exist"
    answer = talk.ask("/v1/chat/completions", {"model": model, "messages": QUESTION, "max_tokens": 1})
    if answer.status != 404:
        raise Failure("accepts anything", f"HTTP {answer.status} for model {model}")
    return "404"
