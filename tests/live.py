"""One data plane for the whole test session, without a cluster.

Nothing is restarted unless a test lets the supervisor step, so a fault stays until it has been looked at.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from embedded import dynamo, endpoints, processes
from embedded.dynamo import Installation
from embedded.dynamo_graph import ENGINE, FRONTEND, Graph, Worker
from embedded.processes import Report
from embedded.supervisor import Supervisor
from facts.releases import LATEST_PATCH
from tests.waiting import PATIENCE

MODEL = "openai/gpt-oss-120b"
PARSERS = ("--dyn-reasoning-parser", "gpt_oss", "--dyn-tool-call-parser", "harmony")
AT_ONCE = ("--token-seconds", "0", "--prompt-token-seconds", "0")


NEWEST = [*LATEST_PATCH.values()][-1]


def worker(role: str, index: int = 0, **more: object) -> Worker:
    given = {"uid": f"{role}-{index}", "model": MODEL, "parsers": PARSERS, **more}
    return Worker(pod=f"{role}-{index}", role=role, **given)  # type: ignore[arg-type]


def graph(name: str, *workers: Worker, router: str = "round-robin", release: str = NEWEST) -> Graph:
    """A graph with the frontend's flags that the project renders."""
    return Graph("dynamo", name, "uid", release, ("--router-mode", router, "--http-port", "8000"), workers)


DISAGGREGATED = graph("gpt-oss-disagg", worker("prefill"), worker("decode"))
AGGREGATED = graph("gpt-oss-agg", worker("agg"), router="kv")


@dataclass
class DataPlane:
    """A supervisor and the graphs that it is told to serve."""

    state: Path
    supervisor: Supervisor
    graphs: list[Graph] = field(default_factory=list)

    def serve(self, *graphs: Graph) -> None:
        """Serves these graphs and no others, and waits until each is ready."""
        self.graphs = list(graphs)
        self.settle()

    def settle(self) -> None:
        """Steps until every graph has just its processes, all registered, and answers."""
        self._renew_registrations(time.time())
        self.supervisor.step(self.graphs)  # the first one may install a release
        deadline = time.monotonic() + PATIENCE
        while not all(self._is_settled(graph) for graph in self.graphs):
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.1)
            self.supervisor.step(self.graphs)

    def _is_settled(self, graph: Graph) -> bool:
        entry = endpoints.read(self.state).get(graph.key)
        if not entry or set(entry["processes"]) != {FRONTEND, *(w.pod for w in graph.workers)}:
            return False
        if not all(_is_alive(pid) for pid in entry["processes"].values()):
            return False
        registered = list(Path(entry["logs"]).glob("discovery/v1/instances/*%2Fgenerate%2F*"))
        if len(registered) != len(graph.workers) or any(map(_is_dead, registered)):
            return False
        try:
            endpoints.wait_for(self.state, graph.namespace, graph.name, timeout=0)
        except dynamo.DynamoError:
            return False
        return True

    def url(self, graph: Graph) -> str:
        return str(endpoints.read(self.state)[graph.key]["url"])

    def pid(self, graph: Graph, name: str) -> int:
        return int(endpoints.read(self.state)[graph.key]["processes"][name])

    def kill(self, graph: Graph, *names: str) -> None:
        """kill -9, and nothing is started again before the next `settle`."""
        for name in names:
            os.kill(self.pid(graph, name), signal.SIGKILL)
        for name in names:
            while _is_alive(self.pid(graph, name)):
                time.sleep(0.01)

    def keep_registrations(self) -> None:
        """Of what was killed, until the next `settle`: a frontend forgets what nobody renewed for 10 seconds."""
        self._renew_registrations(time.time() + PATIENCE)

    def _renew_registrations(self, at: float) -> None:
        for registration in self.state.rglob("discovery/v1/*/*"):
            with suppress(FileNotFoundError):  # a frontend forgot it meanwhile
                os.utime(registration, (at, at))

    def logs(self) -> str:
        return "\n".join(path.read_text()[-2000:] for path in self.state.rglob("*.log"))


def _is_dead(registration: Path) -> bool:
    """Whether it is of a worker that no longer listens; one that is being written or removed counts as such."""
    try:
        address = json.loads(registration.read_text())["transport"]["tcp"].partition("/")[0]
    except (FileNotFoundError, ValueError):
        return True
    return processes.is_free(int(address.rpartition(":")[2]))


def _is_alive(pid: int) -> bool:
    """A zombie is dead: its supervisor has not looked yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def installed(release: str) -> Installation:
    return dynamo.install(release, print)


def started(
    state: Path, engine: Sequence[str], install: Callable[[str], Installation] = installed
) -> DataPlane:
    """A data plane of the test's own, to be closed by it."""
    state.mkdir()
    port = processes.free_ports(1)[0]  # the usual one is for the developer's own graphs
    return DataPlane(state, Supervisor(state, install, engine, port))


@pytest.fixture(scope="session")
def shared_plane(tmp_path_factory: pytest.TempPathFactory, progress: Report) -> Iterator[DataPlane]:
    state = tmp_path_factory.mktemp("live") / "state"
    plane = started(state, (*ENGINE, *AT_ONCE), lambda release: dynamo.install(release, progress))
    yield plane
    plane.supervisor.close()


@pytest.fixture
def plane(shared_plane: DataPlane) -> DataPlane:
    """The disaggregated and the aggregated graph, both ready."""
    shared_plane.serve(DISAGGREGATED, AGGREGATED)
    return shared_plane
