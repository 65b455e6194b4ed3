"""`python -m ops chat` with endpoints that end in the middle, or are none."""

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from ops.chat import Effort, stream
from ops.stack.cluster import EndpointError

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
PIECE = b'data: {"choices": [{"delta": {"content": "so"}}]}\n\n'
DONE = b"data: [DONE]\n\n"


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


@pytest.fixture
def answering() -> Iterator[Callable[[bytes], str]]:
    """Gives the URL of a server that answers one request with these bytes, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threads: list[threading.Thread] = []

        def start(answer: bytes) -> str:
            def serve() -> None:
                connection, _ = server.accept()
                # The whole request is read: what is left unread turns the close into a reset.
                with connection, connection.makefile("rb") as request:
                    lengths = [line for line in iter(request.readline, b"\r\n") if b"ength:" in line]
                    request.read(int(lengths[0].partition(b":")[2]))
                    connection.sendall(answer)

            threads.append(threading.Thread(target=serve))
            threads[-1].start()
            return f"http://127.0.0.1:{server.getsockname()[1]}"

        yield start
        for thread in threads:
            thread.join()


def said(url: str) -> list[tuple[str, str]]:
    return list(stream(url, "m", [{"role": "user", "content": "Hi"}], Effort.LOW))


@pytest.mark.parametrize(
    "answer",
    [
        CHUNKED + chunk(PIECE) + chunk(DONE) + chunk(b""),
        CHUNKED + chunk(b'data: {"choices": [{"delta": null}]}\n\n' + PIECE + DONE) + chunk(b""),
        HEAD + b"\r\n" + PIECE + DONE,
    ],
)
def test_a_whole_answer(answering: Callable[[bytes], str], answer: bytes) -> None:
    assert said(answering(answer)) == [("content", "so")]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (CHUNKED + chunk(PIECE) + b"40\r\nhalf", "what is no chat: IncompleteRead"),
        (CHUNKED + chunk(PIECE) + chunk(b""), "broke its answer off"),
        (HEAD + b"\r\n" + PIECE, "broke its answer off"),
        (HEAD + b"\r\ndata: {half\n\n", "what is no chat: JSONDecodeError"),
        (HEAD + b"\r\ndata: [1]\n\n", "what is no chat: AttributeError"),
        (HEAD + b"\r\ndata: \xff\n\n", "what is no chat: UnicodeDecodeError"),
        (HEAD + b'\r\ndata: {"error": "no worker"}\n\n', "broke its answer off: no worker"),
        (b"SSH-2.0-OpenSSH\r\n", "what is no chat: BadStatusLine"),
    ],
)
def test_any_other_end_is_told(answering: Callable[[bytes], str], answer: bytes, message: str) -> None:
    with pytest.raises(EndpointError) as error:
        said(answering(answer))
    assert message in str(error.value)
