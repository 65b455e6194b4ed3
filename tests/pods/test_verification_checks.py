"""Verification's checks against answers that are made up: what real frontends say seldom or never."""

import json
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from pods.verification.advice import ADVICE
from pods.verification.checks import CHECKS
from pods.verification.conversation import Conversation, release_of
from pods.verification.expectation import Expectation, untold
from pods.verification.results import FAILED, OK, SKIPPED, WARNING, Failure, Result, summary
from tests.project import PROJECT

MODEL = "openai/gpt-oss-120b"
BOTH = Expectation(
    MODEL, ("prefill", "decode"), disaggregated=True, version="1.6.1", router_mode="round-robin"
)


def advice(result: Result) -> str:
    (cause,) = (key for key, said in ADVICE.items() if said == (result.meaning, result.next_step))
    return cause


Answer = tuple[int, str]


class Canned(BaseHTTPRequestHandler):
    """A frontend of another make. answers: by path, the last of several again and again. asked: bodies of POSTs."""

    answers: ClassVar[dict[str, list[Answer]]] = {}
    asked: ClassVar[list[dict[str, Any]]] = []

    def do_GET(self) -> None:
        answers = self.answers.get(self.path, [(404, '{"message":"Route not found"}')])
        status, body = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Keeps the tests' output clean."""


@pytest.fixture
def canned(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Canned, "answers", {})
    monkeypatch.setattr(Canned, "asked", [])
    monkeypatch.setattr("pods.verification.checks._PAUSE_SECONDS", 0.0)
    monkeypatch.setattr("pods.verification.transfer._SECONDS_TO_COUNT", 0.0)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Canned)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def tried(name: str, url: str, expected: Expectation = BOTH, ports: tuple[int, ...] = ()) -> Result:
    (check,) = (check for check in CHECKS if check.name == name)
    return check.result(Conversation(url, expected, timeout=5.0, worker_ports=ports))


def test_the_release_is_waited_for_as_long_as_other_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def request(url: str, _: object, timeout: float) -> None:
        given.append(timeout)
        raise Failure("timeout", url)

    monkeypatch.setattr("pods.verification.conversation._request", request)
    (check,) = (check for check in CHECKS if check.name == "release")
    check.result(Conversation("http://127.0.0.1", BOTH, timeout=7.0))
    assert given == [7.0]


CHAT = "/v1/chat/completions"
NEVER_ANSWERED = 'event: error\ndata: {"error":{"message":"no worker","code":503}}\n\ndata: [DONE]\n\n'


def streamed(content: str) -> str:
    chunk = {"choices": [{"delta": {"content": content}}], "usage": {"completion_tokens": 3}}
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"


def chatted(finish_reason: str, **message: Any) -> str:
    return json.dumps({"choices": [{"message": message, "finish_reason": finish_reason}]})


@pytest.mark.parametrize(
    ("name", "path", "answer", "cause", "detail"),
    [
        ("live", "/live", (500, '{"message":"no"}'), "unreachable", "HTTP 500 from /live: no"),
        ("models", "/v1/models", (200, '{"data":[]}'), "no model", "/v1/models is empty"),
        (
            "ready",
            f"/v1/models/{MODEL}/ready",
            (503, '{"ready":false,"namespaces":{"n":{"missing_worker_types":["prefill"]}}}'),
            "not ready",
            "not ready: prefill",
        ),
        ("chat", CHAT, (400, '{"error":"bad"}'), "unexpected", f"HTTP 400 from {CHAT}: bad"),
        # What frontends up to 1.4 say of a dead worker.
        ("chat", CHAT, (500, '{"message":"CannotConnect"}'), "not served", f"HTTP 500 from {CHAT}: Cannot"),
        ("chat", CHAT, (529, "busy"), "not served", f"HTTP 529 from {CHAT}: busy"),
        ("chat", CHAT, (200, "<html>"), "unexpected", "the answer has another shape than OpenAI's API"),
        (
            "stream",
            CHAT,
            (200, "data: {}\n\n"),
            "broken stream",
            "the stream ended without [DONE] after 1 events",
        ),
        ("stream", CHAT, (200, streamed("")), "empty", "HTTP 200, but 0 characters and 3 completion tokens"),
        ("stream", CHAT, (200, NEVER_ANSWERED), "not served", "HTTP 200, then in the stream: {"),
        (
            "unknown model",
            CHAT,
            (200, "{}"),
            "accepts anything",
            f"HTTP 200 for model {MODEL}-does-not-exist",
        ),
    ],
)
def test_answers_that_are_refused(
    canned: str, name: str, path: str, answer: Answer, cause: str, detail: str
) -> None:
    Canned.answers[path] = [answer]
    result = tried(name, canned)
    assert result.outcome == FAILED
    assert advice(result) == cause
    assert result.detail.startswith(detail)


def test_request_that_is_never_answered() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Canned) as silent:  # listens, and never serves
        talk = Conversation(f"http://127.0.0.1:{silent.server_port}", BOTH, timeout=0.2)
        result = CHECKS[0].result(talk)
    assert advice(result) == "timeout"


def test_a_stream_that_no_worker_took_is_tried_again(canned: str) -> None:
    """The frontend has said HTTP 200 by then, so the failure stands in the stream."""
    Canned.answers[CHAT] = [(200, NEVER_ANSWERED), (200, streamed("Prefill and decode."))]
    result = tried("stream", canned)
    assert (result.outcome, result.attempts) == (OK, 2)
    assert result.lines()[0].endswith("Prefill and decode. in 1 chunks (2 attempts)")


def test_silence_is_no_bad_luck(canned: str) -> None:
    Canned.answers[CHAT] = [(200, streamed("")), (200, streamed("Prefill and decode."))]
    assert (tried("stream", canned).outcome, len(Canned.asked)) == (FAILED, 1)


CALLED = chatted(
    "tool_calls", tool_calls=[{"id": "1", "function": {"name": "get_system_health", "arguments": "{}"}}]
)


def test_an_unlucky_draw_is_drawn_again(canned: str) -> None:
    fine = chatted("stop", content="All is well.")
    Canned.answers[CHAT] = [(200, chatted("stop", content="I do not know.")), (200, CALLED), (200, fine)]
    result = tried("tools", canned)
    assert (result.outcome, result.attempts) == (OK, 2)
    drawn = [{key: body.get(key) for key in ("temperature", "seed")} for body in Canned.asked]
    assert drawn == [{"temperature": 0, "seed": None}, *[{"temperature": None, "seed": 1}] * 2]


def test_three_draws_are_enough(canned: str) -> None:
    Canned.answers[CHAT] = [(200, chatted("stop", content="I do not know."))]
    result = tried("tools", canned)
    assert (result.outcome, result.attempts, advice(result)) == (FAILED, 3, "no tool call")


def body_of(script: str) -> dict[str, Any]:
    """The JSON body in a curl command of Dynamo's guides."""
    text = (PROJECT / "tests/embedded/guide" / script).read_text()
    body: dict[str, Any] = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return body


def test_the_guides_own_requests_are_sent(canned: str) -> None:
    answer = {
        "output": [{"content": [{"type": "output_text", "text": "It."}]}],
        "usage": {"output_tokens": 2},
    }
    Canned.answers["/v1/responses"] = [(200, json.dumps(answer))]
    Canned.answers[CHAT] = [(200, CALLED), (200, chatted("stop", content="All is well."))]
    assert tried("responses", canned).outcome == tried("tools", canned).outcome == OK
    responses, first, second = Canned.asked
    assert responses == body_of("trtllm_responses.sh")
    assert first == body_of("trtllm_tools_first.sh") | {"temperature": 0}
    guides = body_of("trtllm_tools_second.sh") | {"temperature": 0}
    asked, _, result = guides.pop("messages")
    assert (second["messages"][0], second["messages"][2]["content"]) == (asked, result["content"])
    assert {key: value for key, value in second.items() if key != "messages"} == guides


def test_reasoning_that_takes_all_tokens_gets_more(canned: str) -> None:
    thought = {"output": [{"type": "reasoning"}], "usage": {"output_tokens": 200}}
    said = {
        "output": [{"content": [{"type": "output_text", "text": "It."}]}],
        "usage": {"output_tokens": 400},
    }
    Canned.answers["/v1/responses"] = [(200, json.dumps(thought)), (200, json.dumps(said))]
    assert tried("responses", canned).outcome == OK
    assert [body["max_output_tokens"] for body in Canned.asked] == [200, 2048]


def test_responses_of_a_release_that_counts_no_tokens(canned: str) -> None:
    answer = {"output": [{"content": [{"type": "output_text", "text": "It."}]}]}
    Canned.answers["/v1/responses"] = [(200, json.dumps(answer))]
    assert tried("responses", canned, of("0.4.1")).outcome == OK
    assert advice(tried("responses", canned)) == "empty"
    Canned.answers["/v1/responses"] = [(200, '{"output":[]}')]
    assert advice(tried("responses", canned, of("0.4.1"))) == "empty"


def of(version: str, router_mode: str = "round-robin", **more: Any) -> Expectation:
    return replace(BOTH, version=version, router_mode=router_mode, **more)


@pytest.mark.parametrize(
    ("name", "told", "not_told"),
    [
        ("ready", [of("1.3.1"), of("1.6.1")], [of("0.4.1"), of("1.0.2"), of("1.2.1", "kv")]),
        ("harmony", [of("1.0.2"), of("1.6.1")], [of("0.4.1")]),
        (
            "worker ids",
            [of("1.0.2", "kv"), of("1.3.1"), of("1.3.1", "random")],
            [of("1.2.1"), of("1.2.1", "random")],
        ),
        ("worker metrics", [of("1.0.2")], [of("0.4.1")]),
        ("response usage", [of("1.0.2")], [of("0.4.1")]),
    ],
)
def test_what_releases_tell(name: str, told: list[Expectation], not_told: list[Expectation]) -> None:
    assert [untold(name, expected) for expected in told] == [None] * len(told)
    assert all(f"Dynamo {expected.version}" in str(untold(name, expected)) for expected in not_told)


def test_what_a_release_cannot_tell_is_skipped_by_its_name(canned: str) -> None:
    for name in ("ready", "reasoning", "tools", "disaggregated"):
        result = tried(name, canned, of("0.4.1"))
        assert (result.outcome, result.detail[:13]) == (SKIPPED, "Dynamo 0.4.1 ")
    assert not Canned.asked
    assert tried("ready", canned, of("1.2.1")).detail == (
        "Dynamo 1.2.1 has no readiness route; 1.3 is the first that can tell; the next check is a real completion"
    )


def test_what_a_release_can_tell_is_demanded(canned: str) -> None:
    """A readiness route that is not there is no excuse on a release that has it."""
    assert tried("ready", canned, of("1.3.1")).outcome == FAILED


def test_a_mocker_is_not_asked_to_reason(canned: str) -> None:
    mocker = of("1.6.1", engine="mocker")
    assert {tried(name, canned, mocker).outcome for name in ("reasoning", "tools", "kv transfer")} == {
        SKIPPED
    }
    # Random tokens need not be text.
    answer = {"choices": [{"message": {"content": ""}}], "usage": {"completion_tokens": 64}}
    Canned.answers[CHAT] = [(200, json.dumps(answer))]
    assert (tried("chat", canned, mocker).outcome, tried("chat", canned).outcome) == (OK, FAILED)
    assert [body["max_tokens"] for body in Canned.asked] == [64, 2048]


def listed(*components: str, host: str = "") -> str:
    transport = {"tcp": f"{host}:5/x"} if host else {"nats_tcp": "x"}
    instances = [{"component": one, "endpoint": "generate", "transport": transport} for one in components]
    return json.dumps({"endpoints": [], "instances": instances})


OLD = of("0.4.1", engine="trtllm")


@pytest.mark.parametrize(
    ("health", "expected", "outcome", "detail"),
    [
        (listed("backend", "prefill"), BOTH, OK, "1 prefill, 1 decode"),
        (listed("backend"), BOTH, FAILED, "/health lists no prefill worker"),
        # The guides' shorter form, without instances.
        (
            '{"endpoints":["dyn://dynamo.tensorrt_llm.generate","dyn://dynamo.prefill.generate"]}',
            BOTH,
            OK,
            "1 prefill, 1 decode",
        ),
        ('{"endpoints":["dyn://dynamo.backend.generate"]}', BOTH, FAILED, "/health lists no prefill worker"),
        (
            '{"endpoints":["dyn://a.tensorrt_llm.clear_kv_blocks"]}',
            BOTH,
            FAILED,
            "/health lists no prefill and no decode worker",
        ),
        (listed("tensorrt_llm", "tensorrt_llm_next"), OLD, OK, "1 tensorrt_llm, 1 tensorrt_llm_next"),
        (listed("tensorrt_llm"), OLD, FAILED, "/health lists no tensorrt_llm_next worker"),
    ],
)
def test_roles(canned: str, health: str, expected: Expectation, outcome: str, detail: str) -> None:
    Canned.answers["/health"] = [(200, health)]
    result = tried("roles", canned, expected)
    assert (result.outcome, result.detail) == (outcome, detail)


def test_the_frontends_own_word_on_its_release(canned: str) -> None:
    assert (release_of(canned, 5.0), tried("release", canned).outcome) == (None, SKIPPED)
    Canned.answers["/openapi.json"] = [(200, '{"info":{"version":"1.2.1"}}')]
    assert release_of(canned, 5.0) == "1.2.1"
    assert tried("release", canned, of("1.2.0")).outcome == OK
    warned = tried("release", canned)
    assert (warned.outcome, warned.ok, advice(warned)) == (WARNING, True, "other release")
    assert warned.detail == "the frontend is Dynamo 1.2.1, not 1.6.1"
    assert warned.lines()[1].startswith("           It means: the frontend is of another Dynamo release")
    assert summary(canned, [warned]) == {
        "url": canned,
        "ok": True,
        "warnings": ["release"],
        "checks": [{**asdict(warned), "ok": True}],
    }


COUNTED = """\
dynamo_component_requests_total{{dynamo_component="prefill",dynamo_endpoint="generate"}} {}
dynamo_component_requests_total{{dynamo_component="backend",dynamo_endpoint="generate"}} {}
"""


@pytest.mark.parametrize(
    ("counts", "outcome", "detail"),
    [
        ((3, 4), OK, "prefill workers counted 3, then 4 requests"),
        ((3, 3), FAILED, "prefill workers counted 3 requests, and no other"),
    ],
)
def test_disaggregation_by_what_prefill_workers_count(
    canned: str, counts: tuple[int, int], outcome: str, detail: str
) -> None:
    """Of releases that name no workers in their answers."""
    Canned.answers["/health"] = [(200, listed("prefill", "backend", host="127.0.0.1"))]
    # Decode's requests are beside them where all workers are in one pod.
    Canned.answers["/metrics"] = [(200, COUNTED.format(count, 7 + at)) for at, count in enumerate(counts)]
    Canned.answers[CHAT] = [(200, chatted("stop", content="It."))]
    result = tried("disaggregated", canned, of("1.2.1"), (int(canned.rpartition(":")[2]),))
    assert (result.outcome, result.detail) == (outcome, detail)


def test_a_prompt_that_decode_may_keep_proves_nothing(canned: str) -> None:
    Canned.answers[CHAT] = [(200, chatted("stop", content="It."))]
    assert tried("disaggregated", canned, of("1.6.1")).outcome == FAILED
    result = tried("disaggregated", canned, replace(of("1.6.1"), conditional=True))
    assert (result.outcome, "--router-conditional-disagg" in result.detail) == (SKIPPED, True)


def test_workers_that_cannot_be_reached_prove_nothing(canned: str) -> None:
    Canned.answers["/health"] = [(200, listed("prefill", host="127.0.0.1"))]
    result = tried("disaggregated", canned, of("1.2.1"))
    assert result.outcome == SKIPPED
    assert result.detail == (
        "Dynamo 1.2.1 names no workers in its answers with router mode round-robin; 1.3 is the first that can tell, "
        "and its workers' metrics cannot be read from here"
    )


EFA = of("1.6.1", transport="efa", kv_counter="agent_tx_bytes_total")
NODE = of("1.6.1", transport="node", kv_counter="vllm:nixl_bytes_transferred_sum")
VLLM = 'vllm:nixl_bytes_transferred_bucket{le="1"} 7\nvllm:nixl_bytes_transferred_sum{a="b"} 5e3\n'
NAME, POD = "vllm:nixl_bytes_transferred_sum", replace(NODE, transport="pod")
TIME = 'vllm:nixl_xfer_time_seconds_sum{{a="b"}} {}\n'


@pytest.mark.parametrize(
    ("metrics", "expected", "outcome", "detail"),
    [
        (
            'agent_tx_bytes_total{a="b"} 7\nagent_rx_bytes_total 9\n',
            EFA,
            OK,
            "agent_tx_bytes_total says 7 bytes",
        ),
        ("agent_tx_bytes 7\n", EFA, OK, "agent_tx_bytes_total says 7 bytes"),
        ("agent_tx_bytes_total 0\n", EFA, FAILED, "agent_tx_bytes_total is 0 on every worker"),
        ("other 1\n", EFA, SKIPPED, "none of its workers publishes agent_tx_bytes_total"),
        ("agent_tx_bytes_total 0\n", replace(EFA, conditional=True), SKIPPED, "its frontend may have decode"),
        (VLLM, POD, OK, "vllm:nixl_bytes_transferred_sum says 5000 bytes"),
        (VLLM + TIME.format(1e-6), POD, OK, f"{NAME} says 5000 bytes in 1e-06 s (5 GB/s)"),
        (
            VLLM + TIME.format(1e-4),
            POD,
            WARNING,
            f"{NAME} says 5000 bytes in 0.0001 s, 0.05 GB/s, and Dynamo's guide",
        ),
        (VLLM + TIME.format(1e-4), NODE, WARNING, "transport `node` is slow"),
        (VLLM, NODE, WARNING, "transport `node` is slow"),
        (VLLM, replace(NODE, kv_counter=None), WARNING, "transport `node` is slow"),
        (None, EFA, SKIPPED, "its workers' metrics cannot be read from here"),
        (None, NODE, WARNING, "transport `node` is slow"),
        (VLLM, of("1.6.1"), SKIPPED, "its workers count no bytes of KV cache"),
        (
            VLLM,
            of("1.4.2", engine="trtllm"),
            SKIPPED,
            "its workers count no bytes of KV cache; from Dynamo 1.2 TensorRT-LLM does with `--publish-metrics`",
        ),
        (
            VLLM,
            of("1.4.2", engine="sglang"),
            SKIPPED,
            "its workers count no bytes of KV cache; SGLang's own figure, in megabytes",
        ),
    ],
)
def test_kv_transfer(
    canned: str, metrics: str | None, expected: Expectation, outcome: str, detail: str
) -> None:
    Canned.answers["/health"] = [(200, listed("prefill", "backend", host="127.0.0.1"))]
    if metrics is not None:
        Canned.answers["/metrics"] = [(200, metrics)]
    result = tried("kv transfer", canned, expected, (int(canned.rpartition(":")[2]),))
    assert (result.outcome, result.detail[: len(detail)]) == (outcome, detail)
    if outcome == WARNING:
        assert advice(result) == "slow path"
