"""What the simulated model says: a pure function from a rendered harmony prompt to a harmony completion.

It imitates the shape of GPT-OSS's output (analysis channel, preamble, tool calls, final message), never
its quality. Only the standard library is used: it is imported by the engine and by the tests alike.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
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
_SPECIAL = re.compile(r"<\|[a-z_]+\|>")
_NAME = re.compile(r"(?<=\w )[A-Z][\w-]*(?: [A-Z][\w-]*)*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


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

    Without a schema each round makes one tool call, since the frontend ends an answer at the first <|call|>
    (as with GPT-OSS itself): where a question needs several, they follow in the next rounds.
    """
    if "<|start|>" not in prompt:
        return Completion(f" {LABEL} This continues: {_quote(prompt)}.", "<|endoftext|>")
    read = _read(prompt)
    calls = list(_calls(read))
    if guided is not None:
        return _final(read, "The answer must fit a schema.", json.dumps(_guided(read, calls, guided)))
    if len(read.results) < len(calls):
        return _call(read, calls)
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


def _call(prompt: Prompt, calls: list[tuple[str, dict[str, Any]]]) -> Completion:
    """The next call; the first of several has a preamble, harmony's word to the user before a call."""
    name, arguments = calls[len(prompt.results)]
    tail = "<|end|>"
    if len(calls) > 1 and not prompt.results:
        names = ", ".join(name for name, _ in calls)
        tail += f"<|start|>assistant<|channel|>commentary<|message|>{LABEL} I will call {names}.<|end|>"
    tail += (
        f"<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
        f"{json.dumps(arguments)}<|call|>"
    )
    return Completion(_analysis(prompt, f"A tool can tell: {name}."), tail)


def _guided(prompt: Prompt, calls: list[tuple[str, dict[str, Any]]], schema: Mapping[str, Any]) -> Any:
    """A value that fits the schema; a list under `tool_choice: required` is the list of calls to make."""
    if schema.get("type") == "array" and "anyOf" in schema.get("items", {}):
        return [{"name": name, "parameters": arguments} for name, arguments in calls]
    question = prompt.question
    return _value(schema, _Words(question, _NAME.findall(question)[:1], _numbers(question)))


def _calls(prompt: Prompt) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields a call of every tool whose name's words stand in the question, or else of the first tool.

    Where the question names several things (`in Paris and Oslo`) and the tool wants a free text, the tool is
    called once for each of them.
    """
    said = set(re.findall(r"\w+", prompt.question.lower()))
    named = [tool for tool in prompt.tools if said & set(re.split(r"\W|_", tool["name"].lower())) - _VERBS]
    for tool in named or prompt.tools[:1]:
        schema = tool.get("parameters") or {}
        wanted = schema.get("required", schema.get("properties", {}))
        free = any(_is_free_text(schema["properties"][key]) for key in wanted)
        things = _NAME.findall(prompt.question) if free else []
        for index in range(max(1, len(things))):
            words = _Words(prompt.question, things[index : index + 1], _numbers(prompt.question))
            yield tool["name"], _object(schema, words)


_VERBS = {"get", "set", "list", "find", "is", "the", "a", "to", "of"}
"""Words of tool names that say nothing about which tool a question needs."""


@dataclass(frozen=True)
class _Words:
    """What a question offers as arguments."""

    question: str
    things: list[str]
    numbers: Iterator[str]

    def text(self) -> str:
        return self.things[0] if self.things else _SPECIAL.sub("", self.question)[:80]


def _numbers(question: str) -> Iterator[str]:
    return iter(_NUMBER.findall(question))


def _is_free_text(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "string" and "enum" not in schema


def _object(schema: Mapping[str, Any], words: _Words) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {key: _value(properties[key], words) for key in schema.get("required", properties)}


def _value(schema: Mapping[str, Any], words: _Words) -> Any:
    """A value that fits a JSON Schema, taken from the question where it has one."""
    if "enum" in schema:
        named = (choice for choice in schema["enum"] if str(choice).lower() in words.question.lower())
        return next(named, schema["enum"][0])
    makers: dict[str, Callable[[], Any]] = {
        "object": lambda: _object(schema, words),
        "array": lambda: [_value(schema.get("items", {}), words)],
        "boolean": lambda: True,
        "integer": lambda: int(float(next(words.numbers, schema.get("minimum", 1)))),
        "number": lambda: float(next(words.numbers, schema.get("minimum", 1))),
    }
    return makers.get(schema.get("type", "string"), words.text)()


def _quote(text: str, limit: int = 120) -> str:
    """Quotes foreign text without the tokens that mean something in harmony."""
    plain = " ".join(_SPECIAL.sub("", text).split())
    return f'"{plain[:limit]}…"' if len(plain) > limit else f'"{plain}"'
