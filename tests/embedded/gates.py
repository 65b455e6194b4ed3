"""Gates of fresh graphs on a busy machine: `python -m tests.embedded.gates --rounds 200` prints each, and the sum.

A round starts Dynamo's frontend and workers of a release drawn by the seed, and verifies as soon as there is a URL, as
`ops up` does; every other round once more, after one process was killed. Busy loops keep the processors from it.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from embedded import endpoints
from embedded.dynamo_graph import ENGINE, FRONTEND, Graph
from facts.releases import LATEST_PATCH, Version
from pods.verification import checks
from pods.verification.expectation import Expectation
from pods.verification.results import Result
from tests.live import MODEL, DataPlane, graph, started, worker
from tests.waiting import eventually

RELEASES = [release for release in LATEST_PATCH.values() if Version.parse(release) >= Version(1, 0, 0)]
"""Those that run here: before 1.0 a frontend finds its workers through etcd and NATS."""
_SECONDS = 180.0


@dataclass(frozen=True)
class Gate:
    """One verification. killed: the process that was killed before it, if any."""

    release: str
    graph: str
    killed: str
    results: tuple[Result, ...]

    @property
    def failed(self) -> list[str]:
        """What each failed check saw."""
        return [f"{each.name}: {each.detail}" for each in self.results if not each.ok]

    @property
    def again(self) -> int:
        """Checks that were tried more than once."""
        return sum(each.attempts > 1 for each in self.results)


def gates(rounds: int, seed: int) -> Iterator[Gate]:
    """Each gate as it is done: one a round, and a second one in every other."""
    draw = random.Random(seed)
    for turn in range(rounds):
        release, disaggregated = draw.choice(RELEASES), draw.random() < 0.5
        workers = [worker("prefill"), worker("decode")] if disaggregated else [worker("agg")]
        served = graph("gate", *workers, router="round-robin" if disaggregated else "kv", release=release)
        with tempfile.TemporaryDirectory() as folder:
            plane = started(Path(folder) / "state", ENGINE)
            try:
                with kept_running(plane, served):
                    yield Gate(release, served.name, "", _verified(plane, served))
                if turn % 2:
                    killed = draw.choice([FRONTEND, *(each.pod for each in workers)])
                    plane.kill(served, killed)
                    with kept_running(plane, served):
                        yield Gate(release, served.name, killed, _verified(plane, served))
            finally:
                plane.supervisor.close()


def _verified(plane: DataPlane, served: Graph) -> tuple[Result, ...]:
    roles = tuple(each.role for each in served.workers)
    expected = Expectation(
        MODEL,
        roles if len(roles) > 1 else ("worker",),
        disaggregated=len(roles) > 1,
        version=served.release,
        router_mode=served.frontend[1],
    )
    url = ready_url(plane, served)
    return tuple(checks.verify(url, expected, wait=_SECONDS, request_timeout=_SECONDS))


def ready_url(plane: DataPlane, served: Graph) -> str:
    """Where the graph is served, once all of its processes are there."""
    names = {FRONTEND, *(each.pod for each in served.workers)}

    def url() -> str:
        entry = endpoints.read(plane.state).get(served.key, {})
        return str(entry["url"] or "") if set(entry.get("processes", ())) == names else ""

    eventually(url, _SECONDS)
    return url()


@contextmanager
def kept_running(plane: DataPlane, served: Graph) -> Iterator[None]:
    """The supervisor at its work, as its daemon does it."""
    over = threading.Event()

    def step() -> None:
        while not over.is_set():
            plane.supervisor.step([served])
            over.wait(1)

    plane.supervisor.step([served])  # here, so that what it raises is seen
    thread = threading.Thread(target=step)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """So many processes that do nothing, as fast as they can."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


def main() -> None:
    """A line for each gate, and one of all; ends with 1 if one failed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1122)
    parser.add_argument("--busy", type=int, default=4, help="busy loops beside it")
    given = parser.parse_args()
    done: list[Gate] = []
    with busy(given.busy):
        for gate in gates(given.rounds, given.seed):
            done.append(gate)
            said = "; ".join(gate.failed) or "ok"
            after = f" after kill -9 of {gate.killed}" if gate.killed else ""
            print(f"{len(done)} {gate.release} load {os.getloadavg()[0]:.1f}{after}: {said}", flush=True)
    failed = sum(bool(gate.failed) for gate in done)
    again = sum(gate.again for gate in done)
    print(f"{len(done)} gates, {failed} failed, {again} checks were tried again")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
