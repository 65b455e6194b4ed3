"""What the API server says of itself, against servers that answer as it does while it starts, and as strangers do."""

import base64
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import trustme
import yaml

from embedded.api_server import Answer, ask
from embedded.credentials import CONTEXT

TOKEN = "of-the-administrator"


@contextmanager
def server(authority: trustme.CA, status: int) -> Iterator[str]:
    """Answers with this status who has the token, and others as the API server does; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.headers["Authorization"] == f"Bearer {TOKEN}" and self.path == "/readyz"
            self.send_response(status if known else 401)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    serving = HTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    serving.socket = context.wrap_socket(serving.socket, server_side=True)
    thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"https://127.0.0.1:{serving.server_port}"
    finally:
        serving.shutdown()
        thread.join()
        serving.server_close()


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


def kubeconfig(folder: Path, address: str, authority: trustme.CA, token: str = TOKEN) -> Path:
    trusted = base64.b64encode(authority.cert_pem.bytes()).decode()
    cluster = {"server": address, "certificate-authority-data": trusted}
    path = folder / "kubeconfig"
    theirs = {"name": "theirs", "cluster": {"server": "https://127.0.0.1:1"}, "user": {"token": "theirs"}}
    clusters = [theirs, {"name": CONTEXT, "cluster": cluster}]
    users = [theirs, {"name": CONTEXT, "user": {"token": token}}]
    path.write_text(yaml.safe_dump({"clusters": clusters, "users": users, "current-context": "theirs"}))
    return path


@pytest.mark.parametrize(("status", "answer"), [(200, Answer.READY), (500, Answer.NONE)])
def test_it_is_ready_once_it_says_so(
    status: int, answer: Answer, authority: trustme.CA, tmp_path: Path
) -> None:
    with server(authority, status) as address:
        assert ask(kubeconfig(tmp_path, address, authority)) is answer


def test_another_token_or_authority_is_a_strangers(authority: trustme.CA, tmp_path: Path) -> None:
    with server(authority, 200) as address:
        assert ask(kubeconfig(tmp_path, address, authority, "of-an-earlier-cluster")) is Answer.STRANGER
        assert ask(kubeconfig(tmp_path, address, trustme.CA())) is Answer.STRANGER


def test_a_proxy_of_the_user_is_not_asked(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with server(authority, 200) as address:
        assert ask(kubeconfig(tmp_path, address, authority)) is Answer.READY


def test_nobody_there_is_no_answer(authority: trustme.CA, tmp_path: Path) -> None:
    with server(authority, 200) as address:
        pass
    assert ask(kubeconfig(tmp_path, address, authority)) is Answer.NONE
    assert ask(tmp_path / "none") is Answer.NONE


@pytest.mark.parametrize(
    "text",
    ["", "[]", "half: [", "\ud83d", "clusters: []", "clusters: [{cluster: {}}]\nusers: [{user: {token: a}}]"],
)
def test_a_damaged_kubeconfig_is_no_answer(text: str, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_bytes(text.encode(errors="surrogatepass"))
    assert ask(path) is Answer.NONE
