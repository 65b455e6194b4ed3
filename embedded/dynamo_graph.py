"""What is run for the graphs of the embedded cluster: from pods to processes. Pure."""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedded.dynamo import Installation
from embedded.operator.pods import GRAPH, SUBTYPE, TYPE
from embedded.paths import PROJECT
from manifests.names import CACHE_PATH, VERSION_LABEL

_FOLLOWER = re.compile(r"-wkr-\d+$")
"""Grove's names of a replica's other nodes: the engine answers from its leader."""

FRONTEND = "frontend"
_ROLES = (FRONTEND, "prefill", "decode", "planner", "epp")
_FRONTEND_MODULE = "dynamo.frontend"
ENGINE = ("embedded.engines.scripted",)
"""Module of the engine, and arguments beside those of its pod."""
DISCOVERY = "discovery"
"""Folder of a graph's registrations, in its own folder."""


@dataclass(frozen=True)
class Worker:
    """One worker pod. uid: the pod's, a pod made anew is another worker. role: agg, prefill or decode."""

    pod: str
    uid: str
    role: str
    model: str
    parsers: tuple[str, ...]


@dataclass(frozen=True)
class Graph:
    """A graph whose frontend pod runs (`uid`: that pod's), with its worker pods that run.

    release: the Dynamo release that its label says, empty if it has none. frontend: the arguments of
    `dynamo.frontend`.
    """

    namespace: str
    name: str
    uid: str
    release: str
    frontend: tuple[str, ...]
    workers: tuple[Worker, ...]

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class Process:
    """A process to keep running for a pod; anything that differs makes it another process."""

    name: str
    uid: str
    argv: tuple[str, ...]


@dataclass(frozen=True)
class _Member:
    """One frontend or worker that a pod runs. words: its command line."""

    name: str
    uid: str
    labels: Mapping[str, str]
    words: Sequence[str]

    @property
    def options(self) -> dict[str, str]:
        """Flags and values of the command line."""
        options: dict[str, str] = {}
        for word, following in zip(self.words, [*self.words[1:], ""], strict=True):
            if word.startswith("--"):
                key, _, value = word.partition("=")
                options[key] = value or ("" if following.startswith("--") else following)
        return options

    @property
    def role(self) -> str:
        options = self.options
        flag = "prefill" if "--is-prefill-worker" in options else None
        # The more precise label first.
        words = (self.labels.get(SUBTYPE), self.labels.get(TYPE), options.get("--disaggregation-mode"), flag)
        return next((word for word in words if word in _ROLES), "agg")


def graphs_of(pods: Iterable[Mapping[str, Any]]) -> list[Graph]:
    """The graphs to serve, from the API server's pods; those that do not run or are being deleted do not count."""
    members: dict[tuple[str, str], list[_Member]] = {}
    for pod in pods:
        metadata = pod["metadata"]
        graph = metadata.get("labels", {}).get(GRAPH)
        runs = pod["status"].get("phase") == "Running" and "deletionTimestamp" not in metadata
        if graph and runs and not _FOLLOWER.search(metadata["name"]):
            members.setdefault((metadata["namespace"], graph), []).extend(_members(pod))
    graphs = (_graph(namespace, name, found) for (namespace, name), found in sorted(members.items()))
    return [graph for graph in graphs if graph]


def _members(pod: Mapping[str, Any]) -> Iterator[_Member]:
    """What the pod's main container runs: several workers if it is pods/run_workers.py."""
    metadata, containers = pod["metadata"], pod["spec"]["containers"]
    main = next((one for one in containers if one["name"] == "main"), containers[0])
    command, arguments = main.get("command", ()), main.get("args", ())
    if not any(word.endswith("/run_workers.py") for word in command):
        yield _Member(metadata["name"], metadata["uid"], metadata["labels"], (*command, *arguments))
        return
    for line in arguments:
        name, _, words = line.partition(": ")
        yield _Member(
            f"{metadata['name']}-{name}", f"{metadata['uid']}/{name}", metadata["labels"], shlex.split(words)
        )


def _graph(namespace: str, name: str, members: Iterable[_Member]) -> Graph | None:
    by_role: dict[str, list[_Member]] = {}
    for member in sorted(members, key=lambda member: member.name):
        by_role.setdefault(member.role, []).append(member)
    if FRONTEND not in by_role:
        return None
    if "prefill" in by_role:  # vLLM's and SGLang's decode workers need not say that they are
        by_role["decode"] = by_role.get("decode", []) + by_role.pop("agg", [])
    frontend = by_role[FRONTEND][0]
    words = frontend.words
    return Graph(
        namespace,
        name,
        frontend.uid,
        frontend.labels.get(VERSION_LABEL, ""),
        tuple(words[words.index(_FRONTEND_MODULE) + 1 :]) if _FRONTEND_MODULE in words else (),
        tuple(
            _worker(member, role) for role in ("prefill", "decode", "agg") for member in by_role.get(role, ())
        ),
    )


def _worker(member: _Member, role: str) -> Worker:
    options = member.options
    names = (options.get(key) for key in ("--served-model-name", "--model-name", "--model", "--model-path"))
    parsers = ("--dyn-reasoning-parser", "--dyn-tool-call-parser")
    return Worker(
        member.name,
        member.uid,
        role,
        next((name for name in names if name), "model"),
        tuple(word for key in parsers if key in options for word in (key, options[key])),
    )


def processes_of(
    graph: Graph, installed: Installation, port: int, engine: Sequence[str] = ENGINE
) -> list[Process]:
    """The processes of a graph: its frontend first, then its workers under their pods' names."""
    module = (str(installed.python), "-m")
    flags = (word.replace(CACHE_PATH, str(installed.models)) for word in graph.frontend)
    # Of an option that comes twice the last one counts.
    here = ("--http-host", "127.0.0.1", "--http-port", str(port))
    frontend = Process(FRONTEND, graph.uid, (*module, _FRONTEND_MODULE, *flags, *here))
    # The namespace that Dynamo's operator gives a graph.
    registered = ("--model-path", str(installed.model), "--namespace", f"{graph.namespace}-{graph.name}")
    workers = (
        (worker, ("--served-model-name", worker.model, "--disaggregation-mode", worker.role, *worker.parsers))
        for worker in graph.workers
    )
    return [
        frontend,
        *(Process(worker.pod, worker.uid, (*module, *engine, *registered, *own)) for worker, own in workers),
    ]


def environment(folder: Path, installed: Installation) -> dict[str, str]:
    """All that a process of a graph knows: nothing of the user's environment but where programs are."""
    loopback = ("DYN_TCP_RPC_HOST", "DYN_EVENT_PLANE_HOST", "DYN_SYSTEM_HOST")
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(PROJECT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(folder),  # Dynamo keeps model cards under ~/.cache
        "TMPDIR": str(folder),  # each process leaves its logging configuration there
        "HF_HOME": str(installed.models),
        "HF_HUB_OFFLINE": "1",
        "TIKTOKEN_ENCODINGS_BASE": str(installed.vocabulary),
        "DYN_DISCOVERY_BACKEND": "file",
        "DYN_FILE_KV": str(folder / DISCOVERY),
        "DYN_REQUEST_PLANE": "tcp",
        "DYN_EVENT_PLANE": "zmq",
        "DYN_GRACEFUL_SHUTDOWN_GRACE_PERIOD_SECS": "0",
        # Frontends up to 1.2 wait this long, whatever there is to wait for.
        "DYN_HTTP_GRACEFUL_SHUTDOWN_TIMEOUT_SECS": "1",
        **dict.fromkeys(loopback, "127.0.0.1"),
        # Up to 1.4 only an interface is understood. 1.0 does not know it and takes the machine's own address.
        "DYN_TCP_RESPONSE_STREAM_HOST": "lo",
        # Up to 1.4 frontends with the kv router listen for events on every address unless a broker takes them. There
        # is none: the scripted engine has no KV events, and a graph has one frontend, so there is nobody to tell.
        "DYN_ZMQ_BROKER_URL": "xsub=ipc://events-in,xpub=ipc://events-out",
    }
