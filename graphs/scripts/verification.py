"""Whether a Dynamo graph really serves GPT-OSS: a conversation with it, check by check.

Running pods prove little: the frontend calls itself healthy without a worker, a dead worker stays listed for some
seconds, and a broken KV transfer can give HTTP 200 with nothing in it. So every claim is tried.

One file on the standard library alone: it is also mounted into an unprivileged Job of the cluster and run there:
`python verification.py --url URL --model ID --roles prefill,decode --disaggregated --json`.
"""

import argparse
import http.client
import json
import re
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

OK, FAILED, SKIPPED, NOT_TRIED = "ok", "failed", "skipped", "not tried"


@dataclass(frozen=True)
class Expectation:
    """What the graph should be. roles: its workers' component types, `prefill`, `decode` or `worker`."""

    model: str
    roles: tuple[str, ...]
    disaggregated: bool


@dataclass(frozen=True)
class Result:
    """Outcome of a check: ok, failed, skipped or not tried. meaning and next_step: only of what failed."""

    name: str
    outcome: str
    seconds: float
    detail: str
    meaning: str = ""
    next_step: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; a skipped check found nothing to look at."""
        return self.outcome in {OK, SKIPPED}

    def lines(self) -> list[str]:
        """The result for a terminal or a log."""
        head = f"{self.outcome:<11}{self.name:<15}{self.seconds:6.2f} s  {self.detail}"
        if self.outcome != FAILED:
            return [head]
        return [head, f"           It means: {self.meaning}", f"           Do next:  {self.next_step}"]


class Failure(Exception):
    """A check failed; `cause` is a key of ADVICE."""

    def __init__(self, cause: str, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause


class Skipped(Exception):
    """There is nothing that the check could look at; the message says what is missing."""


ADVICE: Mapping[str, tuple[str, str]] = {
    "unreachable": (
        "no frontend listens there: it has not started, was killed, or the port-forward ended.",
        "look at the frontend's pod (`kubectl get pods`, `kubectl logs`); it should be Running and restart by itself. "
        "Then verify again.",
    ),
    "role missing": (
        "the frontend answers, and calls itself healthy, but a worker that the graph needs has not registered: "
        "it may still load its weights, or it has died.",
        "follow the missing worker's log (`kubectl logs -l nvidia.com/dynamo-component-type=...`) until it registers; "
        "a pod that is Pending or restarting says why in `kubectl describe`.",
    ),
    "no model": (
        "the frontend knows no model: no worker has registered one, or those that had are gone.",
        "look at the workers' logs; weights that are missing or of another revision than the frontend's end here too.",
    ),
    "other model": (
        "the workers serve the model under another name than the one that was expected.",
        "give every worker the same --served-model-name, and clients that very name.",
    ),
    "not ready": (
        "the model is listed, but a kind of worker that it needs is absent.",
        "wait for that worker, or look at its log if it has restarted.",
    ),
    "not served": (
        "a worker is listed but does not answer: it was killed and its registration has not expired (10 to 15 s), "
        "or the prefill and decode workers cannot reach each other.",
        "verify again in 15 s; if it stays, restart the workers that do not answer and look at their logs.",
    ),
    "timeout": (
        "the request was taken and never answered: typically decode waits for KV blocks that never arrive.",
        "check NIXL/UCX between the workers: EFA devices on both, one side-channel port a worker, same availability "
        "zone; restart both workers together.",
    ),
    "empty": (
        "HTTP 200 with nothing in it: the engine gave up silently. Known of SGLang disaggregated over EFA, and of a "
        "worker that has only a part of its node's EFA devices.",
        "do not trust this endpoint. Use the target that this engine supports on this network, request whole groups "
        "of EFA devices, and look for a stalled KV transfer in the decode worker's log.",
    ),
    "broken stream": (
        "the streamed answer ended early: the worker died in the middle of it, or a proxy cut it.",
        "look at the decode worker's log; let proxies in between pass server-sent events unbuffered.",
    ),
    "no reasoning": (
        "the model's reasoning is not told apart: a worker runs without its reasoning parser, or the frontend could "
        "not load harmony's vocabulary.",
        "start every worker, prefill too, with --dyn-reasoning-parser gpt_oss, and give the frontend "
        "o200k_base.tiktoken through TIKTOKEN_ENCODINGS_BASE.",
    ),
    "no tool call": (
        "the model's tool call was not recognised: a worker runs without its tool-call parser, or the frontend could "
        "not load harmony's vocabulary (its log says `harmony_encoding_unavailable`).",
        "start every worker, prefill too, with --dyn-tool-call-parser harmony, and give the frontend "
        "o200k_base.tiktoken through TIKTOKEN_ENCODINGS_BASE.",
    ),
    "tool result lost": (
        "the model called the tool but did not answer from its result.",
        "send the assistant's message with its tool_calls and then the tool's message with the same tool_call_id; "
        "look at the frontend's log for the prompt's rendering.",
    ),
    "not disaggregated": (
        "one worker did both prefill and decode, though the graph has a worker for each.",
        "check that the prefill worker runs with its prefill mode and that the frontend's router sees it "
        "(`/v1/models/<id>/ready`).",
    ),
    "no transfer": (
        "requests went through both workers, yet NIXL has counted no bytes: the KV cache travels another way, or is "
        "computed twice. Over EFA this is the slow fallback to TCP.",
        "check the transfer backend (LIBFABRIC on EFA), the -efa image, the EFA request and IPC_LOCK.",
    ),
    "accepts anything": (
        "a model name that does not exist was not refused with 404: something else than Dynamo's frontend answers.",
        "check what the URL leads to; a proxy may rewrite names.",
    ),
    "unexpected": (
        "the frontend refused or failed a correct request.",
        "look at the frontend's log at this moment; its message stands above.",
    ),
}
"""What each failure means and what to do, from Dynamo's guides and from what its users ran into."""


def verify(
    url: str,
    expected: Expectation,
    *,
    wait: float = 0.0,
    request_timeout: float = 120.0,
    metrics_urls: Sequence[str] = (),
) -> Iterator[Result]:
    """Yields the result of each check in order, as it comes.

    wait: seconds that a starting graph has before a failed readiness check counts. metrics_urls: where the
    workers' NIXL telemetry can be read, beside the frontend's /metrics. Once the graph is not ready, or its first
    completion failed, the rest is not tried.
    """
    talk = Conversation(url.rstrip("/"), expected, request_timeout, tuple(metrics_urls))
    deadline = time.monotonic() + wait
    failed: str | None = None
    for check in CHECKS:
        if check.disaggregated and not expected.disaggregated:
            continue
        if failed:
            yield Result(check.name, NOT_TRIED, 0.0, f"since `{failed}` failed")
            continue
        result = check.result(talk)
        while check.gate and not result.ok and time.monotonic() < deadline:
            time.sleep(1.0)
            result = check.result(talk)
        yield result
        if check.gate and not result.ok:
            failed = check.name


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
class Conversation:
    """Requests to one endpoint."""

    url: str
    expected: Expectation
    timeout: float
    metrics_urls: tuple[str, ...] = ()

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        """GET, or POST where there is a body. Raises Failure if there is no answer at all."""
        return _request(path if "://" in path else f"{self.url}{path}", body, self.timeout)

    def chat(self, messages: Iterable[Mapping[str, Any]], effort: str = "low", **more: Any) -> Any:
        """A chat completion's JSON. Raises Failure unless it is 200."""
        body = {
            "model": self.expected.model,
            "messages": list(messages),
            "chat_template_args": {"reasoning_effort": effort},
            "max_tokens": 2048,
            **more,
        }
        return self.served("/v1/chat/completions", body).data

    def served(self, path: str, body: Mapping[str, Any]) -> Answer:
        """The answer to a correct request. Raises Failure unless it is 200."""
        answer = self.ask(path, body)
        if answer.status == 200:
            return answer
        cause = "not served" if answer.status in {404, 502, 503, 529} else "unexpected"
        raise Failure(cause, f"HTTP {answer.status} from {path}: {_message(answer)}")


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


def _message(answer: Answer) -> str:
    data = answer.data
    if isinstance(data, dict):
        data = data.get("message") or data.get("error") or data
    return str(data or answer.text)[:200]


@dataclass(frozen=True)
class Check:
    """One check. try_it returns what it saw, or raises Failure or Skipped. gate: without it the rest makes no sense."""

    name: str
    try_it: Callable[[Conversation], str]
    gate: bool = field(default=False, kw_only=True)
    disaggregated: bool = field(default=False, kw_only=True)

    def result(self, talk: Conversation) -> Result:
        """Tries it once."""
        began = time.monotonic()
        try:
            outcome, detail, advice = OK, self.try_it(talk), ("", "")
        except Skipped as reason:
            outcome, detail, advice = SKIPPED, str(reason), ("", "")
        except Failure as failure:
            outcome, detail, advice = FAILED, str(failure), ADVICE[failure.cause]
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            detail = f"the answer has another shape than OpenAI's API: {error!r}"
            outcome, advice = FAILED, ADVICE["unexpected"]
        return Result(self.name, outcome, round(time.monotonic() - began, 3), detail, *advice)


def _live(talk: Conversation) -> str:
    answer = talk.ask("/live")
    if answer.status != 200:
        raise Failure("unreachable", f"HTTP {answer.status} from /live: {_message(answer)}")
    return "the frontend is alive"


def _roles(talk: Conversation) -> str:
    answer = talk.ask("/health")
    instances = (answer.data or {}).get("instances", [])
    components = [one["component"] for one in instances if one.get("endpoint") == "generate"]
    prefill = sum("prefill" in component for component in components)
    # Engines call the component of their other workers by different names (backend, tensorrt_llm, ...).
    counts = {
        role: prefill if role == "prefill" else len(components) - prefill for role in talk.expected.roles
    }
    if absent := [role for role, count in counts.items() if not count]:
        raise Failure("role missing", f"/health lists no {' and no '.join(absent)} worker")
    return ", ".join(f"{count} {role}" for role, count in counts.items())


def _models(talk: Conversation) -> str:
    listed = [model["id"] for model in (talk.ask("/v1/models").data or {}).get("data", [])]
    if talk.expected.model in listed:
        return f"{talk.expected.model} is listed"
    if listed:
        raise Failure("other model", f"{talk.expected.model} is not served; {', '.join(listed)} is")
    raise Failure("no model", "/v1/models is empty")


def _ready(talk: Conversation) -> str:
    answer = talk.ask(f"/v1/models/{talk.expected.model}/ready")
    data = answer.data or {}
    if answer.status == 404 and "Model not found" not in answer.text:
        raise Skipped("this Dynamo release has no readiness route; the next check is a real completion")
    if not data.get("ready"):
        missing = {
            kind for one in data.get("namespaces", {}).values() for kind in one["missing_worker_types"]
        }
        raise Failure("not ready", f"not ready: {', '.join(sorted(missing)) or _message(answer)}")
    return "every kind of worker that the model needs is there"


_QUESTION = (
    {"role": "user", "content": "Name the two phases of disaggregated LLM serving in one sentence."},
)


def _chat(talk: Conversation) -> str:
    data = talk.chat(_QUESTION)
    content = data["choices"][0]["message"].get("content") or ""
    tokens = (data.get("usage") or {}).get("completion_tokens", 0)
    return _spoken(content, tokens)


def _stream(talk: Conversation) -> str:
    more = {"stream": True, "stream_options": {"include_usage": True}, "max_tokens": 2048}
    body = {"model": talk.expected.model, "messages": _QUESTION, **more}
    text = talk.served("/v1/chat/completions", body).text
    events = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
    if not events or events[-1] != "[DONE]":
        raise Failure("broken stream", f"the stream ended without [DONE] after {len(events)} events")
    chunks = [json.loads(event) for event in events[:-1]]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk.get("choices", [])]
    content = "".join(delta.get("content") or "" for delta in deltas)
    tokens = max(((chunk.get("usage") or {}).get("completion_tokens", 0) for chunk in chunks), default=0)
    return f"{_spoken(content, tokens)} in {len(chunks)} chunks"


def _spoken(content: str, tokens: int) -> str:
    if not content.strip() or not tokens:
        raise Failure("empty", f"HTTP 200, but {len(content)} characters and {tokens} completion tokens")
    return f"{tokens} tokens: {_short(content)}"


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return f"{plain[:60]}…" if len(plain) > 60 else plain


def _responses(talk: Conversation) -> str:
    question = _QUESTION[0]["content"]
    body = {"model": talk.expected.model, "input": question, "max_output_tokens": 2048}
    data = talk.served("/v1/responses", body).data
    parts = [part for item in data["output"] for part in item.get("content") or []]
    text = "".join(part.get("text", "") for part in parts if part.get("type") == "output_text")
    return _spoken(text, (data.get("usage") or {}).get("output_tokens", 0))


def _reasoning(talk: Conversation) -> str:
    question = {
        "role": "user",
        "content": "How many prime numbers lie between 20 and 40? Answer with the number.",
    }
    lengths = {}
    for effort, more in (("low", {}), ("medium", {}), ("high", {"top_p": 1})):
        message = talk.chat([question], effort, max_tokens=4096, **more)["choices"][0]["message"]
        content = message.get("content") or ""
        thought = message.get("reasoning_content") or message.get("reasoning") or ""
        # At low effort the model may answer without reasoning.
        if "<|channel|>" in content or not (thought or effort == "low"):
            raise Failure("no reasoning", f"effort {effort}: no reasoning_content beside {_short(content)!r}")
        lengths[effort] = len(thought)
    return ", ".join(f"{effort} {length} characters" for effort, length in lengths.items())


_TOOL = {
    "type": "function",
    "function": {
        "name": "get_system_health",
        "description": "Returns the current health status of the LLM runtime: use it before critical operations.",
        "parameters": {"type": "object", "properties": {}},
    },
}


def _tools(talk: Conversation) -> str:
    question = {"role": "user", "content": "Hey, quick check: is everything up and running?"}
    choice = talk.chat([question], tools=[_TOOL])["choices"][0]
    calls = choice["message"].get("tool_calls") or []
    if choice["finish_reason"] != "tool_calls" or not calls:
        content = _short(choice["message"].get("content") or "")
        raise Failure("no tool call", f"finish_reason {choice['finish_reason']}, content {content!r}")
    name, arguments = calls[0]["function"]["name"], calls[0]["function"]["arguments"]
    if name != "get_system_health" or not isinstance(_parsed(arguments), dict):
        raise Failure("no tool call", f"it called {name} with {arguments!r}")
    result = {
        "role": "tool",
        "tool_call_id": calls[0]["id"],
        "content": '{"status":"ok","uptime_seconds":372045}',
    }
    asked = {"role": "assistant", "tool_calls": calls[:1]}
    choice = talk.chat([question, asked, result], tools=[_TOOL])["choices"][0]
    content = choice["message"].get("content") or ""
    if choice["finish_reason"] != "stop" or not content.strip():
        raise Failure("tool result lost", f"finish_reason {choice['finish_reason']}, content {content!r}")
    return f"get_system_health was called, then: {_short(content)}"


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _disaggregated(talk: Conversation) -> str:
    data = talk.chat(_QUESTION, nvext={"extra_fields": ["worker_id"]})
    ids = (data.get("nvext") or {}).get("worker_id") or {}
    prefill, decode = ids.get("prefill_worker_id"), ids.get("decode_worker_id")
    if not prefill or not decode or prefill == decode:
        raise Failure("not disaggregated", f"prefill by worker {prefill}, decode by worker {decode}")
    return f"prefill by worker {prefill}, decode by worker {decode}"


_KV_BYTES = re.compile(
    r"^[\w:]*(?:nixl_\w*bytes\w*|agent_[tr]x_bytes\w*)(?<!_bucket)(?:\{.*\})? (\S+)", re.MULTILINE
)


def _transfer(talk: Conversation) -> str:
    texts = [talk.ask(url).text for url in ("/metrics", *talk.metrics_urls)]
    values = [float(value) for text in texts for value in _KV_BYTES.findall(text)]
    if not values:
        raise Skipped("no KV transfer metric here (NIXL telemetry is off, or the engines are simulated)")
    if not sum(values):
        raise Failure("no transfer", "NIXL's byte counters are all 0")
    return f"{sum(values):.0f} bytes by NIXL's counters"


def _unknown(talk: Conversation) -> str:
    model = f"{talk.expected.model}-does-not-exist"
    answer = talk.ask("/v1/chat/completions", {"model": model, "messages": _QUESTION, "max_tokens": 1})
    if answer.status != 404:
        raise Failure("accepts anything", f"HTTP {answer.status} for model {model}")
    return "404"


CHECKS = (
    Check("live", _live, gate=True),
    Check("roles", _roles, gate=True),
    Check("models", _models, gate=True),
    Check("ready", _ready, gate=True),
    Check("chat", _chat, gate=True),
    Check("stream", _stream),
    Check("responses", _responses),
    Check("reasoning", _reasoning),
    Check("tools", _tools),
    Check("disaggregated", _disaggregated, disaggregated=True),
    Check("kv transfer", _transfer, disaggregated=True),
    Check("unknown model", _unknown),
)


def summary(url: str, results: Iterable[Result]) -> dict[str, Any]:
    """All results as one JSON object."""
    checks = list(results)
    return {
        "url": url,
        "ok": all(check.ok for check in checks),
        "checks": [{**asdict(check), "ok": check.ok} for check in checks],
    }


def main() -> None:
    """The command line of the Job in the cluster: exit code 0 only if the model answers."""
    parser = argparse.ArgumentParser(description="Verify that a Dynamo graph serves its model.")
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--roles", required=True, help="of the workers: prefill,decode or worker")
    parser.add_argument("--disaggregated", action="store_true")
    parser.add_argument("--wait", type=float, default=0.0, help="seconds that a starting graph has")
    parser.add_argument("--request-timeout", type=float, default=120.0, help="seconds for one answer")
    parser.add_argument("--metrics-url", action="append", default=[], help="a worker's NIXL telemetry")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    given = parser.parse_args()
    expected = Expectation(given.model, tuple(given.roles.split(",")), given.disaggregated)
    results = []
    for result in verify(
        given.url,
        expected,
        wait=given.wait,
        request_timeout=given.request_timeout,
        metrics_urls=given.metrics_url,
    ):
        results.append(result)
        if not given.json:
            print("\n".join(result.lines()), flush=True)
    if given.json:
        print(json.dumps(summary(given.url, results), indent=1))
    sys.exit(0 if all(result.ok for result in results) else 1)


if __name__ == "__main__":
    main()
