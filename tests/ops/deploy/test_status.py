"""`status`: what of a stack is deployed, and how it is."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from embedded import cluster, endpoints
from ops.deploy import status as module
from ops.deploy.destination import Deployer
from ops.deploy.status import Status, status
from ops.kubectl import KubectlError
from ops.pulumi import automation
from ops.stack.cluster import RealCluster
from ops.stack.stack import Stack
from tests.ops.stacks import stack
from tests.ops.watch.seen import DATA, EXISTING, existing

RECORDED = json.loads((DATA / "full_pool.json").read_text())
KINDS = [
    "pulumi:pulumi:Stack",
    "aws:eks/nodeGroup:NodeGroup",
    "kubernetes:nvidia.com/v1beta1:DynamoGraphDeployment",
]


def kubectl(*arguments: str, stdin: str = "") -> str:
    """The recorded cluster."""
    return json.dumps({"items": RECORDED["holders" if "--all-namespaces" in arguments else "objects"]})


def on_embedded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *there: dict[str, Any]) -> Status:
    monkeypatch.setattr(cluster, "is_running", lambda _: True)
    monkeypatch.setattr(module, "evaluate", lambda *_: None)
    monkeypatch.setattr(module, "deployer", lambda *_: Deployer.KUBECTL)
    monkeypatch.setattr(module, "members", lambda *_: list(there))
    monkeypatch.setattr(module, "embedded_kubectl", lambda _: kubectl)
    entry = {"url": "http://l", "release": "1.4.2", "simulated": "engines", "reason": None}
    monkeypatch.setattr(endpoints, "read", lambda _: {"ns/gpt-oss-disagg": entry})
    return status(stack(EXISTING, embedded=True), state=tmp_path)


def test_a_cluster_that_does_not_run_is_started_by_a_verb(tmp_path: Path) -> None:
    found = status(stack(EXISTING, embedded=True), state=tmp_path)
    assert list(found.lines()) == ["the embedded cluster is not running: start it with `make up`"]
    assert found.data()["deployed"] is False


def test_nothing_is_there_of_a_stack_that_was_not_deployed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert list(on_embedded(monkeypatch, tmp_path).lines()) == ["mine is not deployed"]


def test_rows_reasons_and_endpoints_stand_in_columns_that_long_names_do_not_break(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, endpoint, blank, *rows = on_embedded(monkeypatch, tmp_path, {}).lines()
    assert first.startswith("mine on the embedded cluster: not ready, for ")
    assert endpoint == "endpoint of gpt-oss-disagg: http://l on Dynamo 1.4.2, engines simulated"
    assert not blank
    whole = "worker gpt-oss-disagg-trtllmworkers-ba066914-5f7794779-pqkbz  waits for a node, 8 simulated GPUs"
    assert whole in rows
    assert {
        row.index(word) for row in rows for word in ("Complete", "bound,", "ready on") if word in row
    } == {62}
    assert rows[-1].startswith(
        "! worker (pod gpt-oss-disagg-trtllmworkers-ba066914-5f7794779-pqkbz): needs 8 GPUs"
    )


def test_programs_get_the_same_as_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = json.loads(json.dumps(on_embedded(monkeypatch, tmp_path, {}).data()))
    assert set(data) == {
        "stack", "place", "deployed", "ready", "ageSeconds", "endpoints", "outputs", "spent", "rows", "reasons",
        "note",
    }  # fmt: skip
    assert (data["stack"], data["deployed"], data["ready"]) == ("mine", True, False)
    endpoint = {"url": "http://l", "release": "1.4.2", "simulated": "engines", "reason": None}
    assert data["endpoints"] == {"gpt-oss-disagg": endpoint}
    assert {row["subject"]: row["state"] for row in data["rows"]}["weights"] == "done"
    assert [reason["final"] for reason in data["reasons"]] == [True]
    assert set(data["rows"][0]) == {"subject", "state", "text", "since"}


def real(monkeypatch: pytest.MonkeyPatch, *kinds: str, why_not: str = "") -> Stack:
    @contextmanager
    def reached(found: Stack) -> Iterator[RealCluster]:
        if why_not:
            raise KubectlError(why_not)
        asked = SimpleNamespace(impatient=lambda: kubectl)
        yield RealCluster(found, asked)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "require_pulumi", lambda _: None)
    monkeypatch.setattr(module, "reach", reached)
    monkeypatch.setattr(automation, "open_stack", lambda *_: "opened")
    monkeypatch.setattr(automation, "resources", lambda _: [{"type": kind} for kind in kinds])
    monkeypatch.setattr(automation, "outputs", lambda _: {"endpoint": "http://e", "gpus": {"B200": 8}})
    return existing()


def test_elsewhere_pulumi_s_outputs_and_the_cluster_say_it(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *lines = status(real(monkeypatch, *KINDS)).lines()
    assert first.startswith("mine on a cluster of kind existing: not ready, for ")
    assert lines[:3] == ["endpoint: http://e", 'gpus: {"B200": 8}', ""]
    assert any(line.startswith("! worker (pod ") for line in lines)
    assert not any("simulated" in line for line in lines)


def test_a_cluster_that_is_out_of_reach_hides_nothing_that_pulumi_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = status(real(monkeypatch, *KINDS, why_not="no route"))
    assert list(found.lines()) == [
        "mine on a cluster of kind existing: deployed",
        "endpoint: http://e",
        'gpus: {"B200": 8}',
        "the cluster was not looked at: no route",
    ]
    assert found.data()["note"] == "the cluster was not looked at: no route"


def test_a_stack_that_pulumi_knows_without_resources_is_not_deployed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(status(real(monkeypatch, KINDS[0])).lines()) == ["mine is not deployed"]
