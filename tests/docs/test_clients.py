"""The programs of docs/clients.md: all parse; those of OpenAI's own client run, against a scripted HTTP server."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.project import PROJECT
from tests.waiting import PATIENCE

PAGE = (PROJECT / "docs" / "clients.md").read_text()
ADDRESS = "http://127.0.0.1:8000/v1"
PROGRAMS = {
    heading: block
    for heading, section in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    for block in re.findall(r"```python\n(.*?)```", section, re.DOTALL)
}
PRINTED = {
    "OpenAI's client": "thought: Thinking.\nanswer: Fine.\n",
    "A stream": "One, two.\n",
    "Tools, in two rounds": "Fine.\n",
}
"""What the programs print that need only what the tests have."""


class Scripted(BaseHTTPRequestHandler):
    """Answers chat completions: with a call of each tool until there is a result, else with a sentence."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """One chat completion."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/chat/completions"
        assert asked["model"] == "openai/gpt-oss-120b"
        if asked.get("stream"):
            parts = [chunk({"content": text}) for text in ("One,", " two.")]
            self._send(
                "text/event-stream",
                "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n",
            )
        else:
            self._send("application/json", json.dumps(completion(asked)))

    def _send(self, kind: str, body: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


def completion(asked: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "Fine.", "reasoning_content": "Thinking."}
    calls = [
        {"id": f"call-{tool['function']['name']}", "type": "function"}
        | {"function": {"name": tool["function"]["name"], "arguments": "{}"}}
        for tool in asked.get("tools", ())
    ]
    answered = {each["tool_call_id"] for each in asked["messages"] if each["role"] == "tool"}
    if calls and not answered:
        message |= {"content": None, "tool_calls": calls}
    assert answered <= {call["id"] for call in calls}
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
    }
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return envelope("chat.completion") | {"choices": [choice], "usage": usage}


def chunk(delta: dict[str, Any]) -> dict[str, Any]:
    return envelope("chat.completion.chunk") | {
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}]
    }


def envelope(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "openai/gpt-oss-120b"}


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_parses_and_asks_the_local_address(name: str) -> None:
    ast.parse(PROGRAMS[name])
    assert PROGRAMS[name].count(ADDRESS) == 1


@pytest.mark.parametrize("name", PRINTED)
def test_it_runs(name: str, address: str) -> None:
    program = PROGRAMS[name].replace(ADDRESS, address)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (ran.stdout, ran.returncode) == (PRINTED[name], 0), ran.stderr


def test_the_guides_ways_are_all_there() -> None:
    assert {*PROGRAMS} == {*PRINTED, "LangChain", "OpenAI's Agents SDK"}
