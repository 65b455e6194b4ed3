"""`status`: what of a stack is deployed, a line each."""

import json
from pathlib import Path
from typing import Any

import pytest

from embedded import cluster
from ops.deploy import status as module
from ops.deploy.destination import Deployer
from ops.deploy.status import status
from ops.pulumi import automation
from tests.ops.deploy.clusters import obj
from tests.ops.stacks import stack

CONFIG = {"target": "trtllm-disagg-b200", "cluster": {"kind": "existing"}, "platform": {"install": False}}
POD = {
    "metadata": {"name": "decode-0"},
    "spec": {"nodeName": "mine-0", "containers": [{"resources": {"limits": {"nvidia.com/gpu": "4"}}}, {}]},
    "status": {"phase": "Running"},
}


def job(*conditions: str) -> dict[str, Any]:
    return {
        **obj("Job", "model-download"),
        "status": {"conditions": [{"type": each, "status": "True"} for each in conditions]},
    }


def lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *there: dict[str, Any]) -> list[str]:
    monkeypatch.setattr(cluster, "is_running", lambda _: True)
    monkeypatch.setattr(module, "evaluate", lambda *_: None)
    monkeypatch.setattr(module, "deployer", lambda *_: Deployer.KUBECTL)
    monkeypatch.setattr(module, "members", lambda *_: list(there))
    monkeypatch.setattr(module, "embedded_kubectl", lambda _: lambda *_: json.dumps({"items": [POD]}))
    return [" ".join(line.split()) for line in status(stack(CONFIG, embedded=True), state=tmp_path)]


def test_a_cluster_that_does_not_run_is_started_by_a_verb(tmp_path: Path) -> None:
    assert status(stack(CONFIG, embedded=True), state=tmp_path) == [
        "the embedded cluster is not running: start it with `make up`"
    ]


def test_nothing_is_there_of_a_stack_that_was_not_deployed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert lines(monkeypatch, tmp_path) == ["mine is not deployed"]


@pytest.mark.parametrize(
    ("conditions", "state"),
    [
        ((), "Running"),
        (("SuccessCriteriaMet",), "Running"),
        (("SuccessCriteriaMet", "Complete"), "Complete"),
        (("FailureTarget", "Failed"), "Failed"),
    ],
)
def test_a_job_is_what_it_ended_as(
    conditions: tuple[str, ...], state: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, *_ = lines(monkeypatch, tmp_path, job(*conditions))
    assert first == f"Job model-download {state}"


def test_objects_come_in_the_order_that_they_were_made_in_and_then_pods(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    graph = {**obj("DynamoGraphDeployment", "g"), "status": {"state": "successful"}}
    found = lines(monkeypatch, tmp_path, graph, obj("Namespace", "mine"))
    assert found == [
        "Namespace mine there",
        "DynamoGraphDeployment g successful",
        "Pod decode-0 Running on mine-0, 4 simulated GPUs",
    ]


def test_elsewhere_pulumis_state_says_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [
        "pulumi:pulumi:Stack",
        "aws:eks/nodeGroup:NodeGroup",
        "aws:eks/nodeGroup:NodeGroup",
        "kubernetes:nvidia.com/v1beta1:DynamoGraphDeployment",
    ]
    monkeypatch.setattr(module, "require_pulumi", lambda _: None)
    monkeypatch.setattr(automation, "open_stack", lambda *_: "opened")
    monkeypatch.setattr(automation, "resources", lambda _: [{"type": kind} for kind in kinds])
    monkeypatch.setattr(automation, "outputs", lambda _: {"endpoint": "http://e"})
    assert status(stack(CONFIG)) == [
        "3 resources, 2 node groups and 1 graphs among them",
        "endpoint: http://e",
    ]
    monkeypatch.setattr(automation, "resources", lambda _: [{"type": kinds[0]}])
    assert status(stack(CONFIG)) == ["nothing is deployed"]
