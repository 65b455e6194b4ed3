"""Daemons: found again, never mistaken, ended with what they started."""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from embedded import processes
from embedded.paths import PROJECT
from embedded.processes import Daemon
from tests.waiting import eventually

SLEEP = "import time; time.sleep(600)"


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    processes.end(tmp_path, "sleeper")


def sleeper(state: Path, code: str = SLEEP) -> Daemon:
    return Daemon("sleeper", (sys.executable, "-c", code, str(state)))


def pid_of(state: Path) -> int:
    process = processes.find(state, "sleeper")
    assert process
    return process.pid


def test_is_started_once_in_a_session_of_its_own(state: Path) -> None:
    assert not processes.runs(state, sleeper(state))
    assert processes.start(state, sleeper(state), os.environ)
    first = pid_of(state)
    assert processes.runs(state, sleeper(state))
    assert not processes.start(state, sleeper(state), os.environ)
    assert os.getsid(first) == pid_of(state) == first


def test_is_replaced_when_its_arguments_change(state: Path) -> None:
    processes.start(state, sleeper(state), os.environ)
    first = pid_of(state)
    other = sleeper(state, SLEEP + " # other")
    assert not processes.runs(state, other)
    processes.start(state, other, os.environ)
    assert processes.runs(state, other)
    assert pid_of(state) != first
    assert not psutil.pid_exists(first)


def test_is_replaced_when_it_is_stopped(state: Path) -> None:
    processes.start(state, sleeper(state), os.environ)
    first = pid_of(state)
    os.kill(first, signal.SIGSTOP)
    eventually(lambda: not processes.runs(state, sleeper(state)))
    processes.start(state, sleeper(state), os.environ)
    assert processes.runs(state, sleeper(state))
    assert gone(first)


def test_is_not_found_once_killed(state: Path) -> None:
    processes.start(state, sleeper(state), os.environ)
    os.kill(pid_of(state), signal.SIGKILL)
    eventually(lambda: processes.find(state, "sleeper") is None)
    assert not processes.end(state, "sleeper")
    processes.start(state, sleeper(state), os.environ)
    assert processes.runs(state, sleeper(state))


def test_a_recycled_pid_is_left_alone(state: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", SLEEP, "somebody else's"]) as stranger:
        (state / "run").mkdir()
        record = {"pid": stranger.pid, "argv": sleeper(state).argv}
        (state / "run" / "sleeper.json").write_text(json.dumps(record))
        try:
            assert processes.find(state, "sleeper") is None
            assert not processes.end(state, "sleeper")
            assert stranger.poll() is None
        finally:
            stranger.kill()


DAMAGED = [
    "",
    "[]",
    "{}",
    "7",
    '{"pid": "x", "argv": 5}',
    '{"pid": -1, "argv": []}',
    '{"pid": 1e30, "argv": []}',
    "\xff",
]


def test_one_of_the_folder_that_this_is_a_copy_of_is_nobodys_here(state: Path, tmp_path: Path) -> None:
    """With the project the folder was copied, pid files included; to end it there would end the original's cluster."""
    processes.start(state, sleeper(state), os.environ)
    copy = tmp_path / "copy"
    shutil.copytree(state / "run", copy / "run")
    assert processes.find(copy, "sleeper") is None
    assert not processes.end(copy, "sleeper")
    assert processes.find(state, "sleeper")


def test_one_whose_folder_was_moved_is_found(tmp_path: Path) -> None:
    state, moved = tmp_path / "state", tmp_path / "moved"
    state.mkdir()
    processes.start(state, sleeper(state), os.environ)
    first = pid_of(state)
    state.rename(moved)
    assert pid_of(moved) == first
    assert processes.end(moved, "sleeper")


@pytest.mark.parametrize("text", DAMAGED)
def test_one_whose_pid_file_is_damaged_is_found_and_replaced(state: Path, text: str) -> None:
    processes.start(state, sleeper(state), os.environ)
    first = pid_of(state)
    (state / "run" / "sleeper.json").write_bytes(text.encode("latin-1"))
    assert pid_of(state) == first
    assert not processes.runs(state, sleeper(state))
    processes.start(state, sleeper(state), os.environ)
    assert pid_of(state) != first
    assert gone(first)


KILLED_IN_THE_GAP = """
import os, signal, subprocess, sys
from pathlib import Path
from embedded import processes
start = subprocess.Popen
def popen(*arguments, **options):
    print(start(*arguments, **options).pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
subprocess.Popen = popen
processes.start(Path(sys.argv[1]), processes.Daemon("sleeper", tuple(sys.argv[2:])), os.environ)
"""


def test_one_is_found_whose_starter_was_killed_before_it_wrote_the_pid_file(state: Path) -> None:
    lost = []
    for _ in range(2):
        command = [sys.executable, "-c", KILLED_IN_THE_GAP, str(state), *sleeper(state).argv]
        died = subprocess.run(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=False)
        assert died.returncode == -signal.SIGKILL
        lost.append(int(died.stdout))
        eventually(lambda: processes.daemons(state) == ["sleeper"])
        assert not (state / "run" / "sleeper.json").exists()
        if len(lost) == 1:
            assert processes.end(state, "sleeper")
            assert gone(lost[0])
    processes.start(state, sleeper(state), os.environ)
    assert gone(lost[1])
    assert processes.runs(state, sleeper(state))


def test_it_is_found_in_another_locale(tmp_path: Path) -> None:
    state = tmp_path / "sp ace \u00fc"
    state.mkdir()
    processes.start(state, sleeper(state), os.environ)
    code = (
        "import os; from pathlib import Path; from embedded import processes;"
        "print(processes.find(Path(os.fsdecode(os.environb[b'STATE'])), 'sleeper').pid)"
    )
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "STATE": str(state)}
    try:
        found = subprocess.run(
            [sys.executable, "-c", code],
            cwd=PROJECT,
            env={**os.environ, **plain},
            capture_output=True,
            check=True,
        )
        assert int(found.stdout) == pid_of(state)
    finally:
        processes.end(state, "sleeper")


def start_with_child(state: Path, first: str = "") -> int:
    """Start a daemon that runs a line of its own and has a child, whose pid is returned."""
    code = f"""
import pathlib, signal, subprocess, sys, time
{first}
child = subprocess.Popen([sys.executable, "-c", {SLEEP!r}])
pathlib.Path(sys.argv[1], "child").write_text(str(child.pid))
time.sleep(600)
"""
    processes.start(state, sleeper(state, code), os.environ)
    child = state / "child"
    eventually(lambda: child.exists() and child.read_text() != "")
    return int(child.read_text())


def test_its_children_are_not_taken_for_it(state: Path) -> None:
    child = start_with_child(state)
    daemon = pid_of(state)
    (state / "run" / "sleeper.json").unlink()
    assert pid_of(state) == daemon
    os.kill(daemon, signal.SIGKILL)
    eventually(lambda: processes.find(state, "sleeper") is None)
    os.kill(child, signal.SIGKILL)


def test_one_that_ignores_the_request_is_killed_with_its_children(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_SECONDS_TO_END", 0.2)
    child = start_with_child(state, "signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    parent = pid_of(state)
    assert processes.end(state, "sleeper")
    eventually(lambda: gone(parent) and gone(child))


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_it_outlives_whoever_started_it(state: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from embedded import processes;"
        "processes.start(Path(sys.argv[1]), processes.Daemon('sleeper', tuple(sys.argv[2:])), os.environ)"
    )
    subprocess.run([sys.executable, "-c", code, str(state), *sleeper(state).argv], cwd=PROJECT, check=True)
    assert processes.end(state, "sleeper")


@pytest.mark.parametrize("name", ["", "file"])
def test_a_lock_excludes_other_processes_and_a_file_says_which_holds_it(tmp_path: Path, name: str) -> None:
    code = (
        "import sys; from pathlib import Path; from embedded.processes import lock\n"
        "with lock(Path(sys.argv[1]), print, 'the other'): print('mine', flush=True)"
    )
    command = [sys.executable, "-u", "-c", code, str(tmp_path / name)]
    holder = f" (process {os.getpid()})" if name else ""
    with processes.lock(tmp_path / name, print, "nobody"):
        other = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
        assert other.stdout
        assert other.stdout.readline() == f"waiting for the other{holder}\n"
    assert other.communicate()[0] == "mine\n"


def test_a_file_may_be_taken_away_while_others_wait_for_its_lock(tmp_path: Path) -> None:
    """Who waited holds the file that is there then, or two would hold a lock each."""
    code = (
        "import sys; from pathlib import Path; from embedded.processes import lock\n"
        "with lock(Path(sys.argv[1]), print, 'the other'): print('mine', flush=True); input()"
    )
    file = tmp_path / "file"
    command = [sys.executable, "-u", "-c", code, str(file)]
    with processes.lock(file, print, "nobody"):
        other = subprocess.Popen(
            command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert other.stdout
        assert other.stdout.readline().startswith("waiting for the other")
        file.unlink()
    assert other.stdout.readline() == "mine\n"
    with pytest.raises(BlockingIOError):
        processes.hold(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    other.communicate("\n")
    os.close(processes.hold(file, fcntl.LOCK_EX | fcntl.LOCK_NB))


def test_ports() -> None:
    first, second = processes.free_ports(2)
    assert first != second
    with socket.socket() as server:
        server.bind(("127.0.0.1", first))
        server.listen()
        assert not processes.is_free(first)
    assert processes.is_free(second)
