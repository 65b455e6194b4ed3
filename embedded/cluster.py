"""The embedded cluster: a real control plane with simulated nodes, on 127.0.0.1 only.

Everything that runs belongs to one state folder: `start` brings back whatever of it is missing, `stop` ends it
all and removes the folder. Tests give folders of their own.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from embedded import api_server, build, credentials, logs, marker, nodes, processes
from embedded.api_server import Answer
from embedded.credentials import CONTEXT
from embedded.operator.platform import STORAGE_CLASS, GraphVersion, Platform
from embedded.parts import PARTS, daemons_of, ready_file
from embedded.paths import PROJECT, STATE
from embedded.processes import Daemon, Report
from facts import releases
from manifests.kubectl import as_list, items, own_words
from targets.errors import UserError

DEFAULT_PLATFORM = Platform(version=releases.Version.parse(releases.DEFAULT))

_READY_SECONDS = 60
_KUBECTL_SECONDS = 180
"""Longer than any wait that we ask kubectl for."""

_FEW_COLLECTIONS = {"GOGC": "400"}
"""Go's collector takes a third of the time of a short kubectl; what it would save is megabytes."""


class ClusterError(UserError):
    """The embedded cluster, or a kubectl command on it, failed; the message says why."""


def start(
    report: Report,
    state: Path = STATE,
    graph_version: GraphVersion | None = "v1alpha1",
    platform: Platform = DEFAULT_PLATFORM,
) -> Path:
    """Starts what of the cluster is not running, with the data it had; returns the kubeconfig's path.

    graph_version: the API version of DynamoGraphDeployment that the operator stand-in serves; None leaves the
    stand-in out, for an operator of the caller's own. platform: what it stands in for.
    Raises ClusterError (with the last words of the part that failed) or build.BuildError.
    """
    programs = {"controlplane": str(build.binary(report)), "kwok": str(build.kwok(report))}
    state.parent.mkdir(parents=True, exist_ok=True)
    with processes.lock(state.parent, report, "another start or stop of this cluster"), _explained():
        began = time.monotonic()
        ports = _prepare(state, programs)
        daemons = daemons_of(
            state,
            kubeconfig(state),
            programs=programs,
            ports=ports,
            graph_version=graph_version,
            platform=platform,
        )
        _end_changed(daemons, state)
        started = _start_all(daemons, state)
        add_nodes(nodes.default(), state, beside=[STORAGE_CLASS])
        seconds = f"{time.monotonic() - began:.0f} s"
        how = f"started {', '.join(started)} in {seconds}" if started else "already running"
        report(f"embedded cluster on https://127.0.0.1:{ports['api']}: {how}")
    return kubeconfig(state)


@contextmanager
def _explained() -> Iterator[None]:
    """A file that cannot be written is the machine's matter, as a full disk is."""
    try:
        yield
    except OSError as error:
        raise ClusterError(f"the embedded cluster cannot be started: {error}") from None


def stop(report: Report, state: Path = STATE) -> None:
    """Ends what `start` started, last first, and removes the state folder. Raises ClusterError if not ours."""
    ended: list[str] = []
    if state.exists():
        with processes.lock(state.parent, report, "another start or stop of this cluster"):
            _refuse_foreign(state)
            ended = _end_all(state)
            for folder in filter(Path.is_dir, state.iterdir()):
                shutil.rmtree(folder)  # before the marker, so that a stop that is killed can be repeated
            shutil.rmtree(state)
    report(f"embedded cluster: {'stopped ' + ', '.join(ended) if ended else 'was not running'}")


def _end_all(state: Path) -> list[str]:
    """Ends what runs, last first, and returns its names."""
    # What others started in this folder lives on the cluster, so it goes first.
    guests = [name for name in processes.daemons(state) if name not in PARTS]
    return [name for name in (*guests, *reversed(PARTS)) if processes.end(state, name)]


def is_running(state: Path = STATE) -> bool:
    """Whether every part of the cluster is alive, and it answers."""
    return all(processes.find(state, name) for name in PARTS) and _answers(state)


def kubeconfig(state: Path = STATE) -> Path:
    """The kubeconfig of the cluster's only user, an administrator with a random token."""
    return state / "kubeconfig"


def kubectl(*arguments: str, stdin: str = "", state: Path = STATE) -> str:
    """Runs the kubectl of the control plane's version, ApplySets enabled; returns its output.

    Raises ClusterError with kubectl's own words.
    """
    if not (record := marker.read(state)):
        raise ClusterError("the embedded cluster is not running: start it with `make up`")
    # The context too: others may have added theirs to the file and chosen it.
    which = (f"--kubeconfig={kubeconfig(state)}", f"--context={CONTEXT}")
    command = [record["controlplane"], "kubectl", *which, *arguments]
    settings = {"KUBECTL_APPLYSET": "true", "KUBECACHEDIR": f"{state}/kubectl-cache", "KUBERC": "off"}
    environment = {**os.environ, **_FEW_COLLECTIONS, **settings}
    try:
        result = subprocess.run(
            command,
            check=False,
            input=stdin,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_KUBECTL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise ClusterError(f"kubectl {' '.join(arguments)}: no answer in {_KUBECTL_SECONDS} s") from None
    if result.returncode:
        # Never what it printed, which may be a Secret.
        why = own_words(result.stderr) or result.stderr.strip() or f"ended with {result.returncode}"
        raise ClusterError(f"kubectl {' '.join(arguments)}: {why}")
    return result.stdout


def add_nodes(
    manifests: Sequence[Mapping[str, Any]], state: Path = STATE, *, beside: Sequence[Mapping[str, Any]] = ()
) -> None:
    """Adds or updates simulated nodes (see nodes.node) and waits until they are Ready.

    beside: other objects to apply.
    """
    there = _apply([*beside, *manifests], state)[len(beside) :]
    # A node takes its status with the object only when it is new; capacity that changed later goes here.
    if not all(map(nodes.has_status, there, manifests)):
        there = _apply(manifests, state, "--subresource=status")
    if not all(map(nodes.is_ready, there)):
        names = [f"node/{manifest['metadata']['name']}" for manifest in manifests]
        kubectl("wait", "--for=condition=Ready", f"--timeout={_READY_SECONDS}s", *names, state=state)


def remove_nodes(selector: str, state: Path = STATE) -> None:
    """Removes the simulated nodes that match a label selector, for example `dynamo-gpt-oss/stack=prod`."""
    kubectl("delete", "nodes", f"--selector={nodes.SIMULATED}=true,{selector}", state=state)


def _apply(manifests: Sequence[Mapping[str, Any]], state: Path, *options: str) -> list[dict[str, Any]]:
    """The objects as they then are."""
    text = json.dumps(as_list(manifests))
    how = ("--server-side", "--force-conflicts", "--field-manager=embedded-cluster", *options)
    return items(kubectl("apply", *how, "--filename=-", "--output=json", stdin=text, state=state))


def _end_changed(daemons: Sequence[Daemon], state: Path) -> None:
    """Ends the parts that would be started differently now (other ports, another build), and all after them.

    An API server whose etcd is gone, too.
    """
    changed = [bool(processes.find(state, one.name)) and not processes.runs(state, one) for one in daemons]
    if any(changed):
        for daemon in reversed(daemons[changed.index(True) :]):
            processes.end(state, daemon.name)
    if not processes.find(state, "etcd"):
        processes.end(state, "kube-apiserver")  # its pauses between tries to reach etcd grow to minutes


def _start_all(daemons: Sequence[Daemon], state: Path) -> list[str]:
    """Starts what does not run and waits until all serve; returns the names of what was started.

    The operator comes up beside the API server and waits for it; of the rest each would give up on what it needs.
    """
    by_name, started = {daemon.name: daemon for daemon in daemons}, set[str]()

    def start_those(*names: str) -> None:
        started.update(name for name in names if name in by_name and _start(by_name[name], state))

    start_those("etcd")
    _await(by_name["etcd"], state)
    start_those("kube-apiserver", "operator")
    _await(by_name["kube-apiserver"], state)
    start_those(*by_name)
    for daemon in daemons:
        _await(daemon, state)
    return [name for name in by_name if name in started]


def _start(daemon: Daemon, state: Path) -> bool:
    """Starts the daemon unless it runs; True if it was started."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(Path.home()),
        "KWOK_WORKDIR": str(state / "kwok"),
        "PYTHONPATH": str(PROJECT),
        "PYTHONUNBUFFERED": "1",
        **_FEW_COLLECTIONS,
    }
    if daemon.name == "operator" and not processes.runs(state, daemon):
        ready_file(state).unlink(missing_ok=True)  # of one that was killed
    return processes.start(state, daemon, environment)


def _await(daemon: Daemon, state: Path) -> None:
    """Waits until the daemon serves. Raises ClusterError once it, or what it needs, has ended."""
    deadline = time.monotonic() + _READY_SECONDS
    while not _serves(daemon, state):
        for name in (*PARTS[: PARTS.index(daemon.name)][:2], daemon.name):  # all need etcd and the API server
            if not processes.find(state, name):
                raise _failure(state, name, "ended")
        if time.monotonic() > deadline:
            raise _failure(state, daemon.name, f"is not ready after {_READY_SECONDS} s")
        time.sleep(0.1)


def _serves(daemon: Daemon, state: Path) -> bool:
    if daemon.name == "etcd":
        return not processes.is_free(marker.read(state)["ports"]["etcd"])
    if daemon.name == "kube-apiserver":
        return _answers(state)
    return daemon.name != "operator" or ready_file(state).exists()


def _answers(state: Path) -> bool:
    return api_server.ask(kubeconfig(state)) is Answer.READY


def _failure(state: Path, name: str, what: str) -> ClusterError:
    log = processes.log_file(state, name)
    return ClusterError("\n".join([f"{name} {what} (log: {log}):", *logs.last_words(log, 8)]))


def _prepare(state: Path, programs: Mapping[str, str]) -> Mapping[str, int]:
    """Makes the state folder with all that the daemons read; returns the ports of etcd and of the API."""
    if state.exists() and any(state.iterdir()):
        _refuse_foreign(state)
    state.mkdir(mode=0o700, exist_ok=True)
    state.chmod(0o700)
    ports = marker.ports(state)
    marker.write(state, programs, ports)
    whole = credentials.are_whole(state)
    if not whole:
        _end_all(
            state
        )  # what runs knows others; ended before they are made, or an `up` that is killed here leaves it
    credentials.write(state, kubeconfig(state), ports["api"])
    if whole and _is_stranger(state):
        _end_all(state)
    return ports


def _is_stranger(state: Path) -> bool:
    """Whether the API server knows other keys or another token: an `up` may have been killed after it made these."""
    return (
        processes.find(state, "kube-apiserver") is not None
        and api_server.ask(kubeconfig(state)) is Answer.STRANGER
    )


def _refuse_foreign(state: Path) -> None:
    if not marker.is_there(state):
        raise ClusterError(
            f"{state} was not made by the embedded cluster (no {marker.NAME} in it): left as it is"
        )
