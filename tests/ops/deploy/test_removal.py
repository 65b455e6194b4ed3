"""What a `down` would do, told without doing it. Through Pulumi: tests/engine."""

from pathlib import Path
from typing import Any

import pytest

from embedded import cluster
from manifests.names import RETAINED
from ops.deploy import removal, teardown
from ops.deploy.destination import Deployer
from ops.evaluate import Evaluation
from ops.stack.stack import Stack
from tests.ops.deploy.clusters import Cluster, obj
from tests.ops.stacks import stack

CONFIG: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "existing"},
    "platform": {"install": False},
}


@pytest.fixture
def mine() -> Stack:
    return stack(CONFIG, embedded=True)


def test_it_names_what_goes_and_what_stays_and_deletes_nothing(
    mine: Stack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    claim, graph = obj("PersistentVolumeClaim", "model-cache"), obj("DynamoGraphDeployment", "g")
    claim["metadata"]["labels"] = dict(RETAINED)
    job = obj("Job", "model-download")
    there = Cluster(lambda _: [claim, graph])
    monkeypatch.setattr(cluster, "is_running", lambda _: True)
    monkeypatch.setattr(removal, "embedded_kubectl", lambda _: there)
    monkeypatch.setattr(removal, "deployer", lambda *_: Deployer.KUBECTL)
    monkeypatch.setattr(removal, "evaluate", lambda *_: Evaluation(stack="mine", resources=(), outputs={}))
    monkeypatch.setattr(removal, "members", lambda *_: [])
    monkeypatch.setattr(teardown, "order", lambda *_: [graph, job, claim])
    assert list(removal.preview(mine, print, state=tmp_path)) == [
        "would keep persistentvolumeclaim/model-cache: cache.retain",
        "would remove dynamographdeployment/g",
        "1 to delete",
    ]
    assert there.deleted == []


def test_where_no_cluster_runs_nothing_would_go(mine: Stack, tmp_path: Path) -> None:
    assert list(removal.preview(mine, print, state=tmp_path)) == [
        "the embedded cluster is not running: nothing would go"
    ]
