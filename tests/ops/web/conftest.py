"""An endpoint of a graph that speaks when a test lets it."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class Endpoint(ThreadingHTTPServer):
    """Answers with pieces that tests may hold back; keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Speaks)
        self.asked: list[dict[str, Any]] = []
        self.status = 200
        self.broken = False
        self.go_on, self.cut_off = threading.Event(), threading.Event()
        self.go_on.set()


class _Speaks(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(json.loads(body))
        self.send_response(self.server.status)
        self.end_headers()
        try:
            self._say({"choices": [{"delta": {"reasoning_content": "hm"}}]})
            while not self.server.go_on.wait(0.02):
                self._say({"choices": [{"delta": {"reasoning_content": "…"}}]})
            self._say({"choices": [{"delta": {"content": "<b>Hello</b>"}}]})
            if not self.server.broken:
                self._say({"choices": [], "usage": {"completion_tokens": 7}})
                self.wfile.write(b"data: [DONE]\n\n")
        except ConnectionError:
            self.server.cut_off.set()

    def _say(self, event: object) -> None:
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.go_on.set()
        server.shutdown()
