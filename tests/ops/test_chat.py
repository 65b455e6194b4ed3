"""`python -m ops chat` against the real frontend."""

from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from embedded import endpoints
from ops.chat import Effort, chat, stream
from ops.stack import cluster
from ops.stack.cluster import EndpointError
from tests.live import AGGREGATED, DISAGGREGATED, MODEL, DataPlane

pytestmark = pytest.mark.xdist_group("live-verify")


@pytest.fixture
def run(plane: DataPlane, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the verb on the disaggregated graph, as the embedded cluster's; takes arguments and what is typed."""
    monkeypatch.setattr(cluster, "STATE", plane.state)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # nothing here may go through a proxy
    app = typer.Typer()
    app.command()(chat)
    return lambda *arguments, typed="": CliRunner().invoke(app, arguments, input=typed)


def test_once(run: Any) -> None:
    result = run("--stack", "dev", "--effort", "high", "--once", "Are you there?")
    assert result.exit_code == 0, result.output
    simulated, reasoning, answer = result.output.strip().splitlines()
    assert simulated == f"simulated: {endpoints.SIMULATED}"
    assert "The user asks" in reasoning and "That is enough to answer." in reasoning
    assert answer.startswith("[simulated engine] You asked: ")


def test_conversation_until_an_empty_line(run: Any) -> None:
    result = run(typed="First?\nSecond?\n\nNever?\n")
    assert result.exit_code == 0, result.output
    assert result.output.count("You asked") == 2
    assert "Never?" not in result.output


def test_how_to_end_it_is_said_and_help_is_not_asked_of_the_model(run: Any) -> None:
    ends = "An empty line, /exit or Ctrl-D ends the conversation"
    result = run(typed="/help\nFirst?\n/exit\nNever?\n")
    assert result.exit_code == 0, result.output
    assert result.output.count(ends) == 2
    assert result.output.count("You asked") == 1
    assert ends not in run("--once", "Hi").output


def test_reasoning_is_kept_apart(plane: DataPlane) -> None:
    pieces = list(stream(plane.url(DISAGGREGATED), MODEL, [{"role": "user", "content": "Hi"}], Effort.LOW))
    kinds = [kind for kind, _ in pieces]
    assert kinds == sorted(kinds, reverse=True)
    assert set(kinds) == {"reasoning", "content"}
    assert len(pieces) > 10


def test_errors(plane: DataPlane) -> None:
    question = [{"role": "user", "content": "Hi"}]
    with pytest.raises(EndpointError, match=r"HTTP 404: .*Model not found"):
        list(stream(plane.url(AGGREGATED), "another", question, Effort.LOW))
    plane.kill(AGGREGATED, "frontend")
    with pytest.raises(EndpointError, match="does not answer"):
        list(stream(plane.url(AGGREGATED), MODEL, question, Effort.LOW))
