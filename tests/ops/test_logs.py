"""`ops logs`: which pods or processes a role is, and what is said where there are none."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from embedded import endpoints
from ops import logs
from ops.logs import LogsError, Role, local_lines, pods_of, show_logs
from ops.stack import cluster
from ops.stack.cluster import EmbeddedCluster
from ops.stack.stack import Stack
from tests.live import DataPlane
from tests.ops.stacks import stack

EXISTING = {"target": "trtllm-disagg-b200", "cluster": {"kind": "existing"}, "platform": {"install": False}}
GRAPH = "gpt-oss-disagg"


def pod(name: str, kind: str, subtype: str = "", **labels: str) -> dict[str, Any]:
    own = {
        "nvidia.com/dynamo-graph-deployment-name": GRAPH,
        "nvidia.com/dynamo-component": name,
        "nvidia.com/dynamo-component-type": kind,
        **({"nvidia.com/dynamo-sub-component-type": subtype} if subtype else {}),
        **labels,
    }
    return {"metadata": {"name": name.lower(), "labels": own}}


class Pods:
    """kubectl of a cluster with these pods, whatever selector is asked for."""

    def __init__(self, *pods: dict[str, Any]) -> None:
        self.pods = pods
        self.asked: list[Sequence[str]] = []

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        self.asked.append(arguments)
        return json.dumps({"items": self.pods})


@pytest.fixture
def mine() -> Stack:
    return stack(EXISTING)


APART = Pods(
    pod("Frontend", "frontend"), pod("Prefill", "worker", "prefill"), pod("Decode", "worker", "decode")
)
TOGETHER = Pods(pod("Frontend", "frontend"), pod("Workers", "worker"))
OF_GRAPH = f"--selector=nvidia.com/dynamo-graph-deployment-name={GRAPH},nvidia.com/dynamo-component in "


@pytest.mark.parametrize(
    "pods, role, components",
    [
        (APART, Role.FRONTEND, "(Frontend)"),
        (APART, Role.DECODE, "(Decode)"),
        (APART, None, "(Decode,Frontend,Prefill)"),
        (TOGETHER, Role.PREFILL, "(Workers)"),
        (Pods(pod("decode", "decode")), Role.DECODE, "(decode)"),
    ],
)
def test_a_role_is_found_by_its_components(
    pods: Pods, role: Role | None, components: str, mine: Stack
) -> None:
    """Workers in pods of their own, in one pod, and as the v1beta1 operator labels them."""
    assert pods_of(mine, GRAPH, role, pods) == ["--namespace=dynamo", OF_GRAPH + components]


def test_a_role_that_the_graph_has_not_is_told_with_those_it_has(mine: Stack) -> None:
    with pytest.raises(LogsError) as none:
        pods_of(mine, GRAPH, Role.PLANNER, APART)
    assert str(none.value) == "ROLE: graph gpt-oss-disagg has no planner; it has decode, frontend, prefill"
    with pytest.raises(LogsError) as none:
        pods_of(mine, GRAPH, None, Pods())
    assert str(none.value) == "--stack: no pod of graph gpt-oss-disagg runs; `make up STACK=mine` deploys it"


@pytest.mark.parametrize(
    "role, selector",
    [
        (Role.DOWNLOAD, "batch.kubernetes.io/job-name=model-download"),
        (Role.VERIFY, "batch.kubernetes.io/job-name=gpt-oss-disagg-verify"),
    ],
)
def test_jobs_are_found_by_name(role: Role, selector: str, mine: Stack) -> None:
    assert pods_of(mine, GRAPH, role, APART) == ["--namespace=dynamo", f"--selector={selector}"]
    with pytest.raises(LogsError, match=f"ROLE: no pod of {role} is there"):
        pods_of(mine, GRAPH, role, Pods())


def test_the_operator_is_where_the_platform_is() -> None:
    theirs = stack(EXISTING | {"platform": {"install": False, "operator": "nvidia/dynamo-op"}})
    assert pods_of(theirs, GRAPH, Role.OPERATOR, Pods()) == ["deployment/dynamo-op", "--namespace=nvidia"]
    assert pods_of(stack(EXISTING), GRAPH, Role.OPERATOR, APART) == [
        "--namespace=dynamo-system",
        "--selector=app.kubernetes.io/name=dynamo-operator",
    ]


def test_kubectl_follows_them_in_its_own_words(
    mine: Stack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "kubectl"
    program.write_text(
        f"""#!/bin/sh
case "$*" in *" get "*) cat {tmp_path}/pods.json;; *) echo "$@" > {tmp_path}/asked;; esac
"""
    )
    program.chmod(0o755)
    (tmp_path / "pods.json").write_text(json.dumps({"items": APART.pods}))
    monkeypatch.setattr(logs, "find_deployed", lambda *_, **__: mine)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    app = typer.Typer()
    app.command()(show_logs)
    done = CliRunner().invoke(app, ["router", "--tail=7", "--follow"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "asked").read_text().strip() == (
        f"logs --namespace=dynamo {OF_GRAPH}(Frontend) --all-containers --prefix --tail=7 --max-log-requests=64 "
        "--follow"
    )


class TestOnTheEmbeddedCluster:
    """With the real Dynamo processes; the pods are said, for no control plane runs here."""

    pytestmark = pytest.mark.xdist_group("live-verify")

    @pytest.fixture
    def here(self, plane: DataPlane, monkeypatch: pytest.MonkeyPatch) -> EmbeddedCluster:
        pods = [
            _runs(pod("frontend", "frontend"), ["python3", "-m", "dynamo.frontend"]),
            _runs(pod("prefill-0", "worker", "prefill"), ["python3", "-m", "dynamo.trtllm"]),
            _runs(pod("decode-0", "worker", "decode"), ["python3", "-m", "dynamo.trtllm"]),
        ]
        monkeypatch.setattr(cluster, "embedded_kubectl", lambda _: Pods(*pods))
        return EmbeddedCluster(stack(EXISTING, embedded=True), plane.state)

    @pytest.mark.parametrize("role, name", [(Role.FRONTEND, "frontend"), (Role.DECODE, "decode-0")])
    def test_a_role_is_its_process(self, role: Role, name: str, here: EmbeddedCluster) -> None:
        lines = list(local_lines(here, GRAPH, role, tail=3, follow=False))
        assert 1 <= len(lines) <= 3
        assert all(line.startswith(f"[{name}] ") for line in lines)

    def test_all_of_the_graph(self, here: EmbeddedCluster, capsys: pytest.CaptureFixture[str]) -> None:
        names = {line.split()[0] for line in local_lines(here, GRAPH, None, tail=2, follow=False)}
        assert names == {"[frontend]", "[prefill-0]", "[decode-0]"}
        assert capsys.readouterr().err.startswith(f"simulated: {endpoints.SIMULATED}")

    @pytest.mark.parametrize("role", [Role.DOWNLOAD, Role.VERIFY, Role.PLANNER])
    def test_what_runs_nothing_says_so(self, role: Role, here: EmbeddedCluster) -> None:
        with pytest.raises(LogsError, match=f"ROLE: {role} is simulated on the embedded cluster"):
            list(local_lines(here, GRAPH, role, tail=1, follow=False))

    def test_a_graph_that_does_not_run(self, here: EmbeddedCluster) -> None:
        with pytest.raises(LogsError, match="no pod of graph elsewhere runs"):
            list(local_lines(here, "elsewhere", None, tail=1, follow=False))


def _runs(made: dict[str, Any], command: list[str]) -> dict[str, Any]:
    metadata = made["metadata"] | {"namespace": "dynamo", "uid": made["metadata"]["name"]}
    containers = [{"name": "main", "command": command, "args": []}]
    return {"metadata": metadata, "spec": {"containers": containers}, "status": {"phase": "Running"}}
