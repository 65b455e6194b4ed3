"""A real Dynamo operator on the embedded control plane: its chart applied, its webhooks reached on this machine.

Real: API server, scheduler, controllers and garbage collector; the operator with its definitions, its own RBAC and
its defaulting, validating and converting webhooks. Simulated: nodes and kubelets (a pod is Ready once it has a
node), the storage provisioner and the ComputeDomain driver. No container runs.
"""

import base64
import json
import shlex
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import trustme
import yaml

from embedded import cluster, processes
from embedded.processes import Daemon, Report
from tests.operator.release import NAMESPACE, Object, Release
from tests.project import PROJECT
from tests.waiting import await_definition, eventually

_MANAGER = "dynamo-platform"
_NOT_HERE = ("Deployment", "StatefulSet", "PodMonitor", "ServiceMonitor")
"""Kinds of the chart that would need containers or other charts' definitions."""
_SECRETS = "/run/secrets/kubernetes.io/serviceaccount"
_HOURS = "24h"


class Operator:
    """A running operator of one release; `state` holds its cluster and everything else of it."""

    def __init__(self, release: Release, state: Path, report: Report) -> None:
        self.release, self.state = release, state
        cluster.start(report, state, graph_version=None)
        self._start_surroundings()
        self._ports = dict(zip(("metrics", "healthProbe", "webhook"), processes.free_ports(3), strict=True))
        chart = release.chart()
        services = [one["metadata"]["name"] for one in chart if one["kind"] == "Service"]
        self._service = next(name for name in services if name.endswith("webhook-service"))
        self._authority = self._write_certificate()
        self._install(chart)
        self._start(next(one for one in chart if one["kind"] == "Deployment"), _configuration(chart))

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """Runs kubectl as the cluster's administrator. Raises cluster.ClusterError with kubectl's words."""
        return cluster.kubectl(*arguments, stdin=stdin, state=self.state)

    def apply(self, objects: Iterable[Object], *options: str, manager: str = "test") -> str:
        """Server-side apply, as Pulumi's provider does it. Raises cluster.ClusterError."""
        how = ("--server-side", f"--field-manager={manager}", *options, "--filename=-")
        return self.kubectl("apply", *how, stdin=json.dumps(_list(objects)))

    def get(self, kind: str, *arguments: str) -> Any:
        """What `kubectl get` answers: an object, or the list of them."""
        answer = json.loads(self.kubectl("get", kind, *arguments, "--output=json"))
        return answer["items"] if answer["kind"].endswith("List") else answer

    def log(self) -> str:
        return processes.log_file(self.state, "dynamo-operator").read_text(errors="replace")

    def stop(self, report: Report) -> None:
        cluster.stop(report, self.state)

    def _start_surroundings(self) -> None:
        words = ("-m", "tests.operator.surroundings", f"--kubeconfig={cluster.kubeconfig(self.state)}")
        daemon = Daemon("surroundings", (sys.executable, *words))
        processes.start(self.state, daemon, {"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin"})
        eventually(lambda: "compute-domain-default-channel" in self.kubectl("get", "deviceclasses"))

    def _write_certificate(self) -> str:
        """The webhooks' certificate, for the name by which the API server asks; returns the authority, base64."""
        folder = self.state / "webhook"
        folder.mkdir(exist_ok=True)
        authority = trustme.CA()
        server = authority.issue_cert(f"{self._service}.{NAMESPACE}.svc", "localhost", "127.0.0.1")
        server.cert_chain_pems[0].write_to_path(folder / "tls.crt")
        server.private_key_pem.write_to_path(folder / "tls.key")
        authority.cert_pem.write_to_path(folder / "ca.crt")
        return base64.b64encode(authority.cert_pem.bytes()).decode()

    def _install(self, chart: Sequence[Object]) -> None:
        self.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
        definitions = [self._reached_here(one) for one in self.release.definitions()]
        self.apply(definitions, "--force-conflicts", manager=_MANAGER)
        for definition in definitions:
            kind = definition["spec"]["names"]["kind"]
            await_definition(self.kubectl, definition["metadata"]["name"], kind)
        folder = self.state / "webhook"
        files = {name: (folder / name).read_text() for name in ("ca.crt", "tls.crt", "tls.key")}
        metadata = {"name": "webhook-server-cert", "namespace": NAMESPACE}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": files}
        kept = [self._reached_here(one) for one in chart if one["kind"] not in _NOT_HERE]
        self.apply([secret, *kept], f"--namespace={NAMESPACE}", "--force-conflicts", manager=_MANAGER)

    def _reached_here(self, one: Object) -> Object:
        """The object with its webhooks on this machine: the Service is a name for it, and the port is ours."""
        port = self._ports["webhook"]
        if one["kind"] == "Service" and one["metadata"]["name"] == self._service:
            ports = [{"name": "webhook", "port": port}]
            return one | {"spec": {"type": "ExternalName", "externalName": "localhost", "ports": ports}}
        clients = [hook["clientConfig"] for hook in one.get("webhooks", ())]
        if len(one.get("spec", {}).get("versions", ())) > 1:
            # 1.2's definitions leave it to the operator, which writes it only with a certificate of its own.
            client: Object = {"service": {"path": "/convert"}}
            one["spec"]["conversion"] = _converted_by(client)
            clients.append(client)
        for client in clients:
            client["service"] |= {"name": self._service, "namespace": NAMESPACE, "port": port}
            client["caBundle"] = self._authority
        return one

    def _start(self, deployment: Object, configuration: Object) -> None:
        pod = deployment["spec"]["template"]["spec"]
        server = configuration["server"]
        for name, port in self._ports.items():
            server[name] = server.get(name, {}) | {"bindAddress": "127.0.0.1", "port": port}
        webhook = {"host": "127.0.0.1", "certDir": f"{self.state}/webhook", "certProvisionMode": "manual"}
        server["webhook"] |= webhook
        # It is alone here, and would end where a slow machine lets its lease run out.
        configuration["leaderElection"]["enabled"] = False
        path = self.state / "operator-configuration.yaml"
        path.write_text(yaml.safe_dump(configuration))
        arguments = [
            f"--config={path}" if word.startswith("--config=") else word
            for word in pod["containers"][0]["args"]
        ]
        command = shlex.join([str(self.release.program), *arguments])
        # The operator reads its namespace from a file that only pods have: it gets one in a mount of its own.
        script = (
            f"mount -t tmpfs tmpfs /run && mkdir -p {_SECRETS} && printf {NAMESPACE} > {_SECRETS}/namespace && "
            f"exec {command}"
        )
        isolated = ("--user", "--map-root-user", "--mount", "--fork", "--kill-child")
        environment = {
            "KUBECONFIG": str(self._kubeconfig_of(pod["serviceAccountName"])),
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "POD_NAMESPACE": NAMESPACE,
            "POD_SERVICE_ACCOUNT": pod["serviceAccountName"],
        }
        daemon = Daemon("dynamo-operator", ("/usr/bin/unshare", *isolated, "/bin/sh", "-c", script))
        processes.start(self.state, daemon, environment)
        eventually(self._is_ready, 120)

    def _kubeconfig_of(self, account: str) -> Path:
        token = self.kubectl("create", "token", account, f"--namespace={NAMESPACE}", f"--duration={_HOURS}")
        content = yaml.safe_load(cluster.kubeconfig(self.state).read_text())
        content["users"][0]["user"] = {"token": token.strip()}
        path = self.state / "operator-kubeconfig"
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(content))
        return path

    def _is_ready(self) -> bool:
        assert processes.find(self.state, "dynamo-operator"), self.log()[-2000:]
        try:
            address = f"http://127.0.0.1:{self._ports['healthProbe']}/readyz"
            with urllib.request.urlopen(address, timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False


def _converted_by(client: Object) -> Object:
    """What a definition says of the webhook that turns its versions into each other."""
    return {
        "strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
    }


def _configuration(chart: Sequence[Object]) -> Object:
    """The operator's configuration, which the chart keeps as text."""
    texts = [one["data"].get("config.yaml", "") for one in chart if one["kind"] == "ConfigMap"]
    found: Object = next(yaml.safe_load(text) for text in texts if "kind: OperatorConfiguration" in text)
    return found


def _list(objects: Iterable[Object]) -> Object:
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}
