"""Keeps the processes of graphs running, and in step with the graphs: what a kubelet does for pods."""

import ctypes
import errno
import json
import logging
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embedded import endpoints, processes
from embedded.dynamo import Installation
from embedded.dynamo_graph import DISCOVERY, ENGINE, FRONTEND, Graph, Process, environment, processes_of
from targets.errors import UserError

_FOLDER = "dataplane"

_SECONDS_TO_END = 5.0
_SECONDS_BETWEEN_INSTALLATIONS = 60.0
_LONGEST_PAUSE = 8.0
"""Seconds from one start to the next of what ends again and again; the first is 0.5, each twice the one before."""
_SECONDS_OF_HEALTH = 30.0
"""A process that lived this long starts again at once, as the first time."""

_LIBC = ctypes.CDLL(None)
_log = logging.getLogger(__name__)


@dataclass
class _Running:
    """A process of a graph, alive or waiting for its restart. started: by the monotonic clock."""

    process: Process
    popen: subprocess.Popen[bytes]
    started: float
    restarts: int

    def has_ended(self) -> bool:
        return self.popen.poll() is not None

    def may_restart(self) -> bool:
        return time.monotonic() - self.started > min(2.0 ** (self.restarts - 1), _LONGEST_PAUSE)


@dataclass
class _Served:
    """A graph's folder, port with the claim on it, release, and processes by name.

    installed: its release; None while that cannot be run, with the reason and the time of the next try.
    """

    folder: Path
    port: int = 0
    claim: socket.socket | None = None
    release: str | None = None
    installed: Installation | None = None
    reason: str = ""
    next_try: float = 0.0
    running: dict[str, _Running] = field(default_factory=dict)

    def end(self, names: Iterable[str], grace: float = _SECONDS_TO_END) -> None:
        """Ends processes together; those that still run after `grace` seconds are killed."""
        ending = [self.running.pop(name).popen for name in list(names)]
        for popen in ending:
            popen.terminate()
        deadline = time.monotonic() + grace
        for popen in ending:
            with suppress(subprocess.TimeoutExpired):
                popen.wait(max(0.0, deadline - time.monotonic()))
            popen.kill()
            popen.wait()

    def give_up_port(self) -> None:
        """Lets others have the port."""
        if self.claim:
            self.claim.close()
            self.claim = None


class Supervisor:
    """Keeps the processes of graphs running. It needs no cluster: give `step` the graphs again and again.

    state: the embedded cluster's state folder, where endpoints.py says how each graph answers. install: makes
    a release ready at its first use, or raises UserError; what runs keeps running meanwhile, unwatched.
    port: a graph's that had none before, if it is free.
    """

    def __init__(
        self,
        state: Path,
        install: Callable[[str], Installation],
        engine: Sequence[str] = ENGINE,
        port: int = endpoints.USUAL_PORT,
    ) -> None:
        self._state = state
        self._install = install
        self._engine = engine
        self._port = port
        self._served: dict[str, _Served] = {}
        urls = {key: entry["url"] for key, entry in endpoints.read(state).items()}
        self._ports = {key: int(url.rsplit(":", 1)[1]) for key, url in urls.items() if url}
        shutil.rmtree(state / _FOLDER, ignore_errors=True)

    def step(self, graphs: Iterable[Graph]) -> None:
        """Does what there is to do now; it waits for what it ends, some seconds at most."""
        desired = {graph.key: graph for graph in graphs}
        for key in self._served.keys() - desired.keys():
            served = self._served.pop(key)
            served.end(served.running)
            served.give_up_port()
        for key, graph in desired.items():
            served = self._served.setdefault(key, _Served(self._state / _FOLDER / key))
            self._make_ready(served, graph.release)
            if served.installed:
                self._keep(served, served.installed, graph)
            else:
                served.end(served.running)
                served.give_up_port()
        entries = {key: _entry(self._served[key], graph) for key, graph in desired.items()}
        if entries != endpoints.read(self._state):
            endpoints.write(self._state, entries)

    def close(self) -> None:
        """Ends everything and waits for it."""
        self.step([])

    def _make_ready(self, served: _Served, release: str) -> None:
        """Has the graph's release installed, or says why it cannot be run."""
        if release == served.release and (served.installed or time.monotonic() < served.next_try):
            return
        served.release, served.installed, served.reason = release, None, ""
        try:
            served.installed = self._install(release)
        except UserError as error:
            _log.warning("no endpoint for %s: %s", served.folder, error)
            served.reason, served.next_try = str(error), time.monotonic() + _SECONDS_BETWEEN_INSTALLATIONS

    def _keep(self, served: _Served, installed: Installation, graph: Graph) -> None:
        """Brings the processes of one graph to the desired ones."""
        desired = processes_of(graph, installed, served.port, self._engine)
        frontend = served.running.get(FRONTEND)
        if frontend and frontend.process != desired[0]:
            served.end(served.running)
        elif frontend and frontend.has_ended():
            # Its workers start anew too: on the old discovery directory it would believe in workers that are dead.
            served.end(served.running.keys() - {FRONTEND}, grace=0.0)
            if not frontend.may_restart():
                return
        if served.running.keys() <= {FRONTEND} and (not frontend or frontend.has_ended()):
            self._clear(served, graph.key)
            desired = processes_of(graph, installed, served.port, self._engine)
        uids = {process.name: process.uid for process in desired}
        served.end(
            [name for name, running in served.running.items() if uids.get(name) != running.process.uid]
        )
        for process in desired:
            current = served.running.get(process.name)
            if current and not (current.has_ended() and current.may_restart()):
                continue
            _forget_dead(served.folder / DISCOVERY / "v1")
            _log.info("starting %s of %s", process.name, served.folder)
            now = time.monotonic()
            is_ill = current and now - current.started < _SECONDS_OF_HEALTH
            restarts = current.restarts + 1 if current and is_ill else 0
            served.running[process.name] = _Running(
                process, _start(served.folder, installed, process), now, restarts
            )

    def _clear(self, served: _Served, key: str) -> None:
        """A new start of the whole graph: an empty discovery directory and a port that is free."""
        shutil.rmtree(served.folder / DISCOVERY, ignore_errors=True)
        served.folder.mkdir(parents=True, exist_ok=True)
        served.give_up_port()
        served.port, served.claim = _claim_port(served.port or self._ports.get(key, self._port))


def _claim_port(preferred: int) -> tuple[int, socket.socket]:
    """A TCP port of 127.0.0.1 that nothing listens on, the preferred if it can be, and the claim on it.

    A frontend listens some seconds after its start. Until the claim is closed, or this process ends, no other
    supervisor of this machine gives the port to a frontend of its own.
    """
    port = preferred
    while True:
        claim = socket.socket(socket.AF_UNIX)
        try:
            # An abstract name (unix(7); Linux): no file is left behind, and it reaches as far as the ports do.
            claim.bind(f"\0dynamo-gpt-oss/port/{port}")
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            if processes.is_free(port):
                return port, claim
        claim.close()
        (port,) = processes.free_ports(1)


def _start(folder: Path, installed: Installation, process: Process) -> subprocess.Popen[bytes]:
    with (folder / f"{process.name}.log").open("ab") as log:
        return subprocess.Popen(
            process.argv,
            cwd=folder,
            env=environment(folder, installed),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_end_with_parent,  # noqa: PLW1509  # this daemon has no threads
        )


def _entry(served: _Served, graph: Graph) -> dict[str, Any]:
    return {
        "url": f"http://127.0.0.1:{served.port}" if served.installed else "",
        "release": served.release if served.installed else "",
        "reason": served.reason,
        "models": sorted({worker.model for worker in graph.workers}),
        "roles": sorted({worker.role for worker in graph.workers}),
        "simulated": endpoints.SIMULATED,
        "processes": {name: running.popen.pid for name, running in served.running.items()},
        "logs": str(served.folder),
    }


def _forget_dead(discovery: Path) -> None:
    """Removes the registrations of workers that were killed, as Kubernetes drops the endpoints of a dead pod.

    Dynamo's own heartbeat needs some 10 s for it, and until then requests go to the dead worker too.
    """
    for instance in discovery.glob("instances/*"):
        with suppress(
            FileNotFoundError, ValueError
        ):  # gone or written at this moment: it belongs to the living
            address = json.loads(instance.read_text())["transport"]["tcp"].partition("/")[0]
            if processes.is_free(int(address.rpartition(":")[2])):
                instance.unlink()
                (discovery / "mdc" / instance.name).unlink(missing_ok=True)


def _end_with_parent() -> None:
    """In the child: the kernel ends it when this daemon dies, however it dies (prctl PR_SET_PDEATHSIG; Linux)."""
    _LIBC.prctl(1, signal.SIGKILL)
