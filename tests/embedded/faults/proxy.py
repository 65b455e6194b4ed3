"""An API server that is slow, or fails now and then: a proxy before the real one, on loopback."""

import http.client
import random
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

_PASSED_ON = {"transfer-encoding", "connection", "content-length", "keep-alive"}
_SLOWER_SECONDS = 0.5


@dataclass
class Behaviour:
    """What the proxy does to a request. delay: seconds before it. share: of requests that get `codes` for an answer."""

    draw: random.Random
    delay: float = 0.0
    share: float = 0.0
    codes: tuple[int, ...] = (429, 500)
    asked: int = 0
    failed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self) -> int:
        """The code for the next request, 0 for the real server's answer."""
        time.sleep(self.delay)
        with self._lock:
            self.asked += 1
            if self.draw.random() >= self.share:
                return 0
            self.failed += 1
            return self.draw.choice(self.codes)


def slow(draw: random.Random) -> Behaviour:
    """Half a second for each request."""
    return Behaviour(draw, delay=_SLOWER_SECONDS)


def failing(draw: random.Random) -> Behaviour:
    """One request in twenty fails, by overload or by a fault of the server."""
    return Behaviour(draw, share=0.05)


@contextmanager
def proxied(state: Path, behaviour: Behaviour) -> Iterator[Path]:
    """A kubeconfig whose server is the proxy before the running cluster of that folder."""
    config = yaml.safe_load((state / "kubeconfig").read_text())
    target = config["clusters"][0]["cluster"]
    handler = type(
        "Handler", (_Handler,), {"behaviour": behaviour, "target": target["server"], "pki": state / "pki"}
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(state / "pki" / "server.crt", state / "pki" / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    target["server"] = f"https://127.0.0.1:{server.server_port}"
    file = state.parent / "proxied.yaml"
    file.write_text(yaml.safe_dump(config))
    try:
        yield file
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Each request goes to the real server over a connection of its own, and its answer back as it comes."""

    protocol_version = "HTTP/1.1"
    behaviour: Behaviour
    target: str
    pki: Path

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if code := self.behaviour.answer():
            self._refuse(code)
            return
        trusted = ssl.create_default_context(cafile=str(self.pki / "ca.crt"))
        there = http.client.HTTPSConnection(self.target.removeprefix("https://"), context=trusted)
        try:
            there.request(self.command, self.path, body, dict(self.headers))
            self._answer(there.getresponse())
        except (OSError, http.client.HTTPException):
            self.close_connection = True  # either side has gone
        finally:
            there.close()

    def _refuse(self, code: int) -> None:
        text = b"fault of the test"
        self.send_response(code)
        if code == http.client.TOO_MANY_REQUESTS:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _answer(self, answer: Any) -> None:
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _PASSED_ON:
                self.send_header(name, value)
        if answer.status in (http.client.NO_CONTENT, http.client.NOT_MODIFIED):
            self.end_headers()
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while part := answer.read1(65536):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


for _method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
    setattr(_Handler, f"do_{_method}", _Handler.pass_on)
