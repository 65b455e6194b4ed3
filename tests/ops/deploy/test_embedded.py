"""What stands in the way on the embedded cluster, and what still uses it."""

import json
from pathlib import Path
from typing import Any

import pytest

from embedded import cluster
from ops.deploy import embedded
from ops.deploy.destination import DestinationError
from ops.pulumi import automation
from ops.stack.stack import Stack
from tests.ops.stacks import stack

CONFIG = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "existing", "namespace": "mine"},
    "platform": {"install": False},
}


def of(release: str = "1.4.2", **config: Any) -> Stack:
    return stack({**CONFIG, "graph": {"dynamoVersion": release}, **config}, embedded=True)


class Cluster:
    """A running cluster that has graphs and other objects."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, graphs: dict[str, str] | None = None) -> None:
        self.graphs, self.started, self.nodes = graphs or {}, [], []  # type: ignore[var-annotated]
        monkeypatch.setattr(cluster, "is_running", lambda _: True)
        monkeypatch.setattr(cluster, "start", lambda *given: self.started.append(given[2:]))
        monkeypatch.setattr(cluster, "add_nodes", lambda nodes, _: self.nodes.extend(nodes))
        monkeypatch.setattr(embedded, "embedded_kubectl", lambda _: self.kubectl)

    def kubectl(self, *_: str, stdin: str = "") -> str:
        items = [
            {"apiVersion": f"nvidia.com/{version}", "metadata": {"namespace": "theirs", "name": name}}
            for name, version in self.graphs.items()
        ]
        return json.dumps({"items": items})


def test_graphs_of_both_api_versions_are_not_served_together(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    there = Cluster(monkeypatch, {"old": "v1alpha1"})
    with pytest.raises(DestinationError) as error:
        embedded.start(of(), lambda _: None, tmp_path)
    assert str(error.value).endswith("take down first: theirs/old (nvidia.com/v1alpha1)")
    assert not there.started, "it was changed before it was refused"


@pytest.mark.parametrize(("release", "version"), [("1.2.1", "v1alpha1"), ("1.4.2", "v1beta1")])
def test_the_cluster_serves_the_version_of_the_stacks_release(
    release: str, version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    there = Cluster(monkeypatch, {"beside": version})
    embedded.start(of(release), lambda _: None, tmp_path)
    ((started, platform),) = there.started
    assert started == version
    assert str(platform.version) == release


def test_each_pool_brings_its_own_nodes_under_names_of_the_stack(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    there = Cluster(monkeypatch)
    several = of(
        pool={"nodes": 2}, graphs=[{"name": "b", "pool": "second"}], pools=[{"name": "second", "nodes": 1}]
    )
    embedded.add_gpu_nodes(several, tmp_path)
    assert [node["metadata"]["name"] for node in there.nodes] == ["mine-0", "mine-1", "mine-second-0"]
    labels = [node["metadata"]["labels"] for node in there.nodes]
    assert all(each["dynamo-gpt-oss/stack"] == "mine" for each in labels)
    assert [each.get("dynamo-gpt-oss/pool") for each in labels] == [None, None, "second"]


@pytest.mark.parametrize("answers", ["secrets", "namespaces", "dynamographdeployments", ""])
def test_a_cluster_is_used_by_anything_of_anybodys(
    answers: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(automation, "available", lambda: False)

    def kubectl(*words: str, stdin: str = "") -> str:
        assert "--all-namespaces" in words
        return "something/there\n" if answers and words[1].startswith(answers) else "\n"

    assert embedded.is_used(kubectl, tmp_path) is bool(answers)


def test_a_port_that_another_holds_is_told_with_the_one_to_write() -> None:
    assert list(embedded.notes({"liveEndpoint": "http://127.0.0.1:8000"})) == [embedded.SIMULATED]
    assert list(embedded.notes({"liveEndpoint": "none: not run here"})) == [embedded.SIMULATED]
    assert list(embedded.notes({"liveEndpoint": "http://127.0.0.1:40491"}))[1:] == [
        "Port 8000 is another's: where the guides say http://localhost:8000, write http://127.0.0.1:40491"
    ]
