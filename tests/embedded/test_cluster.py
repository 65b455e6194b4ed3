"""The embedded control plane, for real: lifecycle on a cluster of its own, behaviour on the shared one."""

import json
import os
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from embedded import cluster as embedded
from embedded import credentials, nodes, processes
from embedded.cluster import ClusterError
from facts.hardware import INSTANCE_TYPES
from facts.versions import EMBEDDED_KUBERNETES
from tests.embedded.conftest import Cluster
from tests.waiting import PATIENCE

PARTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "operator")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state folder of a cluster for the lifecycle tests alone; its path has a space."""
    state = tmp_path_factory.mktemp("own cluster") / "state"
    yield state
    embedded.stop(print, state)


def pids(state: Path) -> dict[str, int]:
    return {name: process.pid for name in PARTS if (process := processes.find(state, name))}


def kill(*victims: int) -> None:
    running = [psutil.Process(pid) for pid in victims]
    for process in running:
        process.kill()
    psutil.wait_procs(running, timeout=PATIENCE)


def start(state: Path) -> str:
    said: list[str] = []
    assert embedded.start(said.append, state) == state / "kubeconfig"
    return said[-1]


def test_start_again_changes_nothing(own: Path) -> None:
    start(own)
    assert embedded.is_running(own)
    first = pids(own)
    assert start(own).endswith("already running")
    assert pids(own) == first


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_killed_comes_back_with_the_data(own: Path, part: str) -> None:
    start(own)
    embedded.kubectl("create", "configmap", f"before-{part}", "--from-literal=key=value", state=own)
    before = pids(own)
    kill(before[part])
    assert not embedded.is_running(own)
    # An API server that has lost its etcd for a while would try again minutes later.
    anew = ["etcd", "kube-apiserver"] if part == "etcd" else [part]
    assert f"started {', '.join(anew)} in" in start(own)
    after = pids(own)
    assert [name for name in PARTS if after[name] != before[name]] == anew
    value = embedded.kubectl("get", "configmap", f"before-{part}", "-o=jsonpath={.data.key}", state=own)
    assert value == "value"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cluster.json", "[]"),
        ("kubeconfig", "half: ["),
        ("tokens.csv", ""),
        ("pki/server.key", "half: ["),
        ("pki/sa.key", ""),
        ("run/kwok.json", ""),
        ("run/etcd.json", "[]"),
    ],
)
def test_a_damaged_file_is_mended_and_the_data_stays(own: Path, name: str, text: str) -> None:
    """By whatever text: test_damaged_state.py and test_processes.py have more of them for each file."""
    start(own)
    damaged = f"damaged-{len(text)}-{Path(name).stem}"
    embedded.kubectl("create", "configmap", damaged, state=own)
    before = pids(own)
    (own / name).write_text(text)
    start(own)
    assert embedded.is_running(own)
    embedded.kubectl("get", "configmap", damaged, state=own)
    after = pids(own)
    lost = [before[part] for part in PARTS if before[part] != after[part]]
    assert not [pid for pid in lost if psutil.pid_exists(pid) and not ended(pid)], "two of a part"


def test_an_api_server_that_knows_another_token_is_started_anew_and_the_data_stays(own: Path) -> None:
    start(own)
    embedded.kubectl("create", "configmap", "before-another-token", state=own)
    # As an `up` leaves it that is killed between making a token and ending what has read the one before.
    (own / "tokens.csv").write_text(f"{'0' * 64},admin,admin,system:masters\n")
    assert f"started {', '.join(PARTS)} in" in start(own)
    embedded.kubectl("get", "configmap", "before-another-token", state=own)


def test_a_part_that_is_stopped_is_started_anew(own: Path) -> None:
    start(own)
    before = pids(own)
    psutil.Process(before["kube-apiserver"]).suspend()
    assert not embedded.is_running(own)
    start(own)
    assert embedded.is_running(own)
    assert pids(own)["etcd"] == before["etcd"]


def test_another_graph_version_restarts_the_operator_alone(own: Path) -> None:
    start(own)
    before = pids(own)
    embedded.start(print, own, "v1beta1")
    after = pids(own)
    assert {name for name in PARTS if after[name] != before[name]} == {"operator"}
    versions = "-o=jsonpath={.spec.versions[*].name}"
    assert (
        embedded.kubectl("get", "crd", "dynamographdeployments.nvidia.com", versions, state=own) == "v1beta1"
    )


def test_all_parts_killed_come_back_on_new_ports_where_the_old_ones_are_taken(own: Path) -> None:
    start(own)
    embedded.kubectl("create", "configmap", "before-all", state=own)
    port = json.loads((own / "cluster.json").read_text())["ports"]["api"]
    kill(*pids(own).values())
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stranger.bind(("127.0.0.1", port))
        stranger.listen()
        line = start(own)
    assert all(part in line for part in PARTS)
    assert f":{port}:" not in line
    embedded.kubectl("get", "configmap", "before-all", state=own)


def test_nobody_else_can_read_or_reach_it(own: Path) -> None:
    start(own)
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    for name in ("kubeconfig", "tokens.csv", "pki/server.key", "pki/sa.key"):
        assert stat.S_IMODE((own / name).stat().st_mode) == 0o600
    listening = {
        connection.laddr.ip
        for name in PARTS
        if (process := processes.find(own, name))
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}
    token = (own / "tokens.csv").read_text().partition(",")[0]
    for pid in pids(own).values():
        assert token not in " ".join(psutil.Process(pid).cmdline())
        assert token not in str(psutil.Process(pid).environ())
    nobody = own.parent / "nobody"
    config = yaml.safe_load((own / "kubeconfig").read_text())
    config["users"][0]["user"] = {"token": "guessed"}
    nobody.write_text(yaml.safe_dump(config))
    with pytest.raises(ClusterError, match=r"Unauthorized|must be logged in"):
        embedded.kubectl("get", "nodes", f"--kubeconfig={nobody}", state=own)


def test_stop_leaves_nothing(own: Path) -> None:
    start(own)
    running = pids(own)
    ports = json.loads((own / "cluster.json").read_text())["ports"]
    said: list[str] = []
    embedded.stop(said.append, own)
    assert said == [f"embedded cluster: stopped {', '.join(reversed(PARTS))}"]
    assert not own.exists()
    assert list(own.parent.iterdir()) in ([], [own.parent / "nobody"])
    assert all(processes.is_free(port) for port in ports.values())
    assert not [pid for pid in running.values() if psutil.pid_exists(pid) and not ended(pid)]
    assert not [one for one in psutil.process_iter(["cmdline"]) if str(own) in str(one.info["cmdline"])]
    embedded.stop(said.append, own)
    assert said[-1] == "embedded cluster: was not running"


def ended(pid: int) -> bool:
    return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_two_starts_at_a_time_make_one_cluster(own: Path) -> None:
    said: list[str] = []
    threads = [threading.Thread(target=lambda: embedded.start(said.append, own)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([line for line in said if line.endswith("already running")]) == 1
    assert embedded.is_running(own)


def test_a_folder_of_somebody_else_is_refused_and_left(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "file").touch()
    for action in (embedded.start, embedded.stop):
        with pytest.raises(
            ClusterError, match=r"theirs was not made by the embedded cluster \(no cluster.json"
        ):
            action(print, tmp_path / "theirs")
    assert (tmp_path / "theirs" / "file").exists()


def test_kubectl_without_a_cluster_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="the embedded cluster is not running: start it with `make up`"):
        embedded.kubectl("get", "nodes", state=tmp_path)


def test_versions(cluster: Cluster) -> None:
    version = json.loads(cluster.kubectl("version", "-o=json"))
    assert (
        version["serverVersion"]["gitVersion"]
        == version["clientVersion"]["gitVersion"]
        == f"v{EMBEDDED_KUBERNETES}"
    )
    assert (version["serverVersion"]["major"], version["serverVersion"]["minor"]) == ("1", "34")


def test_the_nodes_are_ready_with_their_devices(cluster: Cluster) -> None:
    columns = "NAME:.metadata.name,GPUS:.status.allocatable.nvidia\\.com/gpu,ARCH:.metadata.labels.kubernetes\\.io/arch"
    listed = cluster.kubectl(
        "get", "nodes", "-l=!dynamo-gpt-oss/stack", f"-o=custom-columns={columns}", "--no-headers"
    )
    assert [line.split() for line in listed.splitlines()] == [
        ["b200-0", "8", "amd64"],
        ["cpu-0", "<none>", "amd64"],
        ["gb200-0", "4", "arm64"],
        ["gb200-1", "4", "arm64"],
        ["h100-0", "8", "amd64"],
    ]
    cluster.kubectl("wait", "--for=condition=Ready", "nodes", "--all", f"--timeout={PATIENCE}s")


def test_nodes_are_as_they_were_written_so_that_a_second_up_asks_nothing_more(cluster: Cluster) -> None:
    for wanted in nodes.default():
        live = json.loads(cluster.kubectl("get", "node", wanted["metadata"]["name"], "-o=json"))
        assert nodes.has_status(live, wanted)
        assert nodes.is_ready(live)
        assert not nodes.has_status({}, wanted)
        assert not nodes.is_ready({})


def pod(name: str, gpus: int, **annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "nodeSelector": {"dynamo-gpt-oss/stack": "test-gpus"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "containers": [
                {"name": "main", "image": "nowhere/none:1", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
            ],
        },
    }


def apply(cluster: Cluster, namespace: str, manifest: dict[str, Any]) -> None:
    cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=yaml.safe_dump(manifest))


@pytest.fixture
def eight_gpus(cluster: Cluster) -> Iterator[str]:
    """A node that no other test uses."""
    name, stack = "of-test-gpus", {"dynamo-gpt-oss/stack": "test-gpus"}
    embedded.add_nodes(
        [nodes.node(INSTANCE_TYPES["p6-b200.48xlarge"], name, "us-east-1a", stack)], cluster.state
    )
    yield name
    embedded.remove_nodes("dynamo-gpt-oss/stack=test-gpus", cluster.state)


def test_pods_run_where_there_are_gpus_and_wait_where_there_are_none_left(
    cluster: Cluster, namespace: str, eight_gpus: str
) -> None:
    apply(cluster, namespace, pod("eight", 8))
    cluster.kubectl("wait", "-n", namespace, "pod/eight", "--for=condition=Ready", f"--timeout={PATIENCE}s")
    eight = json.loads(cluster.kubectl("get", "-n", namespace, "pod", "eight", "-o=json"))
    assert eight["spec"]["nodeName"] == eight_gpus
    assert eight["status"]["podIP"].startswith("10.244.")
    apply(cluster, namespace, pod("ninth", 1))
    cluster.kubectl(
        "wait", "-n", namespace, "pod/ninth", "--for=condition=PodScheduled=False", f"--timeout={PATIENCE}s"
    )
    reason = "-o=jsonpath={.status.conditions[?(@.type=='PodScheduled')].message}"
    assert "1 Insufficient nvidia.com/gpu" in cluster.kubectl("get", "-n", namespace, "pod", "ninth", reason)
    cluster.kubectl("delete", "-n", namespace, "pod", "eight", f"--timeout={PATIENCE}s")
    cluster.kubectl("wait", "-n", namespace, "pod/ninth", "--for=condition=Ready", f"--timeout={PATIENCE}s")
    cluster.kubectl("delete", "-n", namespace, "pod", "ninth", f"--timeout={PATIENCE}s")


def job(name: str, **annotations: str) -> dict[str, Any]:
    template = {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "nowhere/none:1"}]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": template},
    }


def test_jobs_complete_unless_told_to_take_their_time(cluster: Cluster, namespace: str) -> None:
    apply(cluster, namespace, job("slow", **{"dynamo-gpt-oss/simulate-complete-after": "10h"}))
    apply(cluster, namespace, job("quick"))
    cluster.kubectl(
        "wait", "-n", namespace, "job/quick", "--for=condition=Complete", f"--timeout={PATIENCE}s"
    )
    cluster.kubectl(
        "wait", "-n", namespace, "job/slow", "--for=jsonpath={.status.ready}=1", f"--timeout={PATIENCE}s"
    )
    slow = json.loads(cluster.kubectl("get", "-n", namespace, "job", "slow", "-o=json"))
    assert "succeeded" not in slow["status"]


def test_a_claim_that_many_write_is_bound(cluster: Cluster, namespace: str) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "model-cache"},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "200Gi"}}},
    }
    apply(cluster, namespace, claim)
    bound = "--for=jsonpath={.status.phase}=Bound"
    cluster.kubectl("wait", "-n", namespace, "pvc/model-cache", bound, f"--timeout={PATIENCE}s")
    chosen = cluster.kubectl(
        "get", "-n", namespace, "pvc", "model-cache", "-o=jsonpath={.spec.storageClassName}"
    )
    assert chosen == "embedded-rwx"


def test_nodes_of_a_stack_come_change_and_go(cluster: Cluster) -> None:
    stack = {"dynamo-gpt-oss/stack": "test-nodes"}
    kept = cluster.kubectl("get", "nodes", "-l", "!dynamo-gpt-oss/stack", "-o=name")
    gpus = "-o=jsonpath={.status.allocatable.nvidia\\.com/gpu}"
    for instance in ("p5.4xlarge", "p5.48xlarge"):
        embedded.add_nodes(
            [nodes.node(INSTANCE_TYPES[instance], "of-test-nodes", "us-east-1a", stack)], cluster.state
        )
        held = cluster.kubectl("get", "node", "of-test-nodes", gpus)
        assert held == str(INSTANCE_TYPES[instance].gpus)
    embedded.remove_nodes("dynamo-gpt-oss/stack=test-nodes", cluster.state)
    assert cluster.kubectl("get", "nodes", "-l", "!dynamo-gpt-oss/stack", "-o=name") == kept
    assert cluster.kubectl("get", "nodes", "-l", "dynamo-gpt-oss/stack=test-nodes", "-o=name") == ""


def test_dynamic_resource_allocation_is_served(cluster: Cluster) -> None:
    served = cluster.kubectl("api-resources", "--api-group=resource.k8s.io", "-o=name").split()
    assert "resourceclaimtemplates.resource.k8s.io" in served


def test_the_api_server_is_started_once_etcd_listens(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives up on an etcd that takes 20 s, as on a machine that is busy."""
    listened: list[bool] = []
    start_one = processes.start

    def watched(state: Path, daemon: processes.Daemon, environment: Any) -> bool:
        if daemon.name == "kube-apiserver":
            port = json.loads((own / "cluster.json").read_text())["ports"]["etcd"]
            listened.append(not processes.is_free(port))
        return start_one(state, daemon, environment)

    embedded.stop(print, own)
    monkeypatch.setattr(processes, "start", watched)
    start(own)
    assert listened[0]
    assert all(listened)


def test_what_knows_the_keys_before_is_ended_before_they_are_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An `up` that is killed in between leaves keys that the next takes for whole, and an etcd of the ones before."""
    sleeper = processes.Daemon("etcd", (sys.executable, "-c", "import time; time.sleep(600)", str(tmp_path)))
    credentials.write(tmp_path, tmp_path / "kubeconfig", 6443)
    processes.start(tmp_path, sleeper, os.environ)
    (tmp_path / "cluster.json").touch()
    (tmp_path / "pki" / "server.key").write_text("half: [")

    def killed(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(credentials, "write", killed)
    with pytest.raises(KeyboardInterrupt):
        embedded._prepare(tmp_path, {"controlplane": sys.executable})
    assert not processes.find(tmp_path, "etcd")
    assert not credentials.are_whole(tmp_path)
