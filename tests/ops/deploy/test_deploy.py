"""`up` and `down` on the embedded cluster: in which order, and what is left. On a real one: tests/embedded."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from embedded import cluster
from manifests.names import RETAINED
from ops.checks import existing_cluster
from ops.deploy import deploy, embedded, preflight, removal, room, stack_lock, teardown
from ops.deploy.destination import Deployer, DestinationError
from ops.evaluate import Evaluation
from ops.stack.stack import Stack
from tests.ops.deploy.clusters import obj
from tests.ops.stacks import of_file
from tests.plans import stack_file
from tests.waiting import PATIENCE

CONFIG: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "existing"},
    "platform": {"install": False},
}
NOTHING = Evaluation(
    stack="mine",
    resources=(),
    outputs={"endpoint": "e", "portForward": "kubectl port-forward service/g-frontend 8000:8000"},
)


@pytest.fixture
def mine() -> Stack:
    return of_file(stack_file("mine", **CONFIG), embedded=True, own_nodes=True)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setattr(stack_lock, "CACHE", folder)
    return folder


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[list[str]]:
    """What was done to the cluster, in order; every step of others is one that says so."""
    steps: list[str] = []

    def step(name: str, answer: object = None) -> Callable[..., object]:
        def run(*_: object, **__: object) -> object:
            steps.append(name)
            return answer

        return run

    monkeypatch.setattr(deploy, "evaluate", lambda *_: NOTHING)
    monkeypatch.setattr(deploy, "deployer", lambda *_: Deployer.KUBECTL)
    monkeypatch.setattr(embedded, "start", step("start", lambda *_, **__: '{"items": []}'))
    monkeypatch.setattr(embedded, "start_data_plane", step("data plane"))
    monkeypatch.setattr(embedded, "add_cpu_node", step("CPU node"))
    monkeypatch.setattr(embedded, "add_gpu_nodes", step("GPU nodes"))
    monkeypatch.setattr(embedded, "remove_nodes", step("nodes away"))
    monkeypatch.setattr(embedded, "live_endpoints", step("endpoints", {"liveEndpoint": "http://l"}))
    monkeypatch.setattr(preflight, "check", step("preflight"))
    monkeypatch.setattr(existing_cluster, "check", step("drivers"))
    monkeypatch.setattr(room, "check", step("room"))
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
        "room",
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
    monkeypatch.setattr(removal, "members", lambda *_: [])
    monkeypatch.setattr(removal, "evaluate", lambda *_: NOTHING)
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
    deploy.down(mine, told, state=tmp_path / "none")
    assert done == ["stop"], "which says that it was not running"


def test_what_a_stopped_cluster_still_holds_is_taken_down_with_it(
    mine: Stack, done: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its state has the objects; they would be there again with the next `up`."""
    monkeypatch.setattr(removal, "members", lambda *_: [])
    monkeypatch.setattr(removal, "evaluate", lambda *_: NOTHING)
    monkeypatch.setattr(teardown, "tear_down", lambda *_, **__: done.append("tear down"))
    monkeypatch.setattr(embedded, "is_used", lambda *_: False)
    deploy.down(mine, told, state=tmp_path)
    assert done == ["start", "tear down", "nodes away", "stop"]


def test_a_cluster_that_cannot_be_started_is_ended_if_that_is_asked_for(
    mine: Stack, done: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def start(*_: object) -> None:
        raise cluster.ClusterError("etcd ended: no space left on device")

    monkeypatch.setattr(embedded, "start", start)
    with pytest.raises(DestinationError) as error:
        deploy.down(mine, told, state=tmp_path)
    assert str(error.value) == (
        "etcd ended: no space left on device\nWhat is on it cannot be asked for: `make down STACK=mine "
        "ARGS='--embedded --force'` ends it with all stacks that are on it"
    )
    assert not done
    deploy.down(mine, told, force=True, state=tmp_path)
    assert done == ["stop"]


def test_a_real_cluster_is_not_ended(done: list[str], tmp_path: Path) -> None:
    real = of_file(stack_file("mine", **CONFIG))
    with pytest.raises(DestinationError) as error:
        deploy.down(real, told, force=True, state=tmp_path)
    assert str(error.value) == (
        "--force: mine is not on the embedded cluster, and no other is ended with all that is on it"
    )
    assert not done


def test_an_up_waits_for_another_of_the_same_stack(
    mine: Stack, done: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    began, may_end, said = threading.Event(), threading.Event(), list[str]()
    monkeypatch.setattr(embedded, "is_used", lambda *_: False)
    monkeypatch.setattr(removal, "members", lambda *_: [])
    monkeypatch.setattr(removal, "evaluate", lambda *_: NOTHING)
    monkeypatch.setattr(teardown, "tear_down", lambda *_, **__: 0)

    def apply(*_: object, **__: object) -> str:
        began.set()
        assert may_end.wait(PATIENCE)
        done.append("applied")
        return "0 changes"

    monkeypatch.setattr(deploy, "_apply", apply)

    def say(line: str) -> None:
        said.append(line)
        may_end.set()

    first = threading.Thread(target=lambda: deploy.up(mine, told, state=tmp_path))
    first.start()
    assert began.wait(PATIENCE)
    deploy.down(mine, say, state=tmp_path)
    first.join()
    assert said[0] == f"waiting for another up or down of mine (process {os.getpid()})"
    assert done.index("applied") < done.index("stop")


@pytest.mark.parametrize("other", ["up", "down"])
def test_the_cluster_is_not_ended_under_another_verb(
    other: str,
    mine: Stack,
    done: list[str],
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Of another stack, which has nothing there yet, or nothing any more. If it is a `down`, it ends the cluster."""
    theirs = of_file(stack_file("theirs", **CONFIG), embedded=True, own_nodes=True)
    began, may_end, said = threading.Event(), threading.Event(), list[str]()

    def work(*_: object, stack: object = None, **__: object) -> str:
        if stack != "mine":
            began.set()
            assert may_end.wait(PATIENCE)
        return "0 changes"

    monkeypatch.setattr(embedded, "is_used", lambda *_: False)
    monkeypatch.setattr(removal, "members", lambda *_: [])
    monkeypatch.setattr(removal, "evaluate", lambda *_: NOTHING)
    monkeypatch.setattr(teardown, "tear_down", work)
    monkeypatch.setattr(deploy, "_apply", work)
    beside = threading.Thread(target=lambda: getattr(deploy, other)(theirs, told, state=tmp_path))
    beside.start()
    assert began.wait(PATIENCE)
    deploy.down(mine, said.append, state=tmp_path)
    may_end.set()
    beside.join()
    assert said == ["embedded cluster: keeps running for another up or down"]
    assert done.count("stop") == (other == "down")
    deploy.down(mine, told, state=tmp_path)
    assert done[-1] == "stop"
    assert not list((cache / "locks").iterdir())


@pytest.mark.parametrize("secret", [(), ("huggingFace",)])
def test_up_says_that_encrypted_values_stay_closed_without_a_cli(
    secret: tuple[str, ...], done: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = stack_file("mine", secret, **CONFIG, huggingFace={"token": "[secret]"} if secret else {})
    monkeypatch.setattr(deploy, "_apply", lambda *_, **__: "0 changes")
    said: list[str] = []
    deploy.up(of_file(file, embedded=True, own_nodes=True), said.append, state=tmp_path)
    assert done[0] == "start"
    closed = [line for line in said if "only a Pulumi CLI opens encrypted values" in line]
    assert [line.partition(": ")[0] for line in closed] == [f"dynamo-gpt-oss:{key}" for key in secret]


def test_who_ends_an_up_learns_what_stays_and_how_to_go_on(mine: Stack) -> None:
    assert deploy.what_stays(mine) == (
        "What is made of mine stays: `make up STACK=mine ARGS=--embedded` goes on from there, `make down STACK=mine` "
        "takes it away, `make status STACK=mine` says how it is"
    )
    cluster = {"kind": "eks", "region": "us-east-1"}
    pool = {"zones": ["us-east-1a"], "capacity": {"kind": "on-demand"}}
    on_aws = of_file(stack_file("prod", target="trtllm-disagg-b200", cluster=cluster, pool=pool))
    assert deploy.what_stays(on_aws).startswith(
        "What is made of prod stays and is paid for: `make up STACK=prod` goes"
    )
