"""Requests to a graph of real Dynamo processes while these are killed one by one, and what their clients see."""

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from embedded.dynamo_graph import ENGINE, FRONTEND
from manifests.graph.rolling import MIGRATION_LIMIT
from tests.embedded.faults.remains import Remains, of_folder
from tests.embedded.gates import kept_running, ready_url
from tests.live import MODEL, graph, started, worker
from tests.waiting import PATIENCE, eventually

_CLIENTS = 6
_ANSWER = {
    "model": MODEL,
    "messages": [{"role": "user", "content": "Hello"}],
    "max_tokens": 60,
    "ignore_eos": True,
    "stream": True,
}
_PACE = ("--token-seconds", "0.03")
"""So that an answer takes two seconds, and a kill finds several under way."""
_SECONDS = float(PATIENCE)
WHOLE = "whole"
REFUSED = "connection refused"


@dataclass(frozen=True)
class Request:
    """One streamed chat. began, ended: by the monotonic clock. seen: what its client saw."""

    began: float
    ended: float
    seen: str


@dataclass
class Clients:
    """Some that ask one after another."""

    url: str
    done: list[Request] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def wait_since(self, moment: float, count: int) -> None:
        """Return once so many requests that began after it have their whole answer."""
        eventually(
            lambda: sum(each.began > moment and each.seen == WHOLE for each in self.done) >= count, _SECONDS
        )

    @contextmanager
    def asking(self) -> Iterator[None]:
        """For as long as the block runs."""
        threads = [threading.Thread(target=self._ask) for _ in range(_CLIENTS)]
        for each in threads:
            each.start()
        try:
            yield
        finally:
            self._over.set()
            for each in threads:
                each.join()

    def _ask(self) -> None:
        while not self._over.is_set():
            began = time.monotonic()
            seen = _seen(self.url)
            self.done.append(Request(began, time.monotonic(), seen))
            if seen != WHOLE:
                self._over.wait(0.2)


def _seen(url: str) -> str:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=_SECONDS)
    try:
        connection.request(
            "POST", "/v1/chat/completions", json.dumps(_ANSWER), {"Content-Type": "application/json"}
        )
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
    except ConnectionRefusedError:
        return REFUSED
    except http.client.RemoteDisconnected:
        return "connection ended before an answer"
    except http.client.IncompleteRead:
        return "HTTP 200, and the stream broke off"
    except OSError as error:
        return f"connection: {error.strerror or error}"
    finally:
        connection.close()
    if answer.status != http.client.OK:
        return f"HTTP {answer.status}"
    return _stream(text)


def _stream(text: str) -> str:
    events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    if any('"error"' in each for each in events) or "event: error" in text:
        return "HTTP 200 with an error in the stream"
    ended = any(choice.get("finish_reason") for each in events[:-1] for choice in json.loads(each)["choices"])
    return WHOLE if ended and events[-1] == "[DONE]" else "HTTP 200, and the stream ended early"


def traffic(folder: Path, draw: random.Random) -> tuple[int, Remains, Counter[str]]:
    """Kills the frontend, two prefill and two decode workers, in drawn order, each once all answer again.

    Returns how many were killed, what is lost or left, and what clients saw, by the killed one's role.
    """
    roles = [("prefill", 0), ("prefill", 1), ("decode", 0), ("decode", 1)]
    plain = graph("faults", *(worker(role, index) for role, index in roles))
    served = replace(plain, frontend=(*plain.frontend, "--migration-limit", str(MIGRATION_LIMIT)))
    plane = started(folder / "plane", (*ENGINE, *_PACE))
    wrong, saw = Remains(), Counter[str]()
    names = [FRONTEND, *(each.pod for each in served.workers)]
    draw.shuffle(names)
    try:
        with kept_running(plane, served):
            clients = Clients(ready_url(plane, served))
            with clients.asking():
                for name in names:
                    began = time.monotonic()
                    clients.wait_since(began, 2 * _CLIENTS)
                    time.sleep(draw.random())
                    killed = time.monotonic()
                    plane.kill(served, name)
                    clients.wait_since(killed, _CLIENTS)
                    ready_url(plane, served)
                    wrong.lost += _lost(name, killed, clients, saw)
    finally:
        plane.supervisor.close()
    wrong.orphaned += [f"process {each.pid}" for each in of_folder(plane.state)]
    return len(names), wrong, saw


def _lost(name: str, killed: float, clients: Clients, saw: Counter[str]) -> list[str]:
    """Counts what those saw whom the kill may have hit; what is lost of them that it should not have hit."""
    role = name.partition("-")[0]
    during = [each for each in clients.done if each.began < killed < each.ended]
    later = [each for each in clients.done if each.began > killed and each.seen != WHOLE]
    saw.update(f"{role} killed, request under way: {each.seen}" for each in during)
    saw.update(f"{role} killed, request after it: {each.seen}" for each in later)
    back = min(each.began for each in clients.done if each.began > killed and each.seen == WHOLE)
    saw[f"{role} killed: seconds until the next whole answer began, at most"] = max(
        saw[f"{role} killed: seconds until the next whole answer began, at most"], round(back - killed + 0.5)
    )
    survived = any(each.seen == WHOLE for each in during)
    return (
        []
        if survived or name == FRONTEND or not during
        else [f"every request under way, by the kill of {name}"]
    )
