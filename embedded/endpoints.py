"""Where the data plane's graphs answer, as it tells every other process."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from embedded.dynamo import CannotRunError, DynamoError
from embedded.files import write_whole

SIMULATED = "engines (scripted text at a made-up pace; no weights, no GPU)"
USUAL_PORT = 8000
"""The first graph's, if it is free, so that commands copied from Dynamo's guides work as they are."""
_FILE = "endpoints.json"
_SECONDS_FOR_AN_ANSWER = 20.0
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Past any proxy of the environment: everything here is on 127.0.0.1."""


def read(state: Path) -> dict[str, Any]:
    """By `namespace/graph`: url, release, reason, models, roles, simulated, processes (pids by name), logs (folder).

    release: the Dynamo release that answers. reason: why none does, where url and release are empty.
    """
    path = state / _FILE
    entries: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return entries


def write(state: Path, entries: Mapping[str, Any]) -> None:
    """Replace them all; readers never see half of it."""
    write_whole(state / _FILE, json.dumps(entries, indent=1))


def wait_for(state: Path, namespace: str, graph: str, timeout: float) -> str:
    """The URL at which a graph answers, once it does. Raises DynamoError after `timeout` seconds.

    Raises CannotRunError at once if its release is not run here.
    """
    deadline = time.monotonic() + timeout
    key = f"{namespace}/{graph}"
    while True:
        entry = read(state).get(key)
        if entry and entry["reason"]:
            raise CannotRunError(f"graph {key} has no endpoint: {entry['reason']}")
        if entry and entry["models"] and all(_answers(entry["url"], model) for model in entry["models"]):
            return str(entry["url"])
        if time.monotonic() > deadline:
            where = f"its logs are in {entry['logs']}" if entry else "no running frontend pod of it was seen"
            raise DynamoError(f"graph {key} does not answer after {timeout:.0f} s: {where}")
        time.sleep(0.2)


def _answers(url: str, model: str) -> bool:
    """Whether the model is served: releases list it, and some call it ready, before it is."""
    body = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with _DIRECT.open(request, timeout=_SECONDS_FOR_AN_ANSWER) as answer:
            return bool(json.load(answer)["usage"]["completion_tokens"] > 0)
    except (OSError, KeyError, TypeError, ValueError):
        return False
