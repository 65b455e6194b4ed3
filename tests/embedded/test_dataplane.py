"""From pods to processes, and what the supervisor does when processes, pods or graphs go."""

import json
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from embedded import dynamo, endpoints
from embedded.dynamo import DynamoError, Installation
from embedded.dynamo_graph import Graph, Worker, graphs_of, processes_of
from embedded.operator.pods import GRAPH
from embedded.paths import PROJECT
from manifests.names import VERSION_LABEL
from tests.embedded.conftest import Cluster
from tests.live import AGGREGATED, DISAGGREGATED, MODEL, NEWEST, PARSERS, DataPlane, worker
from tests.waiting import PATIENCE, eventually

pytestmark = pytest.mark.xdist_group("live-engine")
INSTALLED = Installation(Path("/venv/bin/python"), Path("/models"), Path("/vocabulary"))
TRTLLM = ["python3", "-m", "dynamo.trtllm"]


def pod(name: str, kind: str, *args: str, command: list[str] = TRTLLM, **more: Any) -> dict[str, Any]:
    labels = {GRAPH: "g", "nvidia.com/dynamo-component-type": kind, VERSION_LABEL: "1.2.1"}
    labels |= {"nvidia.com/dynamo-sub-component-type": more["sub"]} if "sub" in more else {}
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "labels": labels}
    if more.get("deleting"):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    main = {"name": "main", "command": command, "args": list(args)}
    containers = [{"name": "sidecar"}, main]
    return {
        "metadata": metadata,
        "spec": {"containers": containers},
        "status": {"phase": more.get("phase", "Running")},
    }


FRONTEND_FLAGS = ("--router-mode", "kv", "--kv-cache-block-size", "64", "--http-port", "8000")
FRONTEND_POD = pod("f", "frontend", *FRONTEND_FLAGS, command=["python3", "-m", "dynamo.frontend"])
SERVED = ("--model-path", "/opt/models/x", "--served-model-name", MODEL, *PARSERS)


@pytest.mark.parametrize(
    "workers",
    [
        pytest.param([pod("p", "prefill", *SERVED), pod("d", "decode", *SERVED)], id="v1beta1"),
        pytest.param(
            [pod("p", "worker", *SERVED, sub="prefill"), pod("d", "worker", *SERVED, sub="decode")],
            id="v1alpha1",
        ),
        pytest.param(
            [pod("p", "worker", "--is-prefill-worker", *SERVED), pod("d", "worker", *SERVED)],
            id="vLLM's flag",
        ),
        pytest.param(
            [
                pod("p", "worker", "--disaggregation-mode=prefill", *SERVED),
                pod("d", "worker", "--disaggregation-mode", "decode", *SERVED),
            ],
            id="mode's flag",
        ),
    ],
)
def test_roles(workers: list[dict[str, Any]]) -> None:
    (graph,) = graphs_of([FRONTEND_POD, *workers])
    assert graph == Graph(
        "ns",
        "g",
        "uid-f",
        "1.2.1",
        FRONTEND_FLAGS,
        (
            Worker("p", "uid-p", "prefill", MODEL, PARSERS),
            Worker("d", "uid-d", "decode", MODEL, PARSERS),
        ),
    )


def test_an_aggregated_worker() -> None:
    (graph,) = graphs_of([FRONTEND_POD, pod("w", "worker", "--model", "some/model", *PARSERS)])
    assert graph.workers == (Worker("w", "uid-w", "agg", "some/model", PARSERS),)


def test_only_what_runs_counts() -> None:
    absent = [
        pod("pending", "worker", *SERVED, phase="Pending"),
        pod("leaving", "worker", *SERVED, deleting=True),
        pod("g-0-worker-0-worker-wkr-0", "worker", *SERVED),
    ]
    (graph,) = graphs_of([FRONTEND_POD, *absent])
    assert graph.workers == ()
    assert graphs_of([pod("w", "worker", *SERVED)]) == []


def test_a_graph_without_the_label_has_no_release() -> None:
    frontend = pod("f", "frontend")
    del frontend["metadata"]["labels"][VERSION_LABEL]
    (graph,) = graphs_of([frontend])
    assert graph.release == ""


def test_plan() -> None:
    flags = ("--router-mode", "kv", "--model-path", "/opt/models/hub/x", "--http-port", "8000")
    frontend, prefill, decode = processes_of(replace(DISAGGREGATED, frontend=flags), INSTALLED, 1234)
    assert frontend.name == "frontend"
    assert frontend.argv[1:3] == ("-m", "dynamo.frontend")
    assert frontend.argv[3:9] == (
        "--router-mode",
        "kv",
        "--model-path",
        "/models/hub/x",
        "--http-port",
        "8000",
    )
    assert frontend.argv[9:] == ("--http-host", "127.0.0.1", "--http-port", "1234")
    assert [
        process.argv[process.argv.index("--disaggregation-mode") + 1] for process in (prefill, decode)
    ] == [
        "prefill",
        "decode",
    ]
    assert prefill.argv[-4:] == PARSERS
    assert "dynamo-gpt-oss-disagg" in prefill.argv


def test_everything_listens_on_loopback(plane: DataPlane) -> None:
    entries = endpoints.read(plane.state).values()
    pids = [pid for entry in entries for pid in entry["processes"].values()]
    listening = [
        connection.laddr.ip
        for pid in pids
        for connection in psutil.Process(pid).net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= len(pids)
    assert set(listening) == {"127.0.0.1"}


def test_what_dynamo_writes_is_in_the_graphs_folder(plane: DataPlane) -> None:
    folder = Path(endpoints.read(plane.state)[DISAGGREGATED.key]["logs"])
    assert list(folder.glob(".cache/*"))
    assert list(folder.glob("tmp*.json"))


def test_what_is_simulated_is_said(plane: DataPlane) -> None:
    entry = endpoints.read(plane.state)[DISAGGREGATED.key]
    assert entry["models"] == [MODEL]
    assert entry["roles"] == ["decode", "prefill"]
    assert "no weights, no GPU" in entry["simulated"]


def test_graphs_never_see_each_other(plane: DataPlane) -> None:
    def components(graph: Graph) -> set[str]:
        with urllib.request.urlopen(f"{plane.url(graph)}/health") as answer:
            return {f"{one['namespace']}/{one['component']}" for one in json.load(answer)["instances"]}

    assert plane.url(DISAGGREGATED) != plane.url(AGGREGATED)
    assert components(AGGREGATED) == {"dynamo-gpt-oss-agg/backend"}
    assert components(DISAGGREGATED) == {"dynamo-gpt-oss-disagg/backend", "dynamo-gpt-oss-disagg/prefill"}


def test_scaling_leaves_the_others_alone(plane: DataPlane) -> None:
    before = {name: plane.pid(DISAGGREGATED, name) for name in ("frontend", "prefill-0", "decode-0")}
    more = replace(DISAGGREGATED, workers=(*DISAGGREGATED.workers, worker("decode", 1)))
    plane.serve(more, AGGREGATED)
    added = plane.pid(more, "decode-1")
    assert {name: plane.pid(more, name) for name in before} == before
    plane.serve(DISAGGREGATED, AGGREGATED)
    psutil.wait_procs([psutil.Process(added)] if psutil.pid_exists(added) else [], timeout=PATIENCE)
    plane.supervisor.step(plane.graphs)
    assert not psutil.pid_exists(added)
    assert {name: plane.pid(more, name) for name in before} == before


def test_a_pod_made_anew_gets_a_new_process(plane: DataPlane) -> None:
    before = plane.pid(DISAGGREGATED, "decode-0")
    again = replace(DISAGGREGATED, workers=(worker("prefill"), worker("decode", uid="another")))
    plane.serve(again, AGGREGATED)
    assert plane.pid(again, "decode-0") != before


def test_a_killed_frontend_starts_on_the_same_port_with_new_workers(plane: DataPlane) -> None:
    url, worker_before = plane.url(AGGREGATED), plane.pid(AGGREGATED, "agg-0")
    plane.kill(AGGREGATED, "frontend")
    plane.settle()
    assert plane.url(AGGREGATED) == url
    assert plane.pid(AGGREGATED, "agg-0") != worker_before


def test_a_deleted_graph_leaves_nothing(plane: DataPlane) -> None:
    pids = [plane.pid(AGGREGATED, name) for name in ("frontend", "agg-0")]
    plane.serve(DISAGGREGATED)

    def gone() -> bool:
        plane.supervisor.step(plane.graphs)
        return not any(psutil.pid_exists(pid) for pid in pids)

    eventually(gone)
    assert AGGREGATED.key not in endpoints.read(plane.state)
    with pytest.raises(DynamoError, match="no running frontend pod of it was seen"):
        endpoints.wait_for(plane.state, "dynamo", "gpt-oss-agg", timeout=0)


def test_nothing_outlives_a_killed_daemon(tmp_path: Path) -> None:
    code = (
        "import time; from pathlib import Path; "
        "from embedded.supervisor import Supervisor; from tests.live import AGGREGATED, installed; "
        f"Supervisor(Path({str(tmp_path)!r}), installed).step([AGGREGATED]); time.sleep(60)"
    )
    daemon = subprocess.Popen([sys.executable, "-c", code], cwd=PROJECT)
    while AGGREGATED.key not in endpoints.read(tmp_path):
        time.sleep(0.05)
    children = psutil.Process(daemon.pid).children()
    daemon.send_signal(signal.SIGKILL)
    daemon.wait()
    _, alive = psutil.wait_procs(children, timeout=PATIENCE)
    assert len(children) == 2
    assert not alive


def test_unavailable_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(DynamoError, match="for Linux on x86-64 and ARM64 only"):
        dynamo.install("1.2.1", print)


@pytest.mark.parametrize(
    ("release", "reason"),
    [("0.4.1", "Dynamo 0.4.1 cannot be run here: "), ("", "the graph says no release")],
)
def test_what_cannot_be_run_is_said_and_nothing_else_runs(
    plane: DataPlane, release: str, reason: str
) -> None:
    plane.supervisor.step([replace(AGGREGATED, release=release)])
    entry = endpoints.read(plane.state)[AGGREGATED.key]
    assert reason in entry["reason"]
    assert not entry["url"] and not entry["release"] and not entry["processes"]
    with pytest.raises(DynamoError, match="graph dynamo/gpt-oss-agg has no endpoint: .*" + reason):
        endpoints.wait_for(plane.state, "dynamo", "gpt-oss-agg", timeout=PATIENCE)


def test_a_graph_moves_to_another_release(plane: DataPlane) -> None:
    older = replace(AGGREGATED, release="1.0.2")
    plane.serve(older)
    assert endpoints.read(plane.state)[AGGREGATED.key]["release"] == "1.0.2"
    plane.serve(AGGREGATED)
    assert endpoints.read(plane.state)[AGGREGATED.key]["release"] == NEWEST


def test_daemon_follows_the_pods_of_a_cluster_once_its_kubeconfig_is_right(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    def create(name: str, kind: str, *args: str) -> None:
        labels = {GRAPH: "g", "nvidia.com/dynamo-component-type": kind, VERSION_LABEL: "1.2.1"}
        main = {"name": "main", "image": f"none:{NEWEST}", "command": TRTLLM, "args": list(args)}
        manifest = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": labels},
            "spec": {"containers": [main], "terminationGracePeriodSeconds": 0},
        }
        cluster.kubectl("apply", f"--namespace={namespace}", "-f", "-", stdin=json.dumps(manifest))

    create("f", "frontend")
    create("w", "worker", *SERVED)
    kubeconfig = tmp_path / "kubeconfig"
    expired = yaml.safe_load(cluster.kubeconfig.read_text())
    expired["users"][0]["user"]["token"] = "expired"
    kubeconfig.write_text(yaml.safe_dump(expired))
    command = [sys.executable, "-m", "embedded.dataplane", f"--kubeconfig={kubeconfig}"]
    daemon = subprocess.Popen(
        [*command, f"--state={tmp_path}"], cwd=PROJECT, stderr=subprocess.PIPE, text=True
    )
    assert daemon.stderr
    try:
        assert any("HTTP Error 401" in line for line in daemon.stderr)
        kubeconfig.write_text("half: [")
        assert any("kubeconfig cannot be read" in line for line in daemon.stderr)
        shutil.copy(cluster.kubeconfig, kubeconfig)
        endpoints.wait_for(tmp_path, namespace, "g", timeout=PATIENCE)
        entry = endpoints.read(tmp_path)[f"{namespace}/g"]
        assert set(entry["processes"]) == {"frontend", "w"}
        served = [psutil.Process(pid) for pid in entry["processes"].values()]
        cluster.kubectl("delete", "pod", "f", "w", f"--namespace={namespace}")
        _, alive = psutil.wait_procs(served, timeout=PATIENCE)
        assert not alive
    finally:
        daemon.terminate()
    assert daemon.wait(timeout=PATIENCE) == 0
    assert f"{namespace}/g" not in endpoints.read(tmp_path)
