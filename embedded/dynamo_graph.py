"""What is run for the graphs of the embedded cluster: from pods to processes. Pure."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedded import worker_pod
from embedded.dynamo import Installation
from embedded.paths import PROJECT
from manifests.names import CACHE_PATH, VERSION_LABEL

GRAPH = "nvidia.com/dynamo-graph-deployment-name"
_TYPES = ("nvidia.com/dynamo-sub-component-type", "nvidia.com/dynamo-component-type")
"""Labels that say what a pod is, the more precise one first."""

_FOLLOWER = re.compile(r"-wkr-\d+$")
"""Grove's names of a replica's other nodes: the engine answers from its leader."""

FRONTEND = "frontend"
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


def desired(pods: Iterable[Mapping[str, Any]]) -> list[Graph]:
    """The graphs to serve, from the API server's pods; those that do not run or are being deleted do not count."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for pod in pods:
        metadata = pod["metadata"]
        name = metadata.get("labels", {}).get(GRAPH)
        if _FOLLOWER.search(metadata["name"]):
            continue
        if name and pod["status"].get("phase") == "Running" and "deletionTimestamp" not in metadata:
            found.setdefault((metadata["namespace"], name), []).extend(worker_pod.members(pod))
    graphs = (_graph(namespace, name, members) for (namespace, name), members in sorted(found.items()))
    return [graph for graph in graphs if graph]


def _graph(namespace: str, name: str, pods: list[Mapping[str, Any]]) -> Graph | None:
    by_role: dict[str, list[Mapping[str, Any]]] = {}
    for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["name"])):
        by_role.setdefault(_role(pod), []).append(pod)
    if FRONTEND not in by_role:
        return None
    if "prefill" in by_role:  # vLLM's and SGLang's decode workers need not say that they are
        by_role["decode"] = by_role.get("decode", []) + by_role.pop("agg", [])
    frontend = by_role[FRONTEND][0]
    return Graph(
        namespace,
        name,
        frontend["metadata"]["uid"],
        frontend["metadata"]["labels"].get(VERSION_LABEL, ""),
        _arguments_of(_FRONTEND_MODULE, frontend),
        tuple(_worker(pod, role) for role in ("prefill", "decode", "agg") for pod in by_role.get(role, ())),
    )


def _role(pod: Mapping[str, Any]) -> str:
    labels = pod["metadata"]["labels"]
    options = _options(pod)
    said = [labels.get(key, "") for key in _TYPES]
    said += [options.get("--disaggregation-mode", ""), "prefill" if "--is-prefill-worker" in options else ""]
    known = (word for word in said if word in (FRONTEND, "prefill", "decode", "planner", "epp"))
    return next(known, "agg")


def _worker(pod: Mapping[str, Any], role: str) -> Worker:
    options = _options(pod)
    named = (options.get(key) for key in ("--served-model-name", "--model-name", "--model", "--model-path"))
    parsers = ("--dyn-reasoning-parser", "--dyn-tool-call-parser")
    metadata = pod["metadata"]
    return Worker(
        metadata["name"],
        metadata["uid"],
        role,
        next((name for name in named if name), "model"),
        tuple(word for key in parsers if key in options for word in (key, options[key])),
    )


def _main(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    containers: list[Mapping[str, Any]] = pod["spec"]["containers"]
    return next((one for one in containers if one["name"] == "main"), containers[0])


def _options(pod: Mapping[str, Any]) -> dict[str, str]:
    """The main container's flags and values."""
    words = _words(pod)
    options: dict[str, str] = {}
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("--"):
            key, _, value = word.partition("=")
            options[key] = value or ("" if following.startswith("--") else following)
    return options


def _arguments_of(module: str, pod: Mapping[str, Any]) -> tuple[str, ...]:
    """What the main container gives the Python module; nothing if it does not name it."""
    words = _words(pod)
    return tuple(words[words.index(module) + 1 :]) if module in words else ()


def _words(pod: Mapping[str, Any]) -> list[str]:
    """The main container's command line."""
    main = _main(pod)
    return [*main.get("command", ()), *main.get("args", ())]


def plan(graph: Graph, installed: Installation, port: int, engine: Sequence[str] = ENGINE) -> list[Process]:
    """The processes of a graph: its frontend first, then its workers under their pods' names."""
    python = str(installed.python)
    # The namespace that Dynamo's operator gives a graph.
    namespace = f"{graph.namespace}-{graph.name}"
    given = (word.replace(CACHE_PATH, str(installed.models)) for word in graph.frontend)
    # Of an option that is said twice the last one counts.
    here = ("--http-host", "127.0.0.1", "--http-port", str(port))
    frontend = (python, "-m", _FRONTEND_MODULE, *given, *here)
    return [
        Process(FRONTEND, graph.uid, frontend),
        *(
            Process(
                worker.pod,
                worker.uid,
                (
                    *(python, "-m", *engine, "--model-path", str(installed.model)),
                    *("--served-model-name", worker.model, "--namespace", namespace),
                    *("--disaggregation-mode", worker.role, *worker.parsers),
                ),
            )
            for worker in graph.workers
        ),
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
