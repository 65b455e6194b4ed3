"""Keeps the processes of graphs running, and in step with the graphs: what a kubelet does for pods."""

import ctypes
import json
import logging
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embedded import endpoints, processes
from embedded.dynamo import DynamoError, Installation
from embedded.dynamo_graph import (
    DISCOVERY,
    ENGINE,
    FRONTEND,
    Graph,
    Process,
    environment,
    plan,
)

USUAL_PORT = 8000
"""The first graph's, if it is free, so that commands copied from Dynamo's guides work as they are."""
_FOLDER = "dataplane"

_SECONDS_TO_END = 5.0
_SECONDS_BETWEEN_INSTALLATIONS = 60.0
_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before the first, second, ... restart in a row."""
_SECONDS_OF_HEALTH = 30.0
"""A process that lived this long starts again with the first pause."""

_LIBC = ctypes.CDLL(None)
_log = logging.getLogger(__name__)


@dataclass
class _Running:
    """A process of a graph, alive or waiting for its restart. Times are of the monotonic clock."""

    process: Process
    popen: subprocess.Popen[bytes]
    started: float
    restarts: int
    due: float | None = None

    def ended(self) -> bool:
        return self.popen.poll() is not None

    def may_restart(self) -> bool:
        """Whether the pause after the process's end is over; the first question begins it."""
        now = time.monotonic()
        if self.due is None:
            if now - self.started > _SECONDS_OF_HEALTH:
                self.restarts = 0
            pause = _PAUSES[min(self.restarts, len(_PAUSES) - 1)]
            _log.warning("%s ended (%s): again in %s s", self.process.name, self.popen.returncode, pause)
            self.due = now + pause
        return now >= self.due


@dataclass
class _Served:
    """A graph's folder, port, and processes by name; `leaving` are told to end, with the time when they must.

    installed: its release; None while that cannot be run, with the reason and the time of the next try.
    """

    folder: Path
    port: int = 0
    graph: Graph | None = None
    release: str | None = None
    installed: Installation | None = None
    reason: str = ""
    next_try: float = 0.0
    running: dict[str, _Running] = field(default_factory=dict)
    leaving: list[tuple[subprocess.Popen[bytes], float]] = field(default_factory=list)

    def end(self, name: str, grace: float = _SECONDS_TO_END) -> None:
        """Tells a process to end; after `grace` seconds it is killed."""
        popen = self.running.pop(name).popen
        if popen.poll() is None:
            popen.terminate()
            self.leaving.append((popen, time.monotonic() + grace))

    def reap(self) -> None:
        for popen, deadline in self.leaving:
            if time.monotonic() > deadline:
                popen.kill()
        self.leaving = [entry for entry in self.leaving if entry[0].poll() is None]


class Supervisor:
    """Keeps the processes of graphs running. It needs no cluster: give `step` the graphs again and again.

    state: the embedded cluster's state folder, where endpoints.py says how each graph answers. install: makes
    a release ready at its first use, or raises DynamoError; what runs keeps running meanwhile, unwatched.
    """

    def __init__(
        self, state: Path, install: Callable[[str], Installation], engine: Sequence[str] = ENGINE
    ) -> None:
        self._state = state
        self._install = install
        self._engine = engine
        self._served: dict[str, _Served] = {}
        urls = {key: entry["url"] for key, entry in endpoints.read(state).items()}
        self._ports = {key: int(url.rsplit(":", 1)[1]) for key, url in urls.items() if url}
        shutil.rmtree(state / _FOLDER, ignore_errors=True)

    def step(self, graphs: Iterable[Graph]) -> None:
        """Does what there is to do now and returns at once."""
        wanted = {graph.key: graph for graph in graphs}
        for key in {**wanted, **self._served}:
            served = self._served.setdefault(key, _Served(self._state / _FOLDER / key))
            served.graph = wanted.get(key)
            self._make_ready(served)
            self._keep(served)
            served.reap()
            if not (served.graph or served.leaving):
                del self._served[key]
        self._publish()

    def close(self) -> None:
        """Ends everything and waits for it."""
        self.step([])
        while self._served:
            time.sleep(0.05)
            self.step([])

    def _make_ready(self, served: _Served) -> None:
        """Has the graph's release installed, or says why it cannot be run."""
        if served.graph is None:
            return
        release = served.graph.release
        if release == served.release and (served.installed or time.monotonic() < served.next_try):
            return
        served.release, served.installed, served.reason = release, None, ""
        try:
            served.installed = self._install(release)
        except DynamoError as error:
            _log.warning("no endpoint for %s: %s", served.folder, error)
            served.reason, served.next_try = str(error), time.monotonic() + _SECONDS_BETWEEN_INSTALLATIONS

    def _keep(self, served: _Served) -> None:
        """Brings the processes of one graph a step nearer to the wanted ones."""
        wanted = self._plan(served)
        frontend = served.running.get(FRONTEND)
        if frontend and frontend.process != wanted.get(FRONTEND):
            for name in list(served.running):
                served.end(name)
        elif frontend and frontend.ended():
            # Its workers start anew too: on the old discovery directory it would believe in workers that are dead.
            for name in served.running.keys() - {FRONTEND}:
                served.end(name, grace=0.0)
            if not frontend.may_restart():
                return
        if not wanted or (FRONTEND not in served.running and served.leaving):
            return
        if FRONTEND not in served.running or served.running[FRONTEND].ended():
            self._clear(served)
            wanted = self._plan(served)
        for name in served.running.keys() - wanted.keys():
            served.end(name)
        for name, process in wanted.items():
            current = served.running.get(name)
            if current and current.process.uid != process.uid:
                served.end(name)
                current = None
            if not current or (current.ended() and current.may_restart()):
                _forget_dead(served.folder / DISCOVERY / "v1")
                _log.info("starting %s of %s", name, served.folder)
                restarts = current.restarts + 1 if current else 0
                popen = _start(served, process)
                served.running[name] = _Running(process, popen, time.monotonic(), restarts)

    def _plan(self, served: _Served) -> dict[str, Process]:
        if served.graph is None or served.installed is None:
            return {}
        planned = plan(served.graph, served.installed, served.port, self._engine)
        return {process.name: process for process in planned}

    def _clear(self, served: _Served) -> None:
        """A new start of the whole graph: an empty discovery directory and a port that is free."""
        assert served.graph is not None
        shutil.rmtree(served.folder / DISCOVERY, ignore_errors=True)
        served.folder.mkdir(parents=True, exist_ok=True)
        kept = served.port or self._ports.get(served.graph.key, USUAL_PORT)
        taken = {other.port for other in self._served.values() if other is not served}
        free = kept not in taken and processes.is_free(kept)
        served.port = kept if free else processes.free_ports(1)[0]

    def _publish(self) -> None:
        """Tells where the graphs answer, if something changed."""
        entries = {key: _entry(served) for key, served in self._served.items() if served.graph}
        if entries != endpoints.read(self._state):
            endpoints.write(self._state, entries)


def _start(served: _Served, process: Process) -> subprocess.Popen[bytes]:
    assert served.installed is not None
    with (served.folder / f"{process.name}.log").open("ab") as log:
        return subprocess.Popen(
            process.argv,
            cwd=served.folder,
            env=environment(served.folder, served.installed),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_end_with_parent,  # noqa: PLW1509  # this daemon has no threads
        )


def _entry(served: _Served) -> dict[str, Any]:
    workers = served.graph.workers if served.graph else ()
    return {
        "url": f"http://127.0.0.1:{served.port}" if served.installed else "",
        "release": served.release if served.installed else "",
        "reason": served.reason,
        "models": sorted({worker.model for worker in workers}),
        "roles": sorted({worker.role for worker in workers}),
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
