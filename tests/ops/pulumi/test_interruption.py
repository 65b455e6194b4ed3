"""Ctrl-C, SIGTERM and a closed terminal while Pulumi is at work: it is told once and waited for.

The CLI here is a script of a few lines; tests/engine/test_interruption.py does the same with the real one.
"""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.project import PROJECT
from tests.waiting import PATIENCE, eventually

WHO = json.dumps({"user": "ada", "url": "file:///state"})
CLI = f"""#!{sys.executable}
import os, signal, sys
from pathlib import Path

folder, given = Path(__file__).parent, " ".join(sys.argv[1:])
if "destroy" not in given:
    answers = {{"version": "v3.272.0", "whoami": {WHO!r}, "stack export": '{{"version": 3, "deployment": {{}}}}'}}
    print(next((text for words, text in answers.items() if words in given), ""))
    sys.exit()
import grpc
from pulumi.runtime.proto import events_pb2, events_pb2_grpc

told = []
signal.signal(signal.SIGINT, lambda *_: told.append(1))
print("deleting", flush=True)
(folder / "began").write_text(str(os.getpid()))
while not told:
    signal.pause()
while not (folder / "may end").exists():
    signal.sigtimedwait([], 0.01)
event = events_pb2.EventRequest(event='{{"stdoutEvent": {{"message": "cancelled", "color": "never"}}}}')
address = sys.argv[sys.argv.index("--event-log") + 1].removeprefix("tcp://")
with grpc.insecure_channel(address) as channel:
    events_pb2_grpc.EventsStub(channel).StreamEvents(iter([event]))
(folder / "told").write_text(str(len(told)))
sys.exit("error: update cancelled")
"""
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Begins `ops down` of a stack, with a CLI that goes on until it is told to end and allowed to."""
    program = tmp_path / "pulumi"
    program.write_text(CLI)
    program.chmod(0o700)
    begun: list[subprocess.Popen[bytes]] = []

    def down(output: int = subprocess.PIPE, **options: object) -> "subprocess.Popen[bytes]":
        path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
        command = [sys.executable, "-m", "ops", "down", "--stack", "disagg-b200"]
        process: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload]
            command, cwd=PROJECT, env=os.environ | {"PATH": path}, stdin=output if output > 0 else None,
            stdout=output, stderr=output if output > 0 else subprocess.STDOUT, start_new_session=True,
            **options,
        )  # fmt: skip
        begun.append(process)
        eventually((tmp_path / "began").exists)
        return process

    yield down
    (tmp_path / "may end").touch()
    for process in begun:
        process.kill()
        process.wait()


def in_order(folder: Path) -> None:
    """The CLI has ended by itself, told once."""
    assert (folder / "told").read_text() == "1"
    assert not psutil.pid_exists(int((folder / "began").read_text()))


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=str
)
def test_pulumi_ends_first(start: Start, tmp_path: Path, number: int, code: int) -> None:
    process = start()
    # As a terminal does it: all that runs in its foreground gets it.
    os.killpg(process.pid, number)
    assert process.stdout is not None
    lines = iter(process.stdout.readline, b"")
    assert next(line for line in lines if b"waiting for Pulumi to end what it has begun" in line)
    os.killpg(process.pid, number)
    assert next(line for line in lines if b"waiting for Pulumi" in line), "a second one is not for Pulumi"
    (tmp_path / "may end").touch()
    rest = b"".join(lines).decode()
    assert process.wait() == code
    assert rest.endswith(f"error: ended by {signal.Signals(number).name}\n")
    assert "Traceback" not in rest
    assert "cancelled" in rest
    in_order(tmp_path)


def test_a_closed_terminal(start: Start, tmp_path: Path) -> None:
    ours, terminal = pty.openpty()

    def take_terminal() -> None:
        import fcntl
        import termios

        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    process = start(terminal, preexec_fn=take_terminal)
    os.close(terminal)
    os.close(ours)
    (tmp_path / "may end").touch()
    assert process.wait(PATIENCE) == 129
    in_order(tmp_path)


def test_nobody_who_reads_does_not_stop_it(start: Start, tmp_path: Path) -> None:
    """As with `make down | head -1`."""
    process = start()
    assert process.stdout is not None
    process.stdout.close()
    os.kill(process.pid, signal.SIGTERM)
    (tmp_path / "may end").touch()
    assert process.wait(PATIENCE) == 143
    in_order(tmp_path)


def test_a_signal_between_two_commands_of_pulumi_ends_the_verb(tmp_path: Path) -> None:
    code = (
        "import os, signal\n"
        "from ops.pulumi import interruption\n"
        "interruption.install(print)\n"
        "try:\n    os.kill(os.getpid(), signal.SIGTERM)\n    print('went on')\n"
        "except BaseException as ended:\n    print(repr(ended))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Ended('ended by SIGTERM')\n"
