"""The parts of the embedded cluster: their commands, and the files that they share."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from embedded.operator.platform import GraphVersion, Platform
from embedded.processes import Daemon

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
PARTS = tuple(re.findall(r"^\S+", _COMMANDS, re.MULTILINE))


def ready_file(state: Path) -> Path:
    """Exists while the stand-in for the operator takes graphs."""
    return state / "operator-ready"


def daemons_of(
    state: Path,
    kubeconfig: Path,
    *,
    programs: Mapping[str, str],
    ports: Mapping[str, int],
    graph_version: GraphVersion | None,
    platform: Platform,
) -> list[Daemon]:
    """What runs, in starting order. graph_version: None for no stand-in of the operator."""
    values = {
        **programs,
        "api": ports["api"],
        "embedded": Path(__file__).parent,
        "etcd": f"https://127.0.0.1:{ports['etcd']}",
        "graph_version": graph_version,
        "kubeconfig": kubeconfig,
        "operator_ready": ready_file(state),
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
