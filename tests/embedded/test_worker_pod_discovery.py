"""Workers of one pod as a real frontend finds them, by Kubernetes discovery on a real API server."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded import dynamo, processes
from embedded.dynamo_graph import ENGINE, environment
from facts.weights import MODEL_ID
from manifests.graph.worker_pod import DISCOVERY_ANNOTATION
from pods import run_workers
from tests.embedded.conftest import Cluster
from tests.waiting import PATIENCE, await_definition, eventually

RELEASES = ("1.2.1", "1.4.2", "1.6.1")
WORKERS = ("prefill-0", "decode-0", "decode-1")
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "dynamoworkermetadatas.nvidia.com"},
    "spec": {
        "group": "nvidia.com",
        "names": {
            "kind": "DynamoWorkerMetadata",
            "listKind": "DynamoWorkerMetadataList",
            "plural": "dynamoworkermetadatas",
            "singular": "dynamoworkermetadata",
            "shortNames": ["dwm"],
        },
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}
"""Where workers register under Kubernetes discovery; the platform's chart brings it."""
LABELS = {
    "nvidia.com/dynamo-discovery-backend": "kubernetes",
    "nvidia.com/dynamo-discovery-enabled": "true",
}


class Pods:
    """Pods of a namespace, whose containers' readiness the test decides, as the kubelet would."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace

    def make(self, name: str, *containers: str) -> str:
        """The new pod's uid."""
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace, "labels": LABELS},
            "spec": {"containers": [{"name": each, "image": "none"} for each in containers]},
        }
        self.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(pod))
        return self.cluster.kubectl(
            "get", "pod", name, "-n", self.namespace, "-o", "jsonpath={.metadata.uid}"
        )

    def ready(self, name: str, **containers: bool) -> None:
        statuses = [
            {
                "name": each.replace("_", "-"),
                "ready": ready,
                "restartCount": 0,
                "image": "none",
                "imageID": "none",
            }
            for each, ready in containers.items()
        ]
        patch = json.dumps({"status": {"phase": "Running", "containerStatuses": statuses}})
        self.cluster.kubectl(
            *("patch", "pod", name, "-n", self.namespace, "--subresource=status", "--type=merge", "-p", patch)
        )


class Running:
    """A frontend and the pod with its workers."""

    def __init__(self, release: str, cluster: Cluster, namespace: str, folder: Path) -> None:
        installed = dynamo.install(release, print)
        self.folder, self.pods = folder, Pods(cluster, namespace)
        uids = {"front": self.pods.make("front", "main"), "pool": self.pods.make("pool", "main", *WORKERS)}
        self.http, system = processes.free_ports(2)
        common = {
            **environment(folder, installed),
            "KUBECONFIG": str(cluster.kubeconfig),
            "DYN_DISCOVERY_BACKEND": "kubernetes",
            "DYN_KUBE_DISCOVERY_MODE": DISCOVERY_ANNOTATION["nvidia.com/dynamo-kube-discovery-mode"],
            "POD_NAMESPACE": namespace,
        }
        listen = ("--http-host", "127.0.0.1", "--http-port", str(self.http), "--router-mode", "round-robin")
        python = str(installed.python)
        self.frontend = self._start(
            "frontend",
            [python, "-m", "dynamo.frontend", *listen],
            {**common, "POD_NAME": "front", "POD_UID": uids["front"], "CONTAINER_NAME": "main"},
        )
        model = f"--model-path {installed.model} --served-model-name {MODEL_ID} --namespace dynamo"
        lines = [
            f"{name}: CONTAINER_NAME={name} {python} -m {' '.join(ENGINE)} {model} "
            f"--disaggregation-mode {name.partition('-')[0]}"
            for name in WORKERS
        ]
        self.workers = self._start(
            "workers",
            [sys.executable, run_workers.__file__, *lines],
            {
                **common,
                "POD_NAME": "pool",
                "POD_UID": uids["pool"],
                "SYSTEM_HOST": "127.0.0.1",
                "SYSTEM_PORT": str(system),
            },
        )

    def _start(self, name: str, argv: list[str], env: dict[str, str]) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(argv, cwd=self.folder, env=env, stdout=log, stderr=log)

    def found(self) -> list[str]:
        """Components of the workers that the frontend knows, one a worker."""
        try:
            instances = self.ask("/health")["instances"]
        except OSError:
            return []
        return sorted(each["component"] for each in instances if each["endpoint"] == "generate")

    def ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def answers(self, question: dict[str, Any]) -> bool:
        try:
            return bool(self.ask("/v1/chat/completions", question)["choices"])
        except urllib.error.HTTPError:
            return False

    def registered(self) -> list[str]:
        names = self.pods.cluster.kubectl(
            *(
                "get",
                "dynamoworkermetadatas",
                "-n",
                self.pods.namespace,
                "-o",
                "jsonpath={.items[*].metadata.name}",
            )
        )
        return sorted(names.split())

    def end(self) -> None:
        for process in (self.workers, self.frontend):
            process.terminate()
        for process in (self.workers, self.frontend):
            process.wait(timeout=PATIENCE)


@pytest.fixture(params=RELEASES)
def running(
    request: pytest.FixtureRequest, cluster: Cluster, namespace: str, tmp_path: Path
) -> Iterator[Running]:
    if reason := dynamo.unavailable(request.param):
        pytest.skip(reason)
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(CRD))
    await_definition(cluster.kubectl, "dynamoworkermetadatas.nvidia.com", "DynamoWorkerMetadata")
    made = Running(request.param, cluster, namespace, tmp_path)
    yield made
    made.end()


def test_a_frontend_finds_each_worker_of_a_pod_while_its_container_is_ready(running: Running) -> None:
    eventually(lambda: len(running.registered()) == 3)
    assert running.registered() == ["pool-decode-0", "pool-decode-1", "pool-prefill-0"]
    running.pods.ready("front", main=True)
    running.pods.ready("pool", main=True, prefill_0=True, decode_0=True, decode_1=False)
    eventually(lambda: running.found() == ["backend", "prefill"])
    running.pods.ready("pool", main=True, prefill_0=True, decode_0=True, decode_1=True)
    eventually(lambda: running.found() == ["backend", "backend", "prefill"])
    eventually(lambda: any(each["id"] == MODEL_ID for each in running.ask("/v1/models")["data"]))
    question = {"model": MODEL_ID, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 16}
    eventually(lambda: running.answers(question))  # it is listed before it is served
    for _ in range(4):
        assert running.ask("/v1/chat/completions", question)["choices"]
