"""What is wrong on an embedded cluster once a plain verb has ended: what is lost, and what nobody asked for."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from embedded import cluster, endpoints, processes
from embedded.cluster import ClusterError
from embedded.paths import PROJECT
from manifests.kubectl import label
from ops.deploy.apply import STACK_LABEL, applyset
from ops.evaluate import evaluate
from ops.stack.stack import Stack, find
from ops.synth import manifests

KINDS = (
    "namespaces,nodes,configmaps,secrets,persistentvolumeclaims,jobs,cronjobs,services,serviceaccounts,roles,"
    "rolebindings,deployments,poddisruptionbudgets,dynamographdeployments"
)
DAEMONS = {
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "operator", "dataplane",
}  # fmt: skip
_BUILT_IN = ("configmap/kube-root-ca.crt", "serviceaccount/default", "serviceaccount/planner-serviceaccount")
"""Made in each namespace by controllers, the last by Dynamo's operator."""


@dataclass
class Remains:
    """lost: what the synth has and the cluster has not, or not so. orphaned: what there is besides."""

    lost: list[str] = field(default_factory=list)
    orphaned: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.lost or self.orphaned)

    def __iadd__(self, other: "Remains") -> "Remains":
        self.lost += other.lost
        self.orphaned += other.orphaned
        return self


@cache
def stack_of(name: str) -> Stack:
    """The stack as it goes onto the embedded cluster."""
    return find(name, embedded=True)


def after_up(names: Sequence[str], state: Path) -> Remains:
    """Of the objects of the stacks that should be there, and of all processes of the state folder."""
    stacks = [stack_of(name) for name in names]
    found = _of_processes(stacks, state)
    for stack in stacks:
        found += _of_objects(stack, state)
    return found


def after_down(state: Path, before: dict[int, list[int]]) -> Remains:
    """Of the last stack. before: what `ports` said while it was up."""
    ours = [f"process {each.pid} {' '.join(_words(each)[:4])}" for each in of_folder(state)]
    still = [f"port {port}" for pid, kept in ports([*before]).items() for port in kept if port in before[pid]]
    return Remains([], [*ours, *still, *([f"folder {state}"] if state.exists() else [])])


def of_folder(state: Path) -> list[psutil.Process]:
    """Every process that names the folder in its command line, or works in it."""
    return [each for each in psutil.process_iter() if _is_of(each, str(state))]


def ports(pids: list[int]) -> dict[int, list[int]]:
    """The TCP ports that processes listen on."""
    listening: dict[int, list[int]] = {}
    for pid in pids:
        with suppress(psutil.Error):
            for each in psutil.Process(pid).net_connections("tcp"):
                if each.status == psutil.CONN_LISTEN:
                    listening.setdefault(pid, []).append(each.laddr.port)
    return listening


def _is_of(process: psutil.Process, state: str) -> bool:
    with suppress(psutil.Error):
        if process.status() != psutil.STATUS_ZOMBIE:
            return any(state in word for word in process.cmdline()) or process.cwd().startswith(state)
    return False


def _words(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return ["(ended)"]


def _of_processes(stacks: list[Stack], state: Path) -> Remains:
    """One daemon of each name, one process for each that the endpoints name, and none besides."""
    found, known = Remains(), set[int]()
    for name in sorted(DAEMONS):
        daemon = processes.find(state, name)
        found.lost += [] if daemon else [f"process of {name}"]
        known |= {daemon.pid} if daemon else set()
    entries = endpoints.read(state)
    for stack in stacks:
        served = [key for key in entries if key.startswith(f"{stack.namespace}/")]
        found.lost += [] if served else [f"endpoint of {stack.name}"]
    for entry in entries.values():
        alive = {name: pid for name, pid in entry["processes"].items() if psutil.pid_exists(pid)}
        found.lost += [f"process of {name}" for name in entry["processes"].keys() - alive.keys()]
        known |= {*alive.values()}
    for each in of_folder(state):
        with suppress(psutil.Error):
            if not known & {each.pid, *(parent.pid for parent in each.parents())}:
                found.orphaned.append(f"process {each.pid} {' '.join(_words(each)[:4])}")
    return found


def _of_objects(stack: Stack, state: Path) -> Remains:
    """By name, and by what server-side apply of the synth would still change."""
    wanted = _wanted(stack.name)
    there = {_key(obj): obj for obj in _items(state, "get", KINDS, "--all-namespaces")}
    lost = [label(obj) for key, obj in wanted.items() if key not in there]
    orphaned = [label(obj) for key, obj in there.items() if key not in wanted and _is_orphan(obj, stack)]
    if lost:
        return Remains(lost, orphaned)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*wanted.values()]})
    how = ("--server-side", "--dry-run=server", "--field-manager=dynamo-gpt-oss", "--filename=-")
    try:
        applied = {_key(obj): obj for obj in _items(state, "apply", *how, stdin=text)}
        live = {_key(obj): obj for obj in _items(state, "get", "--filename=-", stdin=text)}
    except ClusterError as error:
        return Remains([str(error)], orphaned)
    differing = {label(obj): _differing(applied[key], live[key]) for key, obj in wanted.items()}
    return Remains([f"{name}: {', '.join(fields)}" for name, fields in differing.items() if fields], orphaned)


def _is_orphan(obj: Mapping[str, Any], stack: Stack) -> bool:
    metadata = obj["metadata"]
    owned = metadata.get("labels", {}).get(STACK_LABEL) == stack.name
    lonely = metadata.get("namespace") == stack.namespace and "ownerReferences" not in metadata
    known = (*_BUILT_IN, f"secret/{applyset(stack.name)}")
    own_node = obj["kind"] == "Node" and stack.own_nodes
    return (owned or lonely) and label(obj) not in known and not own_node


def _differing(applied: Mapping[str, Any], live: Mapping[str, Any]) -> list[str]:
    """Fields at the top whose content an apply would change; the status is nobody's who applies."""
    keys = sorted({*applied, *live} - {"status"})
    return [key for key in keys if _settled(applied.get(key)) != _settled(live.get(key))]


def _settled(value: Any) -> Any:
    """Without what every write changes."""
    if not isinstance(value, Mapping):
        return value
    left = {key: part for key, part in value.items() if key not in ("resourceVersion", "generation")}
    if "managedFields" in left:
        entries = [
            {key: part for key, part in each.items() if key != "time"} for each in left["managedFields"]
        ]
        left["managedFields"] = sorted(map(json.dumps, entries))
    return left


@cache
def _wanted(name: str) -> dict[str, dict[str, Any]]:
    """The synth's objects, by what is the same of them on the cluster, with the label that `up` gives them."""
    stack = stack_of(name)
    objects = [json.loads(json.dumps(each.inputs)) for each in manifests(evaluate(PROJECT, stack.file))]
    for obj in objects:
        obj["metadata"].setdefault("labels", {})[STACK_LABEL] = name
    return {_key(obj): obj for obj in objects}


def _key(obj: Mapping[str, Any]) -> str:
    return f"{obj['metadata'].get('namespace', '')}/{label(obj)}"


def _items(state: Path, *words: str, stdin: str = "") -> list[dict[str, Any]]:
    given = json.loads(
        cluster.kubectl(*words, "--output=json", "--show-managed-fields", stdin=stdin, state=state)
    )
    return list(given["items"]) if given["kind"] == "List" else [given]
