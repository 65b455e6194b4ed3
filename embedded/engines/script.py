"""What the simulated model says: a pure function from a rendered harmony prompt to a harmony completion.

It imitates the shape of GPT-OSS's output (analysis channel, tool calls, final message), never its quality. Only the
standard library is used: it is imported by the engine and by the tests alike.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LABEL = "[simulated engine]"
"""Every answer carries it, so that no reader takes the text for the model's."""

FILLER = (
    " The frontend rendered the prompt, the router chose a worker, and every token went through both."
    " No weights were loaded and no GPU was used, so neither the words nor the pace say anything of the model."
)
"""Repeated where a client asks for more tokens than the script has (benchmarks: ignore_eos, min_tokens)."""

_THOUGHTS = (
    "The engine is a script, so this is only the shape of reasoning.",
    "First I look at what was asked.",
    "Then I look at which tools were declared and what they returned.",
    "Nothing else is known here.",
    "A longer effort gives a longer analysis, as the real model's would.",
    "I check that the answer says that it is simulated.",
    "I check that the answer repeats what was asked.",
    "That is enough to answer.",
)
_EFFORTS = {"low": 0, "medium": 3, "high": len(_THOUGHTS)}
"""Sentences of _THOUGHTS added to the analysis for each reasoning effort."""

_MESSAGE = re.compile(r"<\|start\|>(.*?)<\|message\|>(.*?)<\|(?:end|call|return)\|>", re.DOTALL)
_QUOTED = 120
"""Characters of foreign text that are quoted at most."""
_SPECIAL = re.compile(r"<\|[a-z_]+\|>")


@dataclass(frozen=True)
class Prompt:
    """What the script needs of a rendered prompt; `results` are the tools' answers to the last question."""

    effort: str
    tools: tuple[dict[str, Any], ...]
    question: str
    results: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Completion:
    """Harmony text in two parts: filler may stand between them without breaking the harmony format."""

    head: str
    tail: str


def complete(prompt: str, guided: Mapping[str, Any] | None = None) -> Completion:
    """Returns what the simulated model writes after `prompt`, a prompt rendered by chat_template.jinja.

    `guided` is the JSON Schema that the frontend asks an engine to keep to: it does so for `tool_choice`
    other than auto and for structured output. Any other text (`/v1/completions`) is continued as plain text.

    Every declared tool is called once, with the least that its schema takes. Without a schema each round makes one
    call, since the frontend ends an answer at the first <|call|> (as with GPT-OSS itself).
    """
    if "<|start|>" not in prompt:
        return Completion(f" {LABEL} This continues: {_quote(prompt)}.", "<|endoftext|>")
    read = _read(prompt)
    calls = [(tool["name"], _value(tool.get("parameters") or {"type": "object"})) for tool in read.tools]
    if guided is not None:
        return _final(read, "The answer must fit a schema.", json.dumps(_guided(calls, guided)))
    if len(read.results) < len(calls):
        return _call(read, *calls[len(read.results)])
    if read.results:
        answer = " ".join(f"{name} returned {_quote(result)}." for name, result in read.results)
    else:
        answer = f"You asked: {_quote(read.question)}. No model is loaded, so this is not an answer to it."
    return _final(read, "I can answer now.", f"{LABEL} {answer}")


def _read(prompt: str) -> Prompt:
    effort = re.search(r"^Reasoning: (\w+)$", prompt, re.MULTILINE)
    tools: tuple[dict[str, Any], ...] = ()
    question = ""
    results: list[tuple[str, str]] = []
    for head, body in _MESSAGE.findall(prompt):
        if head == "developer" and body.startswith("# Tools\n"):
            tools = tuple(json.loads(line) for line in body.splitlines()[1:])
        elif head == "user":
            question, results = body, []
        elif head.startswith("functions."):
            results.append((head.removeprefix("functions.").split(" ")[0], body))
    return Prompt(effort[1] if effort else "medium", tools, question, tuple(results))


def _analysis(prompt: Prompt, conclusion: str) -> str:
    thoughts = " ".join((*_THOUGHTS[: _EFFORTS.get(prompt.effort, 3)], conclusion))
    return f"<|channel|>analysis<|message|>{LABEL} The user asks: {_quote(prompt.question)}. {thoughts}"


def _final(prompt: Prompt, thought: str, answer: str) -> Completion:
    head = f"{_analysis(prompt, thought)}<|end|><|start|>assistant<|channel|>final<|message|>{answer}"
    return Completion(head, "<|return|>")


def _call(prompt: Prompt, name: str, arguments: Any) -> Completion:
    tail = (
        f"<|end|><|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
        f"{json.dumps(arguments)}<|call|>"
    )
    return Completion(_analysis(prompt, f"A tool can tell: {name}."), tail)


def _guided(calls: list[tuple[str, Any]], schema: Mapping[str, Any]) -> Any:
    """A value that fits the schema; a list under `tool_choice: required` is the list of calls to make."""
    if schema.get("type") == "array" and "anyOf" in schema.get("items", {}):
        return [{"name": name, "parameters": arguments} for name, arguments in calls]
    return _value(schema)


def _value(schema: Mapping[str, Any]) -> Any:
    """The least value that fits a JSON Schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        return {key: _value(properties[key]) for key in schema.get("required", properties)}
    if schema.get("type") == "array":
        return [_value(schema.get("items", {}))]
    least = schema.get("minimum", 1)
    return {"boolean": True, "integer": least, "number": least}.get(schema.get("type", ""), "simulated")


def _quote(text: str) -> str:
    """Quotes foreign text without the tokens that mean something in harmony."""
    plain = " ".join(_SPECIAL.sub("", text).split())
    return f'"{plain[:_QUOTED]}…"' if len(plain) > _QUOTED else f'"{plain}"'
