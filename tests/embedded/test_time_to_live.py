"""The end of a stack's time, as the CronJob's pod brings it about: its own script, with its ServiceAccount's rights.

The embedded cluster's pods run nothing, so the script runs here, against the real API server.
"""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from embedded.cluster import ClusterError
from embedded.paths import PROJECT
from manifests.services import time_to_live
from manifests.services.time_to_live import NodeGroups, TimeToLiveSpec, manifests
from tests.embedded import example_graphs
from tests.embedded.conftest import Cluster
from tests.waiting import eventually

SCRIPT = PROJECT / "pods" / time_to_live.SCRIPT


@pytest.fixture
def account(cluster: Cluster, namespace: str, tmp_path: Path) -> dict[str, str]:
    """The stack's objects on the cluster; returns the environment of the CronJob's container."""
    spec = TimeToLiveSpec(
        namespace=namespace, ttl="1h", graphs=("ending",), graph_api_version="nvidia.com/v1alpha1"
    )
    made = manifests(spec)
    cluster.kubectl("apply", "--server-side", "--filename=-", stdin=yaml.safe_dump_all(made))
    config = yaml.safe_load(cluster.kubeconfig.read_text())["clusters"][0]["cluster"]
    host, _, port = config["server"].removeprefix("https://").partition(":")
    token = cluster.kubectl("create", "token", time_to_live.NAME, f"--namespace={namespace}")
    (tmp_path / "token").write_text(token.strip())
    (tmp_path / "ca.crt").write_bytes(base64.b64decode(config["certificate-authority-data"]))
    (container,) = made[-1]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    said = {variable["name"]: variable["value"] for variable in container["env"]}
    return said | {
        "ACCOUNT_PATH": str(tmp_path),
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": port,
        "MARK": str(tmp_path / "over"),
    }


def run(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT)], env=environment, capture_output=True, text=True, check=False
    )


def graphs(cluster: Cluster, namespace: str) -> list[str]:
    kind = "dynamographdeployments.nvidia.com"  # Other tests define the kind in groups of their own.
    listed = cluster.kubectl("get", kind, f"--namespace={namespace}", "--output=json")
    return [item["metadata"]["name"] for item in json.loads(listed)["items"]]


def test_nothing_ends_before_its_time(cluster: Cluster, namespace: str, account: dict[str, str]) -> None:
    name = add_graph(cluster, namespace)
    done = run(account)
    assert done.stdout.endswith(" s left\n"), done.stderr
    assert graphs(cluster, namespace) == [name]
    assert not Path(account["MARK"]).exists()


def test_the_stacks_graphs_and_benchmarks_end_with_its_time_and_nobody_elses(
    cluster: Cluster, namespace: str, account: dict[str, str]
) -> None:
    name, other = add_graph(cluster, namespace), add_graph(cluster, namespace, "of-others")
    for job in ("of-others", "benchmark"):
        cluster.kubectl("create", "job", job, "--image=x", f"--namespace={namespace}")
    cluster.kubectl("label", "job", "of-others", "app=benchmark", f"--namespace={namespace}")
    done = run(account | {"SECONDS_TO_LIVE": "0"})
    assert done.returncode == 0, done.stderr
    assert f"dynamographdeployments/{name}" in done.stdout
    assert Path(account["MARK"]).exists()

    def jobs() -> list[str]:
        return cluster.kubectl("get", "jobs", f"--namespace={namespace}", "--output=name").split()

    eventually(lambda: graphs(cluster, namespace) == [other])  # Its operator takes it down.
    eventually(lambda: jobs() == ["job.batch/of-others"])


def test_the_account_can_end_nothing_of_another_namespace(
    cluster: Cluster, namespace: str, account: dict[str, str]
) -> None:
    who = f"--as=system:serviceaccount:{namespace}:{time_to_live.NAME}"

    def may(verb: str, resource: str, where: str) -> bool:
        asked = ("auth", "can-i", verb, resource, who, f"--namespace={where}", "--quiet")
        try:
            cluster.kubectl(*asked)
        except ClusterError:
            return False
        return True

    assert may("delete", "dynamographdeployments.nvidia.com/ending", namespace)
    assert not may("delete", "dynamographdeployments.nvidia.com/of-others", namespace)
    assert not may("delete", "dynamographdeployments.nvidia.com/ending", "default")
    assert not may("create", "dynamographdeployments.nvidia.com", namespace)
    assert not may("get", "secrets", namespace)


def add_graph(cluster: Cluster, namespace: str, name: str = "ending") -> str:
    graph = example_graphs.alpha(name)
    graph["metadata"]["namespace"] = namespace
    cluster.kubectl("apply", "--server-side", "--filename=-", stdin=yaml.safe_dump(graph))
    return str(graph["metadata"]["name"])


@pytest.mark.parametrize(("over", "shrunk"), [(True, ["update-nodegroup-config gpu-1"]), (False, [])])
def test_only_the_stacks_gpu_node_groups_shrink_and_only_in_the_end(
    tmp_path: Path, over: bool, shrunk: list[str]
) -> None:
    aws = tmp_path / "aws"
    aws.write_text(FAKE_AWS)
    aws.chmod(0o755)
    if over:
        (tmp_path / "over").touch()
    pod = manifests(
        TimeToLiveSpec(
            namespace="dynamo",
            ttl="1h",
            graphs=("ending",),
            graph_api_version="nvidia.com/v1alpha1",
            node_groups=NodeGroups(cluster="c", region="us-east-1", stack="prod"),
        )
    )[-1]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    said = {variable["name"]: variable["value"] for variable in container["env"]}
    environment = said | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "MARK": str(tmp_path / "over"),
        "LOG": str(tmp_path / "log"),
    }
    subprocess.run(container["command"], env=environment, check=True)
    log = (tmp_path / "log").read_text().splitlines() if (tmp_path / "log").exists() else []
    assert log == shrunk
    assert [container["name"] for container in pod["initContainers"]] == ["end-graphs"]


FAKE_AWS = """#!/bin/sh
# Answers as the AWS CLI does in text form; node groups by name: the stack's GPU and CPU ones, another stack's GPUs.
while [ $# -gt 0 ]; do
  case "$1" in
    list-nodegroups|describe-nodegroup|update-nodegroup-config) verb=$1 ;;
    --nodegroup-name) group=$2 ;;
  esac
  shift
done
case "$verb/$group" in
  list-nodegroups/) printf 'gpu-1\\tcpu-1\\tgpu-2\\n' ;;
  describe-nodegroup/gpu-1) printf 'prod\\ttrue\\n' ;;
  describe-nodegroup/cpu-1) printf 'prod\\tNone\\n' ;;
  describe-nodegroup/gpu-2) printf 'other\\ttrue\\n' ;;
  *) echo "$verb $group" >> "$LOG" ;;
esac
"""
