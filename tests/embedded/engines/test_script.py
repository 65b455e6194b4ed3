"""The scripted engine behind the real frontend: tokens in, OpenAI's API out."""

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletion

from embedded.engines import script
from tests.live import AGGREGATED, DISAGGREGATED, MODEL, DataPlane
from tests.project import PROJECT

pytestmark = pytest.mark.xdist_group("live-engine")
GUIDE = PROJECT / "tests" / "embedded" / "guide"
"""The curl commands of Dynamo's GPT-OSS guides for vLLM and TensorRT-LLM, as published."""
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer"},
                "notes": {"type": "string"},
            },
            "required": ["city", "unit", "days"],
        },
    },
}
HEALTH: Any = {
    "type": "function",
    "function": {"name": "get_system_health", "parameters": {"type": "object"}},
}
QUESTION = "Is everything up, and what is the weather?"
WEATHER_CALL = ("get_weather", {"city": "simulated", "unit": "celsius", "days": 1})
HEALTH_CALL: tuple[str, Any] = ("get_system_health", {})


@pytest.fixture
def client(plane: DataPlane) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{plane.url(DISAGGREGATED)}/v1", api_key="none", max_retries=0) as client:
        yield client


def ask(client: OpenAI, *messages: Any, effort: str = "low", **more: Any) -> ChatCompletion:
    body = {"chat_template_args": {"reasoning_effort": effort}, **more.pop("extra_body", {})}
    said: Any = list(messages) or [user("Hello")]
    answer: ChatCompletion = client.chat.completions.create(
        model=MODEL, messages=said, extra_body=body, **more
    )
    return answer


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def reasoning(answer: ChatCompletion) -> str:
    return str(answer.choices[0].message.reasoning_content)  # type: ignore[attr-defined]


def calls(answer: ChatCompletion) -> list[tuple[str, Any]]:
    made = answer.choices[0].message.tool_calls or []
    return [
        (call.function.name, json.loads(call.function.arguments)) for call in made if call.type == "function"
    ]


def test_plain_answer_is_labelled(client: OpenAI) -> None:
    answer = ask(client, user("Who are you?"))
    assert answer.choices[0].finish_reason == "stop"
    assert str(answer.choices[0].message.content).startswith(script.LABEL)
    assert "Who are you?" in reasoning(answer)
    assert answer.usage and answer.usage.completion_tokens > 0


def test_reasoning_grows_with_effort(client: OpenAI) -> None:
    lengths = [len(reasoning(ask(client, effort=effort))) for effort in ("low", "medium", "high")]
    assert lengths == sorted(set(lengths))


def test_stream(client: OpenAI) -> None:
    with client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "Hello"}], stream=True
    ) as chunks:
        deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    thoughts = [getattr(delta, "reasoning_content", None) for delta in deltas]
    said = [delta.content for delta in deltas]
    assert "The user asks" in "".join(filter(None, thoughts))
    assert "You asked" in "".join(filter(None, said))
    assert sum(map(bool, said)) > 5


def test_tool_calls_follow_one_another(client: OpenAI) -> None:
    """The frontend ends an answer at the first call, so the second one waits for the first one's result."""
    messages: list[Any] = [user(QUESTION)]
    seen = []
    for result in ("7 degrees", "2 degrees"):
        answer = ask(client, *messages, tools=[HEALTH, WEATHER])
        assert answer.choices[0].finish_reason == "tool_calls"
        seen += calls(answer)
        message = answer.choices[0].message
        call = (message.tool_calls or [])[0]
        messages += [message.to_dict(), {"role": "tool", "tool_call_id": call.id, "content": result}]
    assert seen == [HEALTH_CALL, WEATHER_CALL]
    final = ask(client, *messages, tools=[HEALTH, WEATHER])
    assert final.choices[0].finish_reason == "stop"
    assert '"7 degrees"' in str(final.choices[0].message.content)
    assert '"2 degrees"' in str(final.choices[0].message.content)


def test_parallel_tool_calls(client: OpenAI) -> None:
    answer = ask(client, user(QUESTION), tools=[HEALTH, WEATHER], tool_choice="required")
    assert answer.choices[0].finish_reason == "tool_calls"
    assert calls(answer) == [HEALTH_CALL, WEATHER_CALL]


def test_named_tool(client: OpenAI) -> None:
    choice: Any = {"type": "function", "function": {"name": "get_weather"}}
    answer = ask(client, user(QUESTION), tools=[HEALTH, WEATHER], tool_choice=choice)
    assert calls(answer) == [WEATHER_CALL]


def test_no_tool(client: OpenAI) -> None:
    answer = ask(client, user(QUESTION), tools=[WEATHER], tool_choice="none")
    assert not calls(answer)
    assert answer.choices[0].finish_reason == "stop"


def test_structured_output(client: OpenAI) -> None:
    schema = {"type": "object", "properties": {"days": {"type": "integer"}, "sure": {"type": "boolean"}}}
    form: Any = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    answer = ask(client, user(QUESTION), response_format=form)
    assert json.loads(str(answer.choices[0].message.content)) == {"days": 1, "sure": True}


def test_cut_by_max_tokens(client: OpenAI) -> None:
    answer = ask(client, max_tokens=9)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage and answer.usage.completion_tokens == 9


def test_benchmarks_get_just_the_tokens_that_they_ask_for(client: OpenAI) -> None:
    more = {"ignore_eos": True, "min_tokens": 700}
    answer = ask(client, user("word " * 500), max_tokens=700, extra_body=more)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage and answer.usage.completion_tokens == 700
    least = ask(client, extra_body={"min_tokens": 300})
    assert least.choices[0].finish_reason == "stop"
    assert least.usage and least.usage.completion_tokens >= 300


def test_markup_in_a_question_stays_text(client: OpenAI) -> None:
    answer = ask(client, user("a <|call|> b <|return|> c"))
    assert answer.choices[0].finish_reason == "stop"
    assert "<|" not in str(answer.choices[0].message.content) + reasoning(answer)


def test_completions_and_responses(client: OpenAI) -> None:
    assert script.LABEL in client.completions.create(model=MODEL, prompt="Once upon").choices[0].text
    tool: Any = {"type": "function", **WEATHER["function"]}
    response = client.responses.create(model=MODEL, input=QUESTION, tools=[tool])
    (call,) = [item for item in response.output if item.type == "function_call"]
    assert json.loads(call.arguments) == WEATHER_CALL[1]


def test_disaggregation_shows_in_worker_ids(plane: DataPlane, client: OpenAI) -> None:
    extra = {"nvext": {"extra_fields": ["worker_id"]}}
    ids = ask(client, extra_body=extra).to_dict()["nvext"]["worker_id"]  # type: ignore[index]
    assert ids["prefill_worker_id"] != ids["decode_worker_id"]
    with OpenAI(base_url=f"{plane.url(AGGREGATED)}/v1", api_key="none") as aggregated:
        ids = ask(aggregated, extra_body=extra).to_dict()["nvext"]["worker_id"]  # type: ignore[index]
    assert ids["prefill_worker_id"] == ids["decode_worker_id"]


def curl(plane: DataPlane, name: str) -> Any:
    command = (GUIDE / f"{name}.sh").read_text()
    assert "localhost:8000" in command
    command = command.replace("localhost:8000", urlsplit(plane.url(DISAGGREGATED)).netloc)
    environment = os.environ | {"no_proxy": "*"}
    run = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


@pytest.mark.parametrize("guide", ["vllm", "trtllm"])
def test_commands_of_the_guides(plane: DataPlane, guide: str) -> None:
    health = curl(plane, f"{guide}_health")
    assert {one["component"] for one in health["instances"]} == {"backend", "prefill"}
    response = curl(plane, f"{guide}_responses")
    assert response["output"][0]["content"][0]["text"].startswith(script.LABEL)
    first = curl(plane, f"{guide}_tools_first")["choices"][0]
    assert first["finish_reason"] == "tool_calls"
    assert first["message"]["tool_calls"][0]["function"] == {"name": "get_system_health", "arguments": "{}"}
    second = curl(plane, f"{guide}_tools_second")["choices"][0]
    assert second["finish_reason"] == "stop"
    assert "372045" in second["message"]["content"]
    assert second["message"]["reasoning_content"]


def test_script_writes_the_same_for_the_same_prompt() -> None:
    prompt = (
        "<|start|>system<|message|>Reasoning: high<|end|><|start|>user<|message|>Hi<|end|><|start|>assistant"
    )
    assert script.complete(prompt) == script.complete(prompt)
    assert script.complete(prompt).head.startswith("<|channel|>analysis<|message|>")
    assert script.complete(prompt).tail == "<|return|>"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "number", "minimum": 2}, 2),
        ({"type": "string", "enum": ["kelvin", "fahrenheit"]}, "kelvin"),
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "array", "items": {"type": "boolean"}}, [True]),
        ({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}, {"b": "simulated"}),
    ],
)
def test_values_fit_their_schema(schema: dict[str, Any], value: Any) -> None:
    prompt = f"<|start|>user<|message|>{QUESTION}<|end|><|start|>assistant"
    written = script.complete(prompt, schema).head.rpartition("<|message|>")[2]
    assert json.loads(written) == value
