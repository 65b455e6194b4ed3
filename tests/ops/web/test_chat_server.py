"""The chat page's server: what it passes on, and to whom it says nothing. The endpoint speaks as Dynamo's frontend."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from ops.web.chat_server import ChatServer, Conversation
from ops.web.opening import serving
from tests.ops.web.conftest import Endpoint
from tests.waiting import PATIENCE

ASKED = {"messages": [{"role": "user", "content": "Hi"}], "effort": "high"}


@pytest.fixture
def server(endpoint: Endpoint) -> Iterator[ChatServer]:
    url = f"http://127.0.0.1:{endpoint.server_port}"
    with serving(Conversation(stack="dev", graph="g", model="m", url=url, simulated="engines")) as made:
        yield made


def ask(
    server: ChatServer, method: str = "POST", path: str = "/chat", body: object = ASKED, **headers: str
) -> tuple[int, str, dict[str, str]]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE)
    given = {name.replace("_", "-"): text for name, text in headers.items()}
    text = json.dumps(body) if method == "POST" else None
    connection.request(method, path, text, {"Content-Type": "application/json", **given})
    answer = connection.getresponse()
    found = answer.status, answer.read().decode(), dict(answer.getheaders())
    connection.close()
    return found


def pieces(server: ChatServer) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ask(server)[1].splitlines()]


def test_it_listens_on_the_loopback_address_alone(server: ChatServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_an_answer_comes_in_pieces_with_the_frontends_own_count(
    server: ChatServer, endpoint: Endpoint
) -> None:
    assert pieces(server) == [
        {"reasoning": "hm"}, {"content": "<b>Hello</b>"}, {"tokens": "7"}, {"done": True}
    ]  # fmt: skip
    [asked] = endpoint.asked
    assert asked["chat_template_args"] == {"reasoning_effort": "high"}
    assert (asked["model"], asked["messages"]) == ("m", ASKED["messages"])


def test_what_goes_wrong_at_the_endpoint_is_told(server: ChatServer, endpoint: Endpoint) -> None:
    endpoint.broken = True
    assert pieces(server)[-1] == {"error": f"http://127.0.0.1:{endpoint.server_port} broke its answer off"}
    endpoint.status = 503
    [only] = pieces(server)
    assert only["error"].startswith("HTTP 503")


def test_who_stops_listening_ends_the_answer_at_the_endpoint(server: ChatServer, endpoint: Endpoint) -> None:
    endpoint.go_on.clear()
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE)
    connection.request("POST", "/chat", json.dumps(ASKED), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert json.loads(answer.readline()) == {"reasoning": "hm"}
    answer.close()
    connection.close()
    assert endpoint.cut_off.wait(PATIENCE)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "169.254.169.254", ""])
@pytest.mark.parametrize("method, path", [("GET", "/"), ("GET", "/about"), ("POST", "/chat")])
def test_another_name_for_this_machine_gets_nothing(
    host: str, method: str, path: str, server: ChatServer, endpoint: Endpoint
) -> None:
    """As after DNS rebinding: a page of that name would be of one origin with this server."""
    status, text, _ = ask(server, method, path, Host=host)
    assert (status, text) == (421, "this server answers to 127.0.0.1 alone\n")
    assert endpoint.asked == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
    ],
)
def test_another_sites_page_cannot_ask(
    headers: dict[str, str], server: ChatServer, endpoint: Endpoint
) -> None:
    status, text, _ = ask(server, **headers)
    assert (status, text) == (403, "questions come as JSON from the page itself\n")
    assert endpoint.asked == []


def test_both_names_of_the_address_may_ask(server: ChatServer) -> None:
    for name in ("127.0.0.1", "localhost"):
        host = f"{name}:{server.server_port}"
        assert ask(server, Host=host, Origin=f"http://{host}")[0] == 200


@pytest.mark.parametrize(
    "body, why",
    [
        ([], "no question"),
        ({"messages": [], "effort": "low"}, "messages: each needs a role and a text"),
        ({"messages": [{"role": "user", "content": 1}], "effort": "low"}, "messages: each needs"),
        ({"messages": [{"role": "system", "content": "x"}], "effort": "low"}, "no such role here: system"),
        ({"messages": [{"role": "user", "content": "x"}], "effort": "most"}, "'most' is not a valid Effort"),
    ],
)
def test_what_is_no_question_is_not_passed_on(
    body: object, why: str, server: ChatServer, endpoint: Endpoint
) -> None:
    status, text, _ = ask(server, body=body)
    assert status == 400 and why in text
    assert endpoint.asked == []


def test_the_page_may_run_its_own_script_and_talk_to_its_server_alone(server: ChatServer) -> None:
    status, text, headers = ask(server, "GET", "/")
    assert status == 200 and text.startswith("<!doctype html>")
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy and "connect-src 'self'" in policy
    assert json.loads(ask(server, "GET", "/about")[1])["simulated"] == "engines"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{server.url}other")
