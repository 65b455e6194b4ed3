"""Every EKS stack previewed by the real engine, with ids, ARNs and endpoints unknown: the resources are those of synth.

Simulated: the aws plugin echoes what it is asked for (echo_provider.py).
"""

import shutil
from typing import Any

import pytest
import yaml
from pulumi import automation

from ops.evaluate import evaluate
from ops.pulumi.stack_file import StackFile, stacks
from tests.engine.conftest import Engine
from tests.project import PROJECT

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("engine")]


THE_ENGINES = {"pulumi:pulumi:Stack", "pulumi:providers:pulumi"}
"""The stack itself, and the provider of what is held in its state."""


def eks_stacks() -> list[str]:
    def kind(stack: str) -> Any:
        config = yaml.safe_load((PROJECT / f"Pulumi.{stack}.yaml").read_text())["config"]
        return config.get("dynamo-gpt-oss:cluster", {}).get("kind")

    return [stack for stack in stacks(PROJECT) if kind(stack) == "eks"]


EVERY_OPTION: dict[str, Any] = {
    "graph": {"dynamoVersion": "1.6.1", "decode": {"maxReplicas": 2}},
    "pool": {"nodes": 2},
    "pools": [{"name": "h100", "instanceType": "p5.48xlarge"}],
    "graphs": [{"name": "vllm", "target": "vllm-disagg-h100", "pool": "h100"}],
    "cache": {"kind": "efs", "localCopy": True, "retain": True},
    "monitoring": {"kind": "install"},
    "autoscaling": {"kind": "keda"},
    "sizing": {},
    "platform": {"grove": "bundled", "kaiScheduler": "bundled"},
}


def previewed(engine: Engine, stack: str) -> dict[str, str]:
    """URN to operation of everything that `pulumi preview` shows, the engine's own aside."""
    events: list[automation.EngineEvent] = []
    engine.stack(stack).preview(on_event=events.append)
    steps = [event.resource_pre_event.metadata for event in events if event.resource_pre_event]
    return {step.urn: str(step.op.value) for step in steps if step.type not in THE_ENGINES}


@pytest.mark.parametrize("stack", eks_stacks())
def test_a_preview_has_the_resources_of_synth(engine: Engine, stack: str) -> None:
    shutil.copy(PROJECT / f"Pulumi.{stack}.yaml", engine.folder)
    assert previewed(engine, stack) == synthesised(engine, stack)


def test_a_stack_with_every_option_previews_as_it_synthesises(engine: Engine) -> None:
    config = yaml.safe_load((PROJECT / "Pulumi.disagg-b200.yaml").read_text())["config"]
    config |= {f"dynamo-gpt-oss:{key}": value for key, value in EVERY_OPTION.items()}
    (engine.folder / "Pulumi.every-option.yaml").write_text(yaml.safe_dump({"config": config}))
    shown = previewed(engine, "every-option")
    assert shown == synthesised(engine, "every-option")
    kinds = {urn.split("::")[2].rpartition(":")[2] for urn in shown}
    assert {"Keda", "Autoscaling", "ScaledObject", "SizingRequest", "GpuNodePool"} <= kinds


def test_a_stack_with_its_models_in_a_bucket_previews_as_it_synthesises(engine: Engine) -> None:
    """The bucket's name, which goes into a ConfigMap, is AWS's choice and unknown until then."""
    config = yaml.safe_load((PROJECT / "Pulumi.disagg-b200.yaml").read_text())["config"]
    config["dynamo-gpt-oss:cache"] = {"kind": "s3", "retain": True}
    (engine.folder / "Pulumi.bucket.yaml").write_text(yaml.safe_dump({"config": config}))
    shown = previewed(engine, "bucket")
    assert shown == synthesised(engine, "bucket")
    kinds = {urn.split("::")[2].rpartition(":")[2] for urn in shown}
    assert {"Bucket", "BucketPolicy", "PodIdentityAssociation", "ModelBucket"} <= kinds


def synthesised(engine: Engine, stack: str) -> dict[str, str]:
    """The same as our own evaluation of the program has it."""
    evaluation = evaluate(PROJECT, StackFile.load(engine.folder, stack))
    return {resource.urn: "read" if resource.read else "create" for resource in evaluation.resources}
