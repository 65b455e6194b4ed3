"""The data plane of the embedded cluster: `python -m embedded.dataplane --kubeconfig K --state DIR`.

Scaffolding for newcomers and tests. The pods of the embedded cluster are simulated, so nothing runs in them. For
every graph whose frontend pod runs, this daemon starts the real Dynamo frontend, and for every worker pod that runs
a real Dynamo worker with a scripted engine (embedded/engines/). It keeps them in step with the pods, as a kubelet
would: what ends by itself is started again after a growing pause. A pod's own status stays the simulation's.

All of Dynamo's ports are on 127.0.0.1. A graph has its own discovery directory, so graphs never see each other.
"""

import argparse
import ctypes
import json
import logging
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import kopf

from embedded import dynamo, processes
from embedded.dynamo import CannotRunError, DynamoError, Installation
from embedded.dynamo_graph import (
    DISCOVERY,
    ENGINE,
    FRONTEND,
    GRAPH,
    Graph,
    Process,
    desired,
    environment,
    plan,
)
from embedded.files import write_whole

SIMULATED = "engines (scripted text at a made-up pace; no weights, no GPU)"
USUAL_PORT = 8000
"""The first graph's, if it is free, so that commands copied from Dynamo's guides work as they are."""
_ENDPOINTS = "endpoints.json"
_FOLDER = "dataplane"

_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_TO_END = 5.0
_SECONDS_BETWEEN_INSTALLATIONS = 60.0
_SECONDS_FOR_AN_ANSWER = 20.0
_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before the first, second, ... restart in a row."""
_SECONDS_OF_HEALTH = 30.0
"""A process that lived this long starts again with the first pause."""

_LIBC = ctypes.CDLL(None)
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Past any proxy of the environment: everything here is on 127.0.0.1."""
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

    state: the embedded cluster's state folder; `endpoints.json` in it says where each graph answers. install: makes
    a release ready at its first use, or raises DynamoError; what runs keeps running meanwhile, unwatched.
    """

    def __init__(
        self, state: Path, install: Callable[[str], Installation], engine: Sequence[str] = ENGINE
    ) -> None:
        self._state = state
        self._install = install
        self._engine = engine
        self._served: dict[str, _Served] = {}
        urls = {key: entry["url"] for key, entry in endpoints(state).items()}
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
        """Writes endpoints.json if something changed; readers never see half of it."""
        entries = {key: _entry(served) for key, served in self._served.items() if served.graph}
        if entries != endpoints(self._state):
            write_whole(self._state / _ENDPOINTS, json.dumps(entries, indent=1))


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
        "simulated": SIMULATED,
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


def endpoints(state: Path) -> dict[str, Any]:
    """By `namespace/graph`: url, release, reason, models, roles, simulated, processes (pids by name), logs (folder).

    release: the Dynamo release that answers. reason: why none does, where url and release are empty.
    """
    path = state / _ENDPOINTS
    entries: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return entries


def endpoint(state: Path, namespace: str, graph: str, timeout: float) -> str:
    """The URL at which a graph answers, once it does. Raises DynamoError after `timeout` seconds.

    Raises CannotRunError at once if its release is not run here.
    """
    deadline = time.monotonic() + timeout
    key = f"{namespace}/{graph}"
    while True:
        entry = endpoints(state).get(key)
        if entry and entry["reason"]:
            raise CannotRunError(f"graph {key} has no endpoint: {entry['reason']}")
        if entry and entry["models"] and all(_answers(entry["url"], model) for model in entry["models"]):
            return str(entry["url"])
        if time.monotonic() > deadline:
            where = f"its logs are in {entry['logs']}" if entry else "no running frontend pod of it was seen"
            raise DynamoError(f"graph {key} does not answer after {timeout:.0f} s: {where}")
        time.sleep(0.2)


def _answers(url: str, model: str) -> bool:
    """Whether the model is served: releases list it, and some call it ready, before it is."""
    body = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with _DIRECT.open(request, timeout=_SECONDS_FOR_AN_ANSWER) as answer:
            return bool(json.load(answer)["usage"]["completion_tokens"] > 0)
    except (OSError, KeyError, TypeError, ValueError):
        return False


class _Pods:
    """The graphs' pods on the API server of $KUBECONFIG."""

    def __init__(self) -> None:
        login = kopf.login_with_kubeconfig(settings=kopf.OperatorSettings())
        if login is None:
            raise kopf.LoginError("no kubeconfig")
        self._request = urllib.request.Request(
            f"{login.server}/api/v1/pods?labelSelector={GRAPH}", headers=dict(login.as_http_headers())
        )
        self._context = login.as_ssl_context()

    def list(self) -> list[Mapping[str, Any]]:
        """Raises OSError while the API server does not answer."""
        with urllib.request.urlopen(self._request, timeout=10, context=self._context) as answer:
            items: list[Mapping[str, Any]] = json.load(answer)["items"]
        return items


def _terminated(_: int, __: FrameType | None) -> None:
    raise SystemExit(0)


def main() -> None:
    """Serves the cluster's graphs until SIGTERM."""
    parser = argparse.ArgumentParser(
        description="Serve the graphs of the embedded cluster with the real Dynamo."
    )
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True, help="the embedded cluster's state folder")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    os.environ["KUBECONFIG"] = str(arguments.kubeconfig)
    signal.signal(signal.SIGTERM, _terminated)
    supervisor = Supervisor(arguments.state, lambda release: dynamo.install(release, _log.info))
    pods = _Pods()
    try:
        while True:
            try:
                supervisor.step(desired(pods.list()))
            except OSError as error:
                _log.warning("the API server does not answer, what runs keeps running: %s", error)
            time.sleep(_SECONDS_BETWEEN_LOOKS)
    finally:
        supervisor.close()


if __name__ == "__main__":
    main()
