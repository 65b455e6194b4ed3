"""States as earlier versions of this project left them, previewed by today's program: only what is named changes.

tests/engine/record.py made them with a real engine. Simulated: both plugins echo what they are asked for.
"""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from pulumi import automation
from pulumi.automation import OpType

from tests.engine.conftest import Engine
from tests.engine.record import STATES, read
from tests.golden_files import compare
from tests.project import PROJECT

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("engine")]
DEAR = (
    "aws:ec2/natGateway:NatGateway", "aws:ec2/subnet:Subnet", "aws:ec2/vpc:Vpc", "aws:efs/fileSystem:FileSystem",
    "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup", "kubernetes:core/v1:Namespace",
)  # fmt: skip
"""What nobody gets back in the way it was, or pays for twice."""
BLOCKS = {"4b076b2-disagg-gb200-8k", "4b076b2-prod", "960b5bc-prod"}
"""States with nodes that run in a Capacity Block."""
ANEW = {OpType.REPLACE, OpType.CREATE_REPLACEMENT, OpType.DELETE_REPLACED, OpType.DELETE}


def with_state(engine: Engine, name: str, file: str, resources: list[dict[str, Any]]) -> automation.Stack:
    """A stack with today's code and a shipped stack's file, and a state."""
    shutil.copy(PROJECT / f"Pulumi.{file}.yaml", engine.folder / f"Pulumi.{name}.yaml")
    stack = engine.stack(name)
    empty = dict(stack.export_stack().deployment or {})
    stack.import_stack(automation.Deployment(version=3, deployment=empty | {"resources": resources}))
    return stack


def steps(stack: automation.Stack) -> Iterator[tuple[OpType, str, str]]:
    """What a preview would do, to which type and name; what stays as it is left out."""
    events: list[automation.EngineEvent] = []
    stack.preview(on_event=events.append)
    for event in events:
        if event.resource_pre_event:
            step = event.resource_pre_event.metadata
            if step.op not in (OpType.SAME, OpType.READ):
                yield step.op, step.type, step.urn.rpartition("::")[2]


@pytest.mark.parametrize("state", sorted({path.stem for path in STATES.glob("*.jsonl")} - BLOCKS))
def test_only_what_is_named_changes(offline: Engine, state: str) -> None:
    name = state.partition("-")[2]
    found = list(steps(with_state(offline, name, name, read(STATES / f"{state}.jsonl"))))
    lines = sorted({f"{op.value} {kind} {name}" for op, kind, name in found})
    compare(f"recorded/{state}.txt", "\n".join(lines) + "\n")
    assert not [name for op, kind, name in found if op in ANEW and kind in DEAR]


@pytest.mark.parametrize("state", sorted(BLOCKS))
def test_a_running_capacity_block_is_asked_to_go_first(offline: Engine, state: str) -> None:
    name = state.partition("-")[2]
    stack = with_state(offline, name, name, read(STATES / f"{state}.jsonl"))
    with pytest.raises(automation.CommandError, match=r"set gpu-nodes\.active to false and run"):
        stack.preview()


@pytest.mark.parametrize("state", ["960b5bc-prod"])
def test_once_it_is_gone_only_what_is_named_changes(offline: Engine, state: str) -> None:
    name, before = state.partition("-")[2], read(STATES / f"{state}.jsonl")
    stack = with_state(offline, name, name, before)
    stack.set_config("dynamo-gpt-oss:pool.active", automation.ConfigValue("false"), path=True)
    found = list(steps(stack))
    compare(
        f"recorded/{state}.txt", "".join(sorted(f"{op.value} {kind} {name}\n" for op, kind, name in found))
    )
    assert not [name for op, kind, name in found if op in ANEW and kind in DEAR]
    kept = {(each["type"], each["urn"].rpartition("::")[2]) for each in before if each.get("retainOnDelete")}
    # Pulumi leaves such a one where it is, so that its successor of the same name is refused.
    assert [name for op, kind, name in found if op is OpType.DELETE_REPLACED and (kind, name) in kept] == [
        "model-cache"
    ], "CHANGELOG.md says which are to be deleted by hand"


def test_a_renamed_stack_is_refused_where_its_cluster_bears_its_name(offline: Engine) -> None:
    root = "urn:pulumi:after::dynamo-gpt-oss::pulumi:pulumi:Stack::dynamo-gpt-oss-after"
    first = "urn:pulumi:after::dynamo-gpt-oss::pulumi:index:Stash::named-after"
    held = {"input": "before", "output": "before"}
    state = [
        {"urn": root, "type": "pulumi:pulumi:Stack", "custom": False},
        {"urn": first, "type": "pulumi:index:Stash", "custom": True, "id": "1", "parent": root,
         "inputs": {"input": "before"}, "outputs": held},
    ]  # fmt: skip
    stack = with_state(offline, "after", "disagg-h100-vllm", state)
    with pytest.raises(automation.CommandError, match="`pulumi stack rename before` brings it back"):
        stack.preview()
