"""The verification gate against every Dynamo release that can be run here: `python -m tests.matrix`.

One table: releases × {aggregated, disaggregated} × {round-robin, kv}, which must be green, and graphs that are
broken in ways which the gate must tell apart. Frontend, router, discovery and parsers are those of the release, from
PyPI; the engines are scripted. Green also means that OpenAI's own client streams an answer and calls a tool.
"""

import argparse
import json
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from openai import OpenAI

from embedded import dynamo
from embedded.dynamo import Installation
from embedded.dynamo_graph import ENGINE, Graph
from facts.releases import LATEST_PATCH
from pods.verification.advice import ADVICE
from pods.verification.checks import verify
from pods.verification.expectation import Expectation
from pods.verification.results import FAILED, Result
from tests.live import AT_ONCE, MODEL, DataPlane, graph, installed, started, worker
from tests.waiting import PATIENCE, eventually

RELEASES = tuple(LATEST_PATCH.values())
ROLES = {"aggregated": ("agg",), "disaggregated": ("prefill", "decode")}
ROUTERS = ("round-robin", "kv")
_BAD_ENGINE = "tests.embedded.bad_engine"


@dataclass(frozen=True)
class Fault:
    """A way to break a disaggregated graph, and the advice that the gate may give for it.

    change: of the graph before it starts. leaves, killed: a worker that ends, or dies, once all is well. vocabulary:
    whether the frontend has it. engine: module of the workers' engine, and arguments.
    """

    advice: frozenset[str]
    change: Callable[[Graph], Graph] = lambda healthy: healthy
    leaves: str = ""
    killed: str = ""
    vocabulary: bool = True
    engine: Sequence[str] = ENGINE


def _changed(healthy: Graph, *roles: str, **changes: Any) -> Graph:
    """The graph with other workers of these roles."""
    workers = (replace(w, **changes) if w.role in roles else w for w in healthy.workers)
    return replace(healthy, workers=tuple(workers))


FAULTS: Mapping[str, Fault] = {
    "no prefill": Fault(frozenset({"role missing"}), leaves="prefill-0"),
    "no decode": Fault(frozenset({"role missing"}), leaves="decode-0"),
    "dead prefill": Fault(frozenset({"not served", "not ready"}), killed="prefill-0"),
    "dead decode": Fault(frozenset({"not served", "not ready"}), killed="decode-0"),
    "no parsers": Fault(
        frozenset({"no reasoning", "no tool call"}), change=lambda g: _changed(g, "decode", parsers=())
    ),
    "no vocabulary": Fault(frozenset({"no reasoning", "no tool call"}), vocabulary=False),
    "other model": Fault(
        frozenset({"other model", "no model"}),
        change=lambda g: _changed(g, "prefill", "decode", model="other/model"),
    ),
    "empty answers": Fault(frozenset({"empty"}), engine=(_BAD_ENGINE, "--fault", "empty")),
    "no answers": Fault(frozenset({"timeout"}), engine=(_BAD_ENGINE, "--fault", "silent")),
}


@dataclass(frozen=True)
class Cell:
    """A place in the table; fault: a key of FAULTS, or nothing."""

    release: str
    topology: str
    router: str
    fault: str = ""

    @property
    def graph(self) -> Graph:
        """The graph as it is meant to be."""
        workers = map(worker, ROLES[self.topology])
        return graph(f"gpt-oss-{self.topology}", *workers, router=self.router, release=self.release)

    @property
    def expected(self) -> Expectation:
        """What the gate is told."""
        disaggregated = self.topology == "disaggregated"
        roles = ROLES[self.topology] if disaggregated else ("worker",)
        return Expectation(MODEL, roles, disaggregated, version=self.release, router_mode=self.router)


@contextmanager
def served(
    cell: Cell, state: Path, install: Callable[[str], Installation] = installed
) -> Iterator[tuple[DataPlane, str]]:
    """The cell's graph on a data plane of its own, and its URL; broken, if the cell has a fault.

    state: a folder that is not there yet. Its processes have ended when the block ends.
    """
    fault = FAULTS[cell.fault] if cell.fault else Fault(frozenset())

    def without_vocabulary(release: str) -> Installation:
        (state / "empty").mkdir(exist_ok=True)
        return replace(install(release), vocabulary=state / "empty")

    plane = started(state, (*fault.engine, *AT_ONCE), install if fault.vocabulary else without_vocabulary)
    whole = fault.change(cell.graph)
    try:
        if fault.change(cell.graph) == cell.graph and _BAD_ENGINE not in fault.engine:
            plane.serve(whole)
        else:  # it never becomes ready
            plane.supervisor.step([whole])
            eventually(lambda: _registered(plane, whole) == len(whole.workers))
            eventually(lambda: _listed(plane, whole) == {each.model for each in whole.workers})
        if fault.killed:
            plane.kill(whole, fault.killed)
            plane.keep_registrations()
        if fault.leaves:
            rest = replace(whole, workers=tuple(w for w in whole.workers if w.pod != fault.leaves))
            plane.supervisor.step([rest])
            eventually(lambda: _registered(plane, whole) == len(rest.workers))
        yield plane, plane.url(whole)
    finally:
        plane.supervisor.close()


def _registered(plane: DataPlane, served: Graph) -> int:
    """How many workers the frontend knows."""
    return sum(one["endpoint"] == "generate" for one in _asked(plane, served, "/health").get("instances", []))


def _listed(plane: DataPlane, served: Graph) -> set[str]:
    """The models that the frontend lists: later than their workers."""
    return {one["id"] for one in _asked(plane, served, "/v1/models").get("data", [])}


def _asked(plane: DataPlane, served: Graph, path: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(f"{plane.url(served)}{path}", timeout=30) as answer:
            return dict(json.load(answer))
    except OSError:
        return {}


def failures(cell: Cell, url: str) -> dict[str, tuple[Result, str]]:
    """The gate's failed checks with the key of their advice, in order."""
    results = verify(url, cell.expected, wait=3.0, request_timeout=20.0 if cell.fault else PATIENCE)
    keys = {said: key for key, said in ADVICE.items()}
    return {
        result.name: (result, keys[result.meaning, result.next_step])
        for result in results
        if result.outcome == FAILED
    }


def wrong(cell: Cell, url: str) -> str:
    """What is not as it should be; empty if a healthy graph is green and a broken one red for the right reason."""
    found = failures(cell, url)
    if not cell.fault:
        said = [f"{name}: {result.detail}" for name, (result, _) in found.items()]
        return "; ".join(said) or talk(url)
    advice = {advice for _, advice in found.values()}
    if not advice:
        return "the gate is green"
    return "" if advice <= FAULTS[cell.fault].advice else f"the gate says {', '.join(sorted(advice))}"


_TOOL: Any = {
    "type": "function",
    "function": {"name": "get_system_health", "parameters": {"type": "object", "properties": {}}},
}


def talk(url: str) -> str:
    """What OpenAI's client cannot do with the endpoint: stream an answer, call a tool and use its result."""
    question: Any = {"role": "user", "content": "Is the system's health fine?"}
    with OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=PATIENCE) as client:
        with client.chat.completions.create(model=MODEL, messages=[question], stream=True) as chunks:
            deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
        if not "".join(delta.content or "" for delta in deltas).strip():
            return "OpenAI's client: an empty stream"
        first = client.chat.completions.create(model=MODEL, messages=[question], tools=[_TOOL])
        message = first.choices[0].message
        if first.choices[0].finish_reason != "tool_calls" or not message.tool_calls:
            return "OpenAI's client: no tool call"
        result: Any = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "fine-4711"}
        told = [question, message.to_dict(), result]
        second = client.chat.completions.create(model=MODEL, messages=told, tools=[_TOOL])
        if "fine-4711" not in str(second.choices[0].message.content):
            return "OpenAI's client: the tool's result is lost"
    return ""


def healthy(release: str) -> list[Cell]:
    """The release's graphs that must be green."""
    return [Cell(release, topology, router) for topology, router in product(ROLES, ROUTERS)]


def broken(release: str) -> list[Cell]:
    """The release's graphs that must be red."""
    return [Cell(release, "disaggregated", "round-robin", fault) for fault in FAULTS]


def main() -> None:
    """Prints the table; ends with 1 if a cell is not as it should be."""
    parser = argparse.ArgumentParser(description="Verify graphs of every Dynamo release, healthy and broken.")
    parser.add_argument("--release", action="append", choices=RELEASES, help="only this one; repeatable")
    parser.add_argument("--healthy", action="store_true", help="leave out the broken graphs")
    given = parser.parse_args()
    reasons: list[str] = []
    rows: list[list[str]] = []
    for release in given.release or RELEASES:
        if reason := dynamo.unavailable(release):
            rows.append([release, f"cannot be run here: {reason}"])
            continue
        dynamo.install(release, lambda line: print(line, file=sys.stderr))
        cells = healthy(release) + ([] if given.healthy else broken(release))
        rows.append([release, *(_tried(cell, reasons) for cell in cells)])
    names = [f"{topology} {router}" for topology, router in product(ROLES, ROUTERS)]
    _print_table([["release", *names, *([] if given.healthy else FAULTS)], *rows])
    print("\n".join(reasons))
    sys.exit(1 if reasons else 0)


def _tried(cell: Cell, reasons: list[str]) -> str:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            with served(cell, Path(folder) / "state") as (_, url):
                reason = wrong(cell, url)
        except (AssertionError, OSError) as error:
            reason = f"it does not start: {str(error)[-400:]}"
    seconds = time.monotonic() - began
    print(f"{cell} {reason or 'as it should be'} ({seconds:.1f} s)", file=sys.stderr, flush=True)
    if reason:
        reasons.append(f"{cell}: {reason}")
        return "WRONG"
    return "red" if cell.fault else "green"


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[at]) for row in rows if at < len(row) > 2) for at in range(len(rows[0]))]
    for row in rows:
        print("  ".join(word.ljust(widths[at]) for at, word in enumerate(row)).rstrip())


if __name__ == "__main__":
    main()
