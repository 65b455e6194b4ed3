"""The way to a cluster while an update runs on it."""

import json
from pathlib import Path
from typing import Any

import pytest

from ops.pulumi.events import Events
from ops.stack.stack import Stack
from ops.watch.made import Made
from ops.watch.reach import real_look
from tests.ops.stacks import stack
from tests.ops.watch.seen import existing

EKS: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "eks", "region": "us-east-1"},
    "pool": {"zones": ["us-east-1a"], "capacity": {"kind": "on-demand"}},
}
KUBECTL = """#!/bin/sh
for word in "$@"; do case $word in
  --kubeconfig=*) cat "${word#--kubeconfig=}" >&2 ;;
esac; done
echo "$@" >> "$(dirname "$0")/calls"
echo '{"items": []}'
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a kubectl of the test's own was asked."""
    program = tmp_path / "kubectl"
    program.write_text(KUBECTL)
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "calls"


def look(made: Stack, **provider: str) -> tuple[object, list[str]]:
    said: list[str] = []
    events = Events(said.append, Made(1))
    with real_look(made, events, said.append) as seen:
        events.provider = provider or None
        return seen(), said


def test_a_cluster_that_the_stack_file_names_is_looked_at_from_the_beginning(calls: Path) -> None:
    found, said = look(existing(cluster={"kind": "existing", "context": "mine", "namespace": "ns"}))
    assert found is not None
    assert not said
    assert "--context=mine --request-timeout=30s get " in calls.read_text()


def test_one_that_is_being_made_once_its_provider_is_there(calls: Path) -> None:
    assert look(stack(EKS)) == (None, [])
    found, _ = look(stack(EKS), kubeconfig=json.dumps({"kind": "Config"}))
    assert found is not None
    assert "--kubeconfig=/" in calls.read_text()


def test_a_kubeconfig_that_is_a_secret_is_no_way(calls: Path) -> None:
    assert look(stack(EKS), kubeconfig="[secret]") == (None, [])


def test_without_kubectl_the_update_goes_on_unwatched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found, said = look(existing())
    assert found is None
    assert said[0].startswith("the cluster is not watched: kubectl is not on PATH")
