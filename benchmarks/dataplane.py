"""The embedded cluster's data plane beside Dynamo's own simulated engine, behind the same frontend.

Neither engine takes time for its tokens, so the figures are what frontend, router and worker add to a request.
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.figures import Figure
from embedded import dynamo, endpoints
from embedded.dynamo import CannotRunError, DynamoError
from embedded.dynamo_graph import ENGINE, Graph, Worker
from embedded.processes import Report
from embedded.supervisor import Supervisor
from facts.releases import DEFAULT

MODEL = "openai/gpt-oss-120b"
TOKENS = 64
"""In each answer, one chunk of the stream each."""
REQUESTS = 128
AT_ONCE = 8
SECONDS_TO_START = 120.0
_BESIDE = "Dynamo's mocker"
_ENGINES = {
    "own": (*ENGINE, "--token-seconds", "0", "--prompt-token-seconds", "0"),
    _BESIDE: ("benchmarks.mocker",),
}


def figures(rounds: int) -> Iterator[Figure]:
    """Seconds of a request alone, and of requests side by side; the least of the rounds, the engines in turn."""
    say = partial(print, file=sys.stderr, flush=True)
    try:
        dynamo.install(DEFAULT, say)
    except DynamoError as error:
        yield Figure(name="the data plane", skipped=f"skipped: {str(error).splitlines()[0]}")
        return
    alone: dict[str, list[float]] = {name: [] for name in _ENGINES}
    together: dict[str, list[float]] = {name: [] for name in _ENGINES}
    with _served("own", say) as own, _served(_BESIDE, say) as mocker:
        for counted in range(rounds + 1):
            for name, url in (("own", own), (_BESIDE, mocker)):
                one, many = _seconds(url, AT_ONCE, at_once=1), _seconds(url, REQUESTS, at_once=AT_ONCE)
                if counted:
                    alone[name].append(one / AT_ONCE)
                    together[name].append(many / REQUESTS)
    yield _figure(f"a request of {TOKENS} tokens, alone", alone)
    yield _figure(f"each of {REQUESTS} requests, {AT_ONCE} at once", together)


def _figure(name: str, seconds: dict[str, list[float]]) -> Figure:
    own, mocker = min(seconds["own"]), min(seconds[_BESIDE])
    return Figure(name=name, value=1000 * own, unit="ms", ratio=own / mocker, beside=_BESIDE)


@contextmanager
def _served(engine: str, say: Report) -> Iterator[str]:
    """The address of an aggregated graph with this engine."""
    worker = Worker(pod="worker", uid="worker", role="agg", model=MODEL, parsers=())
    graph = Graph("dynamo", "benchmark", "graph", DEFAULT, ("--router-mode", "round-robin"), (worker,))
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        state = Path(folder)
        supervisor = Supervisor(state, lambda release: dynamo.install(release, say), _ENGINES[engine])
        try:
            yield _wait(supervisor, graph, state)
        finally:
            supervisor.close()


def _wait(supervisor: Supervisor, graph: Graph, state: Path) -> str:
    deadline = time.monotonic() + SECONDS_TO_START
    while True:
        supervisor.step([graph])
        try:
            return endpoints.wait_for(state, graph.namespace, graph.name, timeout=0)
        except CannotRunError:
            raise
        except DynamoError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.1)


def _seconds(url: str, requests: int, *, at_once: int) -> float:
    began = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        answers: Sequence[int] = list(pool.map(_ask, [url] * requests))
    spent = time.monotonic() - began
    if wrong := [tokens for tokens in answers if tokens != TOKENS]:
        raise DynamoError(f"{url}: {len(wrong)} of {requests} answers had not {TOKENS} tokens but {wrong}")
    return spent


def _ask(url: str) -> int:
    """The tokens of a streamed answer, as its last chunk counts them. Raises DynamoError for one that is refused."""
    body = {
        "model": MODEL,
        "prompt": "How fast is this?",
        "max_tokens": TOKENS,
        "min_tokens": TOKENS,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    connection = HTTPConnection(urlsplit(url).netloc, timeout=SECONDS_TO_START)
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    if response.status != HTTPStatus.OK:
        raise DynamoError(f"{url}: HTTP {response.status}: {text[:200]}")
    usage = [event for event in text.split("\n\n") if '"usage":{' in event]
    return int(json.loads(usage[-1].removeprefix("data: "))["usage"]["completion_tokens"]) if usage else 0
