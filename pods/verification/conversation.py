"""Requests to a graph's frontend and to its workers."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .expectation import MOCKER, Expectation, line
from .results import Failure

QUESTION = ({"role": "user", "content": "Name the two phases of disaggregated LLM serving in one sentence."},)
_NOT_SERVED = {404, 500, 502, 503, 529}
"""What correct requests are answered with while no worker is behind them; up to 1.4 a dead one is 500."""
REQUEST_SECONDS = 120.0
"""That a busy graph has for one answer."""
_METRICS_SECONDS = 5.0


@dataclass(frozen=True)
class Answer:
    """Status and body of an HTTP answer."""

    status: int
    text: str

    @property
    def data(self) -> Any:
        """The body's JSON, or None if it is something else."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None


@dataclass(frozen=True)
class Worker:
    """A worker as the frontend knows it. component: Dynamo's name of it. host: where it listens, None if unsaid."""

    component: str
    host: str | None


@dataclass(frozen=True)
class Conversation:
    """Requests to one endpoint.

    worker_ports: where each worker's metrics can be read; none where workers cannot be reached. sampling: how answers
    are drawn.
    """

    url: str
    expected: Expectation
    timeout: float
    worker_ports: tuple[int, ...] = ()
    sampling: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 0})

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        """GET, or POST where there is a body. Raises Failure if there is no answer at all."""
        return _request(path if "://" in path else f"{self.url}{path}", body, self.timeout)

    def chat(self, messages: Iterable[Mapping[str, Any]], **more: Any) -> Any:
        """A chat completion's JSON. Raises Failure unless it is 200."""
        return self.served("/v1/chat/completions", self.chat_body(messages, **more)).data

    def chat_body(self, messages: Iterable[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
        """The body of a chat request, at low effort. A mocker would fill every token that it may."""
        mocked = self.expected.engine == MOCKER
        return {
            "model": self.expected.model,
            "messages": list(messages),
            "chat_template_args": {"reasoning_effort": "low"},
            "max_tokens": 64 if mocked else 2048,
            **self.sampling,
            **more,
        }

    def served(self, path: str, body: Mapping[str, Any]) -> Answer:
        """The answer to a correct request. Raises Failure unless it is 200."""
        answer = self.ask(path, body)
        if answer.status == 200:
            return answer
        cause = "not served" if answer.status in _NOT_SERVED else "unexpected"
        raise Failure(cause, f"HTTP {answer.status} from {path}: {said(answer)}")

    def metrics(self, url: str) -> str | None:
        """What a worker counts, in Prometheus' text format, None where it cannot be read."""
        try:
            answer = _request(url, None, _METRICS_SECONDS)
        except Failure:
            return None
        return answer.text if answer.status == 200 else None

    def workers(self) -> list[Worker]:
        """The workers that /health lists: as instances, or in the guides' shorter form as endpoints alone."""
        data = self.ask("/health").data or {}
        instances = data.get("instances") or [_instance(endpoint) for endpoint in data.get("endpoints", [])]
        return [_worker(one) for one in instances if one["endpoint"] == "generate"]


def _instance(endpoint: str) -> dict[str, Any]:
    """`dyn://dynamo.prefill.generate` as an instance."""
    _, component, name = endpoint.removeprefix("dyn://").rsplit(".", 2)
    return {"component": component, "endpoint": name}


def _worker(instance: Mapping[str, Any]) -> Worker:
    transport = instance.get("transport") or {}
    address = transport.get("tcp", "") if isinstance(transport, dict) else ""
    return Worker(instance["component"], address.partition("/")[0].rpartition(":")[0] or None)


def _request(url: str, body: Mapping[str, Any] | None, timeout: float) -> Answer:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    # A proxy of the environment must not come between us and a loopback or in-cluster address.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=timeout) as answer:
            return Answer(answer.status, answer.read().decode(errors="replace"))
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read().decode(errors="replace"))
    except TimeoutError:
        raise Failure("timeout", f"no answer from {url} within {timeout:.0f} s") from None
    except http.client.IncompleteRead:
        raise Failure("broken stream", f"the answer of {url} ended early") from None
    except OSError as error:
        if isinstance(getattr(error, "reason", None), TimeoutError):
            raise Failure("timeout", f"no answer from {url} within {timeout:.0f} s") from None
        raise Failure("unreachable", f"cannot talk to {url}: {getattr(error, 'reason', error)}") from None


def release_of(url: str, timeout: float) -> str | None:
    """The release that a frontend says it is of, None where it says none or does not answer."""
    try:
        data = _request(f"{url}/openapi.json", None, timeout).data
    except Failure:
        return None
    version = data.get("info", {}).get("version") if isinstance(data, dict) else None
    return version if isinstance(version, str) and line(version) else None


def said(answer: Answer) -> str:
    """An answer's message, shortened."""
    data = answer.data
    if isinstance(data, dict):
        data = data.get("message") or data.get("error") or data
    return str(data or answer.text)[:200]
