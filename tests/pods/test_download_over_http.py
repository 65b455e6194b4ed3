"""The download over real HTTP: a source that fails, redirects, breaks off or has another file; a proxy."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pods import download_model

WORDS = b"o200k words\n" * 1000
Answer = Callable[[BaseHTTPRequestHandler], None]


def send(code: int, body: bytes = b"", *, says: int | None = None, **headers: str) -> Answer:
    """An answer. says: the length that its header claims, where that is not the body's."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body) if says is None else says))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@dataclass
class Source:
    """A server that gives each answer once and the last one for ever. asked: paths, in order."""

    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def next(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked.append(handler.path)
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        answer(handler)


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Iterator[Source]:
    served = Source()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.next(self)

        def log_message(self, *_: object) -> None:
            pass

    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(download_model, "VOCABULARY_SHA256", hashlib.sha256(WORDS).hexdigest())
    # It keeps the proxies that it found at its first use.
    monkeypatch.setattr("urllib.request._opener", None)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield served
    server.shutdown()
    server.server_close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    return waited


def test_a_source_that_fails_redirects_and_breaks_off_is_asked_until_it_is_whole(
    source: Source, pauses: list[float], tmp_path: Path
) -> None:
    source.answers = [
        send(503),
        send(429),
        send(200, WORDS[:100], says=len(WORDS)),
        send(200, b"<html>busy</html>"),
        send(302, Location="/elsewhere"),
        send(200, WORDS),
    ]
    download_model.fetch_vocabulary(tmp_path, f"{source.url}/words")
    assert (tmp_path / "o200k_base.tiktoken").read_bytes() == WORDS
    assert source.asked == ["/words"] * 5 + ["/elsewhere"]
    assert pauses == [30, 60, 120, 240]
    assert [path.name for path in tmp_path.iterdir()] == ["o200k_base.tiktoken"]


def test_what_is_there_is_kept_and_what_is_broken_is_fetched_again(
    source: Source, pauses: list[float], tmp_path: Path
) -> None:
    source.answers = [send(200, WORDS)]
    (tmp_path / "o200k_base.tiktoken").write_bytes(WORDS[:50])
    for _ in range(2):
        download_model.fetch_vocabulary(tmp_path, source.url)
    assert (tmp_path / "o200k_base.tiktoken").read_bytes() == WORDS
    assert len(source.asked) == 1
    assert not pauses


@pytest.mark.parametrize(
    ("answer", "reason", "times"),
    [
        (send(200, b"other"), "5 bytes with an unexpected checksum", download_model.ATTEMPTS),
        (send(404), "HTTP 404 Not Found", 1),
        (send(407), "HTTP 407 Proxy Authentication Required", 1),
    ],
    ids=["another file", "no file", "a proxy that wants a password"],
)
def test_it_ends_with_the_address_and_the_reason(
    source: Source, pauses: list[float], tmp_path: Path, answer: Answer, reason: str, times: int
) -> None:
    source.answers = [answer]
    with pytest.raises(SystemExit) as end:
        download_model.fetch_vocabulary(tmp_path, f"{source.url}/words")
    assert end.value.code == f"fetching {source.url}/words: {reason}"
    assert len(source.asked) == times == len(pauses) + 1
    assert not list(tmp_path.iterdir())


def test_it_goes_through_the_proxy_that_the_job_is_given(
    source: Source, pauses: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.answers = [send(200, WORDS)]
    monkeypatch.setenv("HTTP_PROXY", source.url)
    download_model.fetch_vocabulary(tmp_path, "http://words.invalid/o200k")
    assert source.asked == ["http://words.invalid/o200k"]
    assert not pauses
