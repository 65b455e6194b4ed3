"""The cluster of another stack."""

from ops.evaluate import evaluate
from ops.pulumi.stack_file import StackFile
from ops.synth import masked
from tests.project import PROJECT


def test_another_stacks_kubeconfig_stays_secret() -> None:
    config = {
        "dynamo-gpt-oss:target": "trtllm-disagg-b200",
        "dynamo-gpt-oss:cluster": '{"kind": "stack", "stack": "organization/shared/prod"}',
    }
    said = StackFile(project="dynamo-gpt-oss", stack="s", config=config, secret_keys=frozenset())
    evaluation = evaluate(PROJECT, said)
    by_type = {resource.type: resource for resource in evaluation.resources}
    assert by_type["pulumi:pulumi:StackReference"].inputs["name"] == "organization/shared/prod"
    assert masked(by_type["pulumi:providers:kubernetes"].inputs)["kubeconfig"] == "[secret]"
    assert not any(resource.type.startswith("aws:") for resource in evaluation.resources)
