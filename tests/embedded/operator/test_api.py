"""The requests of the operator stand-in, against a server that answers as the API server does while it starts."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from embedded.operator import api

Answer = tuple[int, Mapping[str, Any]]


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "RETRY_SECONDS", 0)


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kubeconfig"
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


async def post(served: api.Api) -> Any:
    return await served.request("POST", "/apis/nvidia.com/v1alpha1", {})


def ask(
    kubeconfig: Path, answers: Sequence[Answer], question: Callable[[api.Api], Awaitable[Any]] = post
) -> tuple[Any, list[str]]:
    """What a question returns of a server with these answers, and the methods of all that it was asked."""
    waiting, methods = list(answers), []

    async def answer(request: web.BaseRequest) -> web.Response:
        methods.append(request.method)
        status, body = waiting.pop(0)
        return web.json_response(body, status=status)

    async def exchange() -> Any:
        server = web.Server(answer)
        runner = web.ServerRunner(server)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0]
        config = {
            "clusters": [{"name": "it", "cluster": {"server": f"http://{host}:{port}"}}],
            "users": [{"name": "it", "user": {"token": "secret"}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "current-context": "it",
        }
        kubeconfig.write_text(json.dumps(config))
        try:
            async with api.Api() as served:
                return await question(served)
        finally:
            await runner.cleanup()

    return asyncio.run(exchange()), methods


def test_a_server_that_is_not_ready_is_asked_again(kubeconfig: Path) -> None:
    busy = (429, {"message": "storage is (re)initializing"})
    assert ask(kubeconfig, [busy, busy, (201, {"made": True})]) == ({"made": True}, ["POST"] * 3)


def test_what_does_not_exist_is_none(kubeconfig: Path) -> None:
    assert ask(kubeconfig, [(404, {"message": "not found"})]) == (None, ["POST"])


def test_a_refusal_is_the_servers_own_words(kubeconfig: Path) -> None:
    with pytest.raises(api.ApiError, match=r"^denied: no such role$"):
        ask(kubeconfig, [(403, {"message": "denied: no such role"})])


def test_a_server_that_comes_up_beside_it_is_waited_for(kubeconfig: Path) -> None:
    starting = (500, {"message": "poststarthook/rbac/bootstrap-roles failed"})
    assert ask(kubeconfig, [starting, starting, (200, {})], api.Api.until_ready) == (None, ["GET"] * 3)


def test_a_server_of_another_token_is_not_waited_for(kubeconfig: Path) -> None:
    with pytest.raises(api.ApiError, match=r"^the API server does not know the token of the kubeconfig$"):
        ask(kubeconfig, [(401, {})], api.Api.until_ready)
