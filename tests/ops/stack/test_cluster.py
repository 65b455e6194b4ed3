"""A real cluster's endpoint: a port that kubectl forwards for as long as somebody wants it."""

import os
import re
from pathlib import Path

import psutil
import pytest

from embedded.cluster import ClusterError
from ops.kubectl import OwnKubectl
from ops.stack import cluster
from ops.stack.cluster import EmbeddedCluster, EndpointError, RealCluster, reach
from ops.stack.stack import Stack
from tests.ops.stacks import stack
from tests.waiting import eventually

CONFIG = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "existing", "kubeconfig": "theirs"},
    "platform": {"install": False},
}
FORWARDS = """#!/bin/sh
echo $$ > {folder}/pid; echo "$@" > {folder}/arguments
echo 'Forwarding from 127.0.0.1:4321 -> 8000'
exec sleep 600
"""
FAILS = """#!/bin/sh
echo 'Error from server (NotFound): services "gpt-oss-disagg-frontend" not found' >&2
exit 1
"""


def kubectl(folder: Path, script: str) -> Path:
    program = folder / "kubectl"
    program.write_text(script.format(folder=folder))
    program.chmod(0o755)
    return program


@pytest.fixture
def existing() -> Stack:
    return stack(CONFIG)


def test_a_port_is_forwarded_to_the_main_graph_and_no_longer_than_wanted(
    existing: Stack, tmp_path: Path
) -> None:
    program = kubectl(tmp_path, FORWARDS)
    with RealCluster(existing, OwnKubectl((str(program),))).endpoint(7) as endpoint:
        assert (endpoint.url, endpoint.simulated) == ("http://127.0.0.1:4321", "")
        pid = int((tmp_path / "pid").read_text())
        assert psutil.pid_exists(pid)
    assert not psutil.pid_exists(pid)
    assert (tmp_path / "arguments").read_text().split() == [
        "port-forward",
        "--namespace=dynamo",
        "--address=127.0.0.1",
        "service/gpt-oss-disagg-frontend",
        ":8000",
        "--pod-running-timeout=7s",
    ]


def test_the_forward_ends_with_what_fails_beside_it(existing: Stack, tmp_path: Path) -> None:
    program = kubectl(tmp_path, FORWARDS)
    with (
        pytest.raises(ZeroDivisionError),
        RealCluster(existing, OwnKubectl((str(program),))).endpoint(7),
    ):
        raise ZeroDivisionError
    pid = int((tmp_path / "pid").read_text())
    eventually(lambda: not psutil.pid_exists(pid))


def test_what_kubectl_says_is_told(existing: Stack, tmp_path: Path) -> None:
    program = kubectl(tmp_path, FAILS)
    with (
        pytest.raises(EndpointError) as error,
        RealCluster(existing, OwnKubectl((str(program),))).endpoint(7),
    ):
        pass
    assert str(error.value) == (
        "cannot forward a port to service/gpt-oss-disagg-frontend: Error from server (NotFound): services "
        '"gpt-oss-disagg-frontend" not found\n`make status STACK=mine` says what is deployed'
    )


def test_a_stack_is_reached_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl(tmp_path, FAILS)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with reach(stack(CONFIG)) as real:
        assert isinstance(real, RealCluster)
        assert real.kubectl.command == (str(tmp_path / "kubectl"), "--kubeconfig=theirs")
    with reach(stack(CONFIG, embedded=True), state=tmp_path) as embedded:
        assert isinstance(embedded, EmbeddedCluster)
        assert embedded.state == tmp_path


def test_a_graph_that_is_not_deployed_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for names, why in (
        ("", "--stack: mine is not deployed; `make up STACK=mine` does it"),
        ("dynamographdeployment/gpt-oss-disagg", "does not answer after 0 s"),
    ):
        monkeypatch.setattr(cluster, "embedded_kubectl", lambda _, names=names: lambda *_: names)
        timeout = 600.0 if not names else 0.0
        with (
            pytest.raises(EndpointError, match=re.escape(why)),
            EmbeddedCluster(stack(CONFIG, embedded=True), tmp_path).endpoint(timeout),
        ):
            pass


def test_where_no_embedded_cluster_runs_it_says_so_at_once(tmp_path: Path) -> None:
    with (
        pytest.raises(ClusterError, match="the embedded cluster is not running: start it with `make up`"),
        EmbeddedCluster(stack(CONFIG, embedded=True), tmp_path / "none").endpoint(600),
    ):
        pass
