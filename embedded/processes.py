"""Daemons that outlive the command that started them and are found again: by pid files, or by their environment."""

import fcntl
import hashlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psutil

Report = Callable[[str], None]
"""Takes one line of progress for the user."""

PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
_SECONDS_TO_START = 10
_SECONDS_TO_END = 20
_MARK = "DYNAMO_GPT_OSS_DAEMON"
"""Variable of a daemon's environment from its first moment: whose it is, by folder and name."""
_children: list[subprocess.Popen[bytes]] = []
"""What this very process started: kept to be reaped, a zombie is not running."""


@dataclass(frozen=True)
class Daemon:
    """One process to keep running. `argv[1:]` must hold something only ours: the state folder (see `find`)."""

    name: str
    argv: tuple[str, ...]


@dataclass(frozen=True)
class _Record:
    """What a pid file says."""

    pid: int
    argv: tuple[str, ...]


@contextmanager
def lock(path: Path, report: Report, what: str, *, shared: bool = False) -> Iterator[None]:
    """Holds a lock on a file (made if missing) or folder, exclusive or shared; says it when it waits, for `what`.

    A file says which process holds it alone.
    """
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        handle = hold(path, how | fcntl.LOCK_NB)
    except BlockingIOError:
        report(f"waiting for {what}{_holder(path)}")
        handle = hold(path, how)
    try:
        with suppress(OSError):  # a folder, or a disk that is full
            os.ftruncate(handle, 0)
            os.pwrite(handle, b"" if shared else str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


def hold(path: Path, how: int) -> int:
    """The handle that holds such a lock (flock's) on what is at the path once it has it. Raises BlockingIOError.

    Who holds a file's lock alone may take the file away: who waited for it then locks the next one.
    """
    while True:
        handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT, 0o600)
        with ExitStack() as unless_held:
            unless_held.callback(os.close, handle)
            fcntl.flock(handle, how)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    unless_held.pop_all()
                    return handle


def _holder(path: Path) -> str:
    """Who holds a lock on a file, for people; empty of a folder, which cannot say it."""
    with suppress(OSError):
        if pid := path.read_text():
            return f" (process {pid})"
    return ""


def watch(
    command: Sequence[str | Path],
    errors: IO[Any],
    progress: Callable[[], str],
    report: Report,
    *,
    seconds: float,
    **options: Any,
) -> tuple[int, str]:
    """Run a command that takes long; returns its code and output. Every so many seconds its progress is told.

    errors: where its standard error goes. options: of subprocess.Popen. It ends with the caller.
    """
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=errors, **options)
        try:
            while process.poll() is None:
                try:
                    process.wait(seconds)
                except subprocess.TimeoutExpired:
                    report(progress())
        finally:
            process.terminate()
            process.wait()
        output.seek(0)
        return process.returncode, output.read()


def run(command: Sequence[str | Path], **environment: str) -> str:
    """Runs a command to its end; returns the last words of its standard error if it failed, or else nothing."""
    result = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    return (result.stderr.strip()[-800:] or f"exit code {result.returncode}") if result.returncode else ""


def free_ports(count: int) -> list[int]:
    """Different TCP ports of 127.0.0.1 that nothing listens on now."""
    with ExitStack() as probes:
        sockets = [probes.enter_context(socket.socket()) for _ in range(count)]
        for probe in sockets:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in sockets]


def is_free(port: int) -> bool:
    """Whether a server could listen on this TCP port of 127.0.0.1 now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that only lingers is free
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def find(state: Path, name: str) -> psutil.Process | None:
    """The running process of that name, or None."""
    return next(iter(_running(state, name)), None)


def _running(state: Path, name: str) -> list[psutil.Process]:
    """All processes of that name: the one that its pid file names, or any that bear its mark.

    A pid alone may have been recycled, and a start time moves with the clock; the arguments name our state
    folder, so only our own process has them. `argv[0]` is left out: a framework Python on macOS replaces it.
    """
    for child in _children:
        child.poll()
    record = _recorded(state, name)
    with suppress(psutil.Error, OSError, ValueError, OverflowError):
        if record:
            process = psutil.Process(record.pid)
            # A copy of the folder has the same file and the same arguments in it.
            if process.cmdline()[1:] == list(record.argv[1:]) and Path(process.cwd()).samefile(state):
                return [process]
    return _marked(state).get(name, [])


def _marked(state: Path) -> dict[str, list[psutil.Process]]:
    """Processes by name that `start` made for this folder, whether or not it lived to write their pid files."""
    found: dict[str, list[psutil.Process]] = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            folder, _, name = process.environ().get(_MARK, "").partition(":")
            # Its children may have inherited the mark, and are in its session.
            if folder == _digest(state) and os.getsid(process.pid) == process.pid:
                found.setdefault(name, []).append(process)
    return found


def _digest(state: Path) -> str:
    """The folder in characters that are the same in every locale."""
    return hashlib.sha256(os.fsencode(state.resolve())).hexdigest()[:16]


def _recorded(state: Path, name: str) -> _Record | None:
    """What its pid file says; None also if that is damaged."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        record = json.loads(_pid_file(state, name).read_text())
        return _Record(int(record["pid"]), tuple(record["argv"]))
    return None


def runs(state: Path, daemon: Daemon) -> bool:
    """Whether the daemon runs as it would be started now: the same program with the same arguments, not stopped."""
    process, record = find(state, daemon.name), _recorded(state, daemon.name)
    with suppress(psutil.NoSuchProcess):
        return (
            process is not None
            and record == _Record(process.pid, daemon.argv)
            and process.status() != psutil.STATUS_STOPPED
        )
    return False


def start(state: Path, daemon: Daemon, environment: Mapping[str, str]) -> bool:
    """Starts the daemon unless it `runs`, in a session of its own and in place of what has its name.

    True if it was started.
    """
    if runs(state, daemon):
        return False
    end(state, daemon.name)
    log = log_file(state, daemon.name)
    for folder in (log.parent, _pid_file(state, daemon.name).parent):
        folder.mkdir(exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            daemon.argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=state,
            env={**environment, _MARK: f"{_digest(state)}:{daemon.name}"},
            start_new_session=True,
        )
    _children.append(process)
    file = _pid_file(state, daemon.name)
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps({"pid": process.pid, "argv": daemon.argv}))
    partial.replace(file)
    deadline = time.monotonic() + _SECONDS_TO_START
    # The arguments of a process can be seen only some time after it has come into being.
    while process.poll() is None and not find(state, daemon.name) and time.monotonic() < deadline:
        time.sleep(0.01)
    return True


def end(state: Path, name: str) -> bool:
    """Ends the daemon and what it started: TERM, after 20 s KILL; True if it was running."""
    running = _running(state, name)
    for process in running:
        family = [process]
        with suppress(psutil.NoSuchProcess):
            family += process.children(recursive=True)
            process.terminate()
            process.resume()  # or one that is stopped would not hear of it
            _await_end([process])
        for member in family:
            with suppress(psutil.NoSuchProcess):
                member.kill()
        _await_end(family)
    _pid_file(state, name).unlink(missing_ok=True)
    return bool(running)


def _await_end(family: list[psutil.Process]) -> None:
    deadline = time.monotonic() + _SECONDS_TO_END
    while not all(map(_ended, family)) and time.monotonic() < deadline:
        time.sleep(0.02)


def _ended(process: psutil.Process) -> bool:
    """A zombie has ended too: in a container nobody may reap those whose parent is gone."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def daemons(state: Path) -> list[str]:
    """Names of the daemons that were started here and not ended, running or killed."""
    recorded = {path.stem for path in _pid_file(state, "any").parent.glob("*.json")}
    return sorted(recorded | _marked(state).keys())


def log_file(state: Path, name: str) -> Path:
    """Where the daemon's output goes."""
    return state / "logs" / f"{name}.log"


def _pid_file(state: Path, name: str) -> Path:
    return state / "run" / f"{name}.json"
