"""Every EKS stack previewed by the real engine, with ids, ARNs and endpoints unknown: the resources are those of synth.

Simulated: the aws plugin echoes what it is asked for (echo_provider.py).
"""

import shutil
from typing import Any

import pytest
import yaml
from pulumi import automation

from ops.evaluate import evaluate
from ops.stack_file import StackFile, stacks
from tests.engine.conftest import PROJECT, Engine

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("engine")]


def eks_stacks() -> list[str]:
    def kind(stack: str) -> Any:
        config = yaml.safe_load((PROJECT / f"Pulumi.{stack}.yaml").read_text())["config"]
        return config.get("dynamo-gpt-oss:cluster", {}).get("kind")

    return [stack for stack in stacks(PROJECT) if kind(stack) == "eks"]


def previewed(engine: Engine, stack: str) -> dict[str, str]:
    """URN to operation of everything that `pulumi preview` shows, the stack itself aside."""
    shutil.copy(PROJECT / f"Pulumi.{stack}.yaml", engine.folder)
    events: list[automation.EngineEvent] = []
    engine.stack(stack).preview(on_event=events.append)
    steps = [event.resource_pre_event.metadata for event in events if event.resource_pre_event]
    return {step.urn: str(step.op.value) for step in steps if step.type != "pulumi:pulumi:Stack"}


@pytest.mark.parametrize("stack", eks_stacks())
def test_a_preview_has_the_resources_of_synth(engine: Engine, stack: str) -> None:
    evaluation = evaluate(PROJECT, StackFile.load(PROJECT, stack))
    wanted = {resource.urn: "read" if resource.read else "create" for resource in evaluation.resources}
    assert previewed(engine, stack) == wanted
