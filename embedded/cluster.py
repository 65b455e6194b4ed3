"""The embedded cluster: a real control plane with simulated nodes, on 127.0.0.1 only.

Everything that runs belongs to one state folder: `start` brings back whatever of it is missing, `stop` ends it
all and removes the folder. Tests give folders of their own.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from embedded import build, credentials, logs, marker, nodes, processes
from embedded.operator.platform import STORAGE_CLASS, GraphVersion, Platform
from embedded.paths import PROJECT, STATE
from embedded.processes import Daemon, Report
from facts import releases
from targets.errors import UserError

DEFAULT_PLATFORM = Platform(version=releases.Version.parse(releases.DEFAULT))

_READY_SECONDS = 60
_KUBECTL_SECONDS = 180
"""Longer than any wait that we ask kubectl for."""

# Name and command of each part, in starting order. etcd has no peers, so any port does for them; without fsync it
# survives a kill, and a power cut may cost a throwaway cluster's data. The API server publishes no endpoint of
# itself, because endpoints may not be loopback. A secure port of 0 is none at all.
_COMMANDS = """
etcd {controlplane} etcd
  --data-dir={state}/etcd --unsafe-no-fsync --log-level=error
  --listen-client-urls={etcd} --advertise-client-urls={etcd}
  --client-cert-auth --trusted-ca-file={pki}/ca.crt --cert-file={pki}/server.crt --key-file={pki}/server.key
  --listen-peer-urls=https://127.0.0.1:0 --initial-advertise-peer-urls={peer} --initial-cluster=default={peer}
  --peer-client-cert-auth --peer-trusted-ca-file={pki}/ca.crt
  --peer-cert-file={pki}/server.crt --peer-key-file={pki}/server.key
kube-apiserver {controlplane} kube-apiserver
  --bind-address=127.0.0.1 --advertise-address=127.0.0.1 --secure-port={api} --endpoint-reconciler-type=none
  --etcd-servers={etcd} --etcd-cafile={pki}/ca.crt
  --etcd-certfile={pki}/server.crt --etcd-keyfile={pki}/server.key
  --tls-cert-file={pki}/server.crt --tls-private-key-file={pki}/server.key
  --allow-privileged=true --anonymous-auth=false --token-auth-file={state}/tokens.csv --authorization-mode=RBAC
  --service-account-key-file={pki}/sa.key --service-account-signing-key-file={pki}/sa.key
  --service-account-issuer=https://kubernetes.default.svc --service-cluster-ip-range=10.96.0.0/16
kube-controller-manager {controlplane} kube-controller-manager
  --kubeconfig={kubeconfig} --secure-port=0 --leader-elect=false --kube-api-qps=200 --kube-api-burst=400
  --root-ca-file={pki}/ca.crt --service-account-private-key-file={pki}/sa.key
kube-scheduler {controlplane} kube-scheduler
  --kubeconfig={kubeconfig} --secure-port=0 --leader-elect=false
kwok {kwok}
  --kubeconfig={kubeconfig} --config={embedded}/kwok/kwok.yaml
operator {python} -m embedded.operator
  --kubeconfig={kubeconfig} --ready-file={operator_ready}
  --api-version={graph_version} --platform-version={platform_version} --provider={provider}
"""
_PARTS = tuple(re.findall(r"^\S+", _COMMANDS, re.MULTILINE))


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
        daemons = _daemons(state, programs, ports, graph_version, platform)
        _end_changed(daemons, state)
        started = [daemon.name for daemon in daemons if _keep_running(daemon, state)]
        _apply([STORAGE_CLASS], state)
        add_nodes(nodes.default(), state)
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
    guests = [name for name in processes.daemons(state) if name not in _PARTS]
    return [name for name in (*guests, *reversed(_PARTS)) if processes.end(state, name)]


def is_running(state: Path = STATE) -> bool:
    """Whether every part of the cluster is alive, and it answers."""
    return all(processes.find(state, name) for name in _PARTS) and _answers(state)


def kubeconfig(state: Path = STATE) -> Path:
    """The kubeconfig of the cluster's only user, an administrator with a random token."""
    return state / "kubeconfig"


def kubectl(*arguments: str, stdin: str = "", state: Path = STATE) -> str:
    """Runs the kubectl of the control plane's version, ApplySets enabled; returns its output.

    Raises ClusterError with kubectl's own words.
    """
    if not (record := marker.read(state)):
        raise ClusterError("the embedded cluster is not running: start it with `make up`")
    command = [record["controlplane"], "kubectl", f"--kubeconfig={kubeconfig(state)}", *arguments]
    settings = {"KUBECTL_APPLYSET": "true", "KUBECACHEDIR": f"{state}/kubectl-cache", "KUBERC": "off"}
    environment = {**os.environ, **settings}
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
        raise ClusterError(f"kubectl {' '.join(arguments)}: {result.stderr.strip() or result.stdout.strip()}")
    return result.stdout


def add_nodes(manifests: Sequence[Mapping[str, Any]], state: Path = STATE) -> None:
    """Adds or updates simulated nodes (see nodes.node) and waits until they are Ready."""
    _apply(manifests, state)
    # A node takes its status with the object only when it is new; capacity that changed later goes here.
    _apply(manifests, state, "--subresource=status")
    names = [f"node/{manifest['metadata']['name']}" for manifest in manifests]
    kubectl("wait", "--for=condition=Ready", f"--timeout={_READY_SECONDS}s", *names, state=state)


def remove_nodes(selector: str, state: Path = STATE) -> None:
    """Removes the simulated nodes that match a label selector, for example `dynamo-gpt-oss/stack=prod`."""
    kubectl("delete", "nodes", f"--selector={nodes.SIMULATED}=true,{selector}", state=state)


def _apply(manifests: Sequence[Mapping[str, Any]], state: Path, *options: str) -> None:
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": list(manifests)})
    how = ("--server-side", "--force-conflicts", "--field-manager=embedded-cluster", *options)
    kubectl("apply", *how, "--filename=-", stdin=text, state=state)


def _daemons(
    state: Path,
    programs: Mapping[str, str],
    ports: Mapping[str, int],
    graph_version: GraphVersion | None,
    platform: Platform,
) -> list[Daemon]:
    values = {
        **programs,
        "api": ports["api"],
        "embedded": Path(__file__).parent,
        "etcd": f"https://127.0.0.1:{ports['etcd']}",
        "graph_version": graph_version,
        "kubeconfig": kubeconfig(state),
        "operator_ready": _operator_ready(state),
        "peer": "https://127.0.0.1:1",
        "pki": state / "pki",
        "platform_version": platform.version,
        "provider": "grove" if platform.grove else "component",
        "python": sys.executable,
        "state": state,
    }
    # Split first: paths may hold spaces.
    commands = [command.split() for command in _COMMANDS.replace("\n ", " ").strip().splitlines()]
    return [
        Daemon(name, tuple(word.format(**values) for word in words))
        for name, *words in commands
        if graph_version or name != "operator"
    ]


def _end_changed(daemons: Sequence[Daemon], state: Path) -> None:
    """Ends the parts that would be started differently now (other ports, another build), and all after them."""
    changed = [bool(processes.find(state, one.name)) and not processes.runs(state, one) for one in daemons]
    if any(changed):
        for daemon in reversed(daemons[changed.index(True) :]):
            processes.end(state, daemon.name)


def _keep_running(daemon: Daemon, state: Path) -> bool:
    """Starts the daemon unless it runs, and waits until it serves; True if it was started."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(Path.home()),
        "KWOK_WORKDIR": str(state / "kwok"),
        "PYTHONPATH": str(PROJECT),
        "PYTHONUNBUFFERED": "1",
    }
    if daemon.name == "operator" and not processes.runs(state, daemon):
        _operator_ready(state).unlink(missing_ok=True)  # of one that was killed
    started = processes.start(state, daemon, environment)
    deadline = time.monotonic() + _READY_SECONDS
    while not _serves(daemon, state):
        for name in dict.fromkeys(("etcd", daemon.name)):
            if not processes.find(state, name):
                raise _failure(state, name, "ended")
        if time.monotonic() > deadline:
            raise _failure(state, daemon.name, f"is not ready after {_READY_SECONDS} s")
        time.sleep(0.1)
    return started


def _serves(daemon: Daemon, state: Path) -> bool:
    if daemon.name == "kube-apiserver":
        return _answers(state)
    return daemon.name != "operator" or _operator_ready(state).exists()


def _answers(state: Path) -> bool:
    return not _refusal(state)


def _refusal(state: Path) -> str:
    """Why the API server is not ready, in kubectl's words; empty if it is."""
    try:
        kubectl("get", "--raw=/readyz", "--request-timeout=5s", state=state)
    except ClusterError as error:
        return str(error)
    return ""


def _operator_ready(state: Path) -> Path:
    return state / "operator-ready"


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
    if credentials.write(state, kubeconfig(state), ports["api"]) or _is_stranger(state):
        _end_all(state)  # what runs knows others
    return ports


def _is_stranger(state: Path) -> bool:
    """Whether the API server knows other keys or another token: an `up` may have been killed after it made these."""
    return bool(processes.find(state, "kube-apiserver") and re.search("Unauthorized|x509:", _refusal(state)))


def _refuse_foreign(state: Path) -> None:
    if not marker.is_there(state):
        raise ClusterError(
            f"{state} was not made by the embedded cluster (no {marker.NAME} in it): left as it is"
        )
