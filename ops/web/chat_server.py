"""Serves the chat page, and passes its questions on to a graph's endpoint, so that a browser needs no leave of that.

Other sites must not reach it through the browser of whoever runs it: it listens on 127.0.0.1, answers to that name
alone (one that somebody lets point here is refused), and takes questions only as JSON from its own page.
"""

import base64
import hashlib
import json
import re
from collections.abc import Generator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ops.chat import Effort, Message, stream
from targets.errors import UserError

_PAGE = (Path(__file__).parent / "chat.html").read_text()
_LONGEST = 4_000_000
"""Bytes of one question with all that was said before."""
_ROLES = {"user", "assistant"}


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """Whom the page talks to. url: of the endpoint. simulated: what of it is, or nothing."""

    stack: str
    graph: str
    model: str
    url: str
    simulated: str = ""


class ChatServer(ThreadingHTTPServer):
    """On a free port of 127.0.0.1."""

    daemon_threads = True

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.conversation = conversation
        self.names = {f"{host}:{self.server_port}" for host in ("127.0.0.1", "localhost")}

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://127.0.0.1:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer

    def do_GET(self) -> None:
        """The page, and what it shows of the graph."""
        if not self._is_asked_by_name():
            return
        if self.path == "/":
            self._answer(HTTPStatus.OK, "text/html; charset=utf-8", _PAGE)
        elif self.path == "/about":
            told = self.server.conversation
            about = {name: getattr(told, name) for name in ("stack", "graph", "model", "simulated")}
            self._answer(HTTPStatus.OK, "application/json", json.dumps(about))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is only the page")

    def do_POST(self) -> None:
        """A question: its answer as JSON, an object a line, as it is written; `done` is the last."""
        if not self._is_asked_by_name() or not self._is_of_the_page():
            return
        try:
            messages, effort = _question(self.rfile.read(self._length()))
        except ValueError as wrong:
            self._refuse(HTTPStatus.BAD_REQUEST, str(wrong))
            return
        self._begin(HTTPStatus.OK, "application/x-ndjson")
        # Who closed the page or pressed Stop no longer reads; the endpoint learns of it as the stream is closed.
        with suppress(ConnectionError), closing(self._pieces(messages, effort)) as pieces:
            for piece in pieces:
                self.wfile.write(json.dumps(piece).encode() + b"\n")
                self.wfile.flush()

    def _pieces(self, messages: list[Message], effort: Effort) -> Generator[Mapping[str, Any]]:
        told = self.server.conversation
        try:
            with closing(stream(told.url, told.model, messages, effort, counted=True)) as pieces:
                for kind, text in pieces:
                    yield {kind: text}
        except UserError as error:
            yield {"error": str(error)}
        else:
            yield {"done": True}

    def _is_asked_by_name(self) -> bool:
        if self.headers.get("Host") in self.server.names:
            return True
        self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "this server answers to 127.0.0.1 alone")
        return False

    def _is_of_the_page(self) -> bool:
        """Whether a question is from the page itself: a form of another site can send no JSON, and has its origin."""
        origin = self.headers.get("Origin")
        own = origin is None or origin.removeprefix("http://") in self.server.names
        if self.path == "/chat" and own and self.headers.get_content_type() == "application/json":
            return True
        self._refuse(HTTPStatus.FORBIDDEN, "questions come as JSON from the page itself")
        return False

    def _length(self) -> int:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _LONGEST:
            raise ValueError(f"Content-Length: not a number up to {_LONGEST}")
        return int(length)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._answer(status, "text/plain; charset=utf-8", f"{why}\n")

    def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        self._begin(status, kind)
        self.wfile.write(text.encode())

    def _begin(self, status: HTTPStatus, kind: str) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Security-Policy": _POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *_: Any) -> None:
        """Nothing: whoever looks at the terminal sees the address."""


def _question(body: bytes) -> tuple[list[Message], Effort]:
    """The conversation so far and the effort. Raises ValueError for anything else."""
    try:
        asked = json.loads(body)
        messages: list[Message] = [
            {key: each[key] for key in ("role", "content")} for each in asked["messages"]
        ]
        effort = Effort(asked["effort"])
    except (KeyError, TypeError) as wrong:
        raise ValueError(f"no question: {wrong}") from None
    texts = [text for each in messages for text in each.values()]
    if not messages or not all(isinstance(text, str) for text in texts):
        raise ValueError("messages: each needs a role and a text")
    if strange := {each["role"] for each in messages} - _ROLES:
        raise ValueError(f"messages: no such role here: {', '.join(sorted(strange))}")
    return messages, effort


def _hashes(tag: str) -> str:
    """What the policy allows of the page's own text in a tag."""
    texts = re.findall(rf"<{tag}>(.*?)</{tag}>", _PAGE, re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


_POLICY = (
    f"default-src 'none'; script-src {_hashes('script')}; style-src {_hashes('style')}; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page runs its own script and no other, and talks to nobody but this server."""
