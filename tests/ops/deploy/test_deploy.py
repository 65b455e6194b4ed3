"""`up` and `down` on the embedded cluster: in which order, and what is left. On a real one: tests/embedded."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from embedded import cluster
from manifests.names import RETAINED
from ops.checks import existing_cluster
from ops.deploy import deploy, embedded, preflight, teardown
from ops.deploy.destination import Deployer
from ops.evaluate import Evaluation
from ops.stack.stack import Stack
from tests.ops.deploy.clusters import obj
from tests.ops.stacks import of_file
from tests.plans import stack_file

CONFIG: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "existing"},
    "platform": {"install": False},
}
NOTHING = Evaluation(stack="mine", resources=(), outputs={"endpoint": "e"})


@pytest.fixture
def mine() -> Stack:
    return of_file(stack_file("mine", **CONFIG), embedded=True, own_nodes=True)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was done to the cluster, in order; every step of others is one that says so."""
    steps: list[str] = []

    def step(name: str, answer: object = None) -> Callable[..., object]:
        def run(*_: object, **__: object) -> object:
            steps.append(name)
            return answer

        return run

    monkeypatch.setattr(deploy, "evaluate", lambda *_: NOTHING)
    monkeypatch.setattr(deploy, "deployer", lambda *_: Deployer.KUBECTL)
    monkeypatch.setattr(embedded, "start", step("start"))
    monkeypatch.setattr(embedded, "start_data_plane", step("data plane"))
    monkeypatch.setattr(embedded, "add_cpu_node", step("CPU node"))
    monkeypatch.setattr(embedded, "add_gpu_nodes", step("GPU nodes"))
    monkeypatch.setattr(embedded, "remove_nodes", step("nodes away"))
    monkeypatch.setattr(embedded, "live_endpoints", step("endpoints", {"liveEndpoint": "http://l"}))
    monkeypatch.setattr(preflight, "check", step("preflight"))
    monkeypatch.setattr(existing_cluster, "check", step("drivers"))
    monkeypatch.setattr(cluster, "stop", step("stop"))
    yield steps


def told(_: str) -> None:
    """Nobody listens."""


def test_what_is_missing_is_told_before_anything_of_the_stack_is_made(
    mine: Stack, done: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object) -> None:
        raise preflight.PreflightError("no Secret")

    monkeypatch.setattr(preflight, "check", refuse)
    with pytest.raises(preflight.PreflightError):
        deploy.up(mine, told, state=tmp_path)
    assert done == ["start", "data plane"]


def test_gpu_nodes_come_once_the_weights_are_there(
    mine: Stack, done: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def apply(*_: object, wait: Callable[[Mapping[str, Any]], None], **__: object) -> str:
        for each in (obj("Job", "model-download"), obj("DynamoGraphDeployment", "g")):
            wait(each)
            done.append(f"waited for {each['kind']}")
        return "2 created"

    monkeypatch.setattr(deploy, "apply", apply)
    monkeypatch.setattr(deploy, "Waiter", lambda *_, **__: lambda _: None)
    outputs = deploy.up(mine, told, state=tmp_path)
    assert outputs == {"endpoint": "e", "liveEndpoint": "http://l"}
    assert done[2:] == [
        "preflight",
        "drivers",
        "CPU node",
        "GPU nodes",
        "waited for Job",
        "waited for DynamoGraphDeployment",
        "endpoints",
    ]


@pytest.mark.parametrize("used", [False, True])
def test_down_keeps_the_weights_and_ends_the_cluster_with_its_last_stack(
    used: bool, mine: Stack, done: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    claim, graph = obj("PersistentVolumeClaim", "model-cache"), obj("DynamoGraphDeployment", "g")
    claim["metadata"]["labels"] = dict(RETAINED)
    gone: list[str] = []
    said: list[str] = []
    monkeypatch.setattr(cluster, "is_running", lambda _: True)
    monkeypatch.setattr(deploy, "members", lambda *_: [])
    monkeypatch.setattr(teardown, "order", lambda *_: [graph, claim])
    monkeypatch.setattr(
        teardown, "tear_down", lambda objects, *_, **__: gone.extend(o["kind"] for o in objects)
    )
    monkeypatch.setattr(embedded, "is_used", lambda *_: used)
    deploy.down(mine, said.append, state=tmp_path)
    assert gone == ["DynamoGraphDeployment"]
    assert said[0] == "keep persistentvolumeclaim/model-cache: cache.retain"
    assert done == (["nodes away"] if used else ["nodes away", "stop"])


def test_a_cluster_that_was_never_there_needs_no_down(mine: Stack, done: list[str], tmp_path: Path) -> None:
    said: list[str] = []
    deploy.down(mine, said.append, state=tmp_path / "none")
    assert said == ["embedded cluster: was not running"]
    assert not done


def test_what_a_stopped_cluster_still_holds_is_taken_down_with_it(
    mine: Stack, done: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its state has the objects; they would be there again with the next `up`."""
    monkeypatch.setattr(deploy, "members", lambda *_: [])
    monkeypatch.setattr(teardown, "tear_down", lambda *_, **__: done.append("tear down"))
    monkeypatch.setattr(embedded, "is_used", lambda *_: False)
    deploy.down(mine, told, state=tmp_path)
    assert done == ["start", "tear down", "nodes away", "stop"]
