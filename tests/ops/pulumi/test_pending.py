"""What an update that was killed had asked for: what is there and ours is taken up, and nothing else.

The CLI and the cluster here are a few lines; tests/engine/test_recovery.py kills real ones.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pulumi import automation

from components.aws.image_build import _Build
from manifests.names import MANAGED_BY
from ops.pulumi import pending

URN = "urn:pulumi:s::dynamo-gpt-oss::"
METADATA = {"name": "files", "namespace": "dynamo", "labels": dict(MANAGED_BY)}
INPUTS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": METADATA, "data": {"key": "value"}}
BY_PULUMI = {"managedFields": [{"manager": "pulumi-kubernetes", "operation": "Update"}], "uid": "1"}
LIVE = INPUTS | {"metadata": METADATA | BY_PULUMI}


def asked(kind: str, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "creating",
        "resource": {"urn": f"{URN}{kind}::{name}", "type": kind, "inputs": dict(inputs)},
    }


CONFIG_MAP = asked("kubernetes:core/v1:ConfigMap", "files", INPUTS)
ROLE = asked("aws:eks/nodeGroup:NodeGroup", "gpu", {"clusterName": "ours", "nodeGroupName": "gpu-1"})


class Pretended:
    """A stack with a state, and a cluster with at most one object."""

    def __init__(self, *operations: Mapping[str, Any], live: Mapping[str, Any] | None = None) -> None:
        deployment = {"resources": [{"urn": f"{URN}stack"}], "pending_operations": list(operations)}
        self.state: dict[str, Any] = {"version": 3, "deployment": deployment}
        self.imported: dict[str, Any] | None = None
        self.asked: list[str] = []
        self.said: list[str] = []
        self._live = live

    def mend(self, *, strict: bool = True) -> None:
        command = SimpleNamespace(run=self._run)
        workspace = SimpleNamespace(pulumi_command=command, work_dir="", env_vars={})
        stack = cast(automation.Stack, SimpleNamespace(name="s", workspace=workspace))
        pending.mend(stack, self.said.append, kubectl=self._kubectl, strict=strict)

    def resources(self) -> list[dict[str, Any]]:
        """Those of the state that was imported."""
        assert self.imported is not None
        assert self.imported["deployment"]["pending_operations"] == []
        found: list[dict[str, Any]] = self.imported["deployment"]["resources"]
        return found

    def _run(self, command: list[str], *_: Any) -> automation.CommandResult:
        assert "--show-secrets" not in command, "what is imported never was in clear"
        if command[:2] == ["stack", "import"]:
            self.imported = json.loads(Path(command[command.index("--file") + 1]).read_text())
        return automation.CommandResult(stdout=json.dumps(self.state), stderr="", code=0)

    def _kubectl(self, *arguments: str, stdin: str = "") -> str:
        self.asked.append(" ".join(arguments))
        return json.dumps(self._live) if self._live else ""


def test_nothing_pending_touches_nothing() -> None:
    stack = Pretended()
    stack.mend()
    assert stack.imported is None
    assert not stack.said


def test_an_object_that_is_there_is_taken_up_and_waited_for_by_the_next_update() -> None:
    stack = Pretended(CONFIG_MAP, live=LIVE)
    stack.mend()
    made = stack.resources()[-1]
    assert (made["id"], made["urn"]) == ("dynamo/files", CONFIG_MAP["resource"]["urn"])
    assert made["inputs"] == INPUTS
    assert made["initErrors"], "Pulumi goes on waiting for such a one"
    assert stack.said == ["take up configmap/files: an update that was killed had made it"]
    assert stack.asked == [
        "get ConfigMap files --namespace=dynamo --ignore-not-found --show-managed-fields --output=json"
    ]


def test_an_object_that_is_not_there_is_asked_for_again() -> None:
    stack = Pretended(CONFIG_MAP)
    stack.mend()
    assert len(stack.resources()) == 1


@pytest.mark.parametrize(
    "live",
    [
        LIVE | {"metadata": METADATA},
        LIVE | {"metadata": METADATA | BY_PULUMI | {"labels": {}}},
        LIVE | {"data": {"key": "another"}},
    ],
    ids=["not by Pulumi", "not labelled", "not what was asked for"],
)
def test_another_s_object_is_not_taken_up(live: Mapping[str, Any]) -> None:
    stack = Pretended(CONFIG_MAP, live=live)
    stack.mend()
    assert len(stack.resources()) == 1


def test_what_the_api_server_adds_makes_it_no_other() -> None:
    stack = Pretended(CONFIG_MAP, live=LIVE | {"immutable": False, "status": {}})
    stack.mend()
    assert len(stack.resources()) == 2


def test_a_secret_value_is_neither_compared_nor_shown() -> None:
    hidden = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:x"}
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": METADATA, "stringData": hidden}
    live = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": METADATA | BY_PULUMI,
        "data": {"HF_TOKEN": "eA=="},
    }
    stack = Pretended(asked("kubernetes:core/v1:Secret", "files", inputs), live=live)
    stack.mend()
    made = stack.resources()[-1]
    assert made["outputs"]["stringData"] == hidden
    assert "eA==" not in json.dumps(made)


def test_an_update_killed_at_its_first_resource_is_mended() -> None:
    stack = Pretended(asked("pulumi:pulumi:Stack", "dynamo-gpt-oss-s", {}))
    del stack.state["deployment"]["resources"]
    stack.mend()
    assert stack.resources() == []


def test_what_is_only_pulumi_s_own_is_forgotten() -> None:
    stack = Pretended(asked("pulumi:providers:kubernetes", "cluster", {}))
    stack.mend()
    assert len(stack.resources()) == 1


def test_an_image_build_is_asked_for_again() -> None:
    stack = Pretended(asked(f"pulumi-python:{_Build._resource_type_name}", "image", {"tag": "1.2.1-abc"}))
    stack.mend()
    assert len(stack.resources()) == 1
    assert not stack.said


def test_a_dynamic_resource_that_nobody_called_repeatable_is_looked_for() -> None:
    with pytest.raises(pending.PendingError, match="ImageBuilder"):
        Pretended(asked("pulumi-python:dynamic/dynamo-gpt-oss:ImageBuilder", "image", {})).mend()


def test_a_component_makes_nothing_itself() -> None:
    operation = asked("dynamo-gpt-oss:index:BuiltImage", "image", {})
    operation["resource"]["custom"] = False
    stack = Pretended(operation)
    stack.mend()
    assert len(stack.resources()) == 1


def test_what_cannot_be_looked_at_is_for_somebody_to_look_at() -> None:
    stack = Pretended(ROLE, CONFIG_MAP, live=LIVE)
    with pytest.raises(pending.PendingError) as error:
        stack.mend()
    assert stack.imported is None
    said = str(error.value)
    assert said.startswith(
        "--stack: an update of s is making aws:eks/nodeGroup:NodeGroup 'gpu', or was killed while it did. Wait, if it "
        "is at work; else look"
    ), "of a living update the state says the same"
    assert "`pulumi refresh --stack s --clear-pending-creates`" in said


def test_a_destroy_goes_on_with_what_is_known() -> None:
    stack = Pretended(ROLE, CONFIG_MAP, live=LIVE)
    stack.mend(strict=False)
    assert len(stack.resources()) == 2
    assert len(stack.said) == 2
