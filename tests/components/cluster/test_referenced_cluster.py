"""The cluster of another stack."""

from ops.synth import mask
from tests import plans


def test_another_stacks_kubeconfig_stays_secret() -> None:
    cluster = {"kind": "stack", "stack": "organization/shared/prod"}
    evaluation = plans.evaluated(target="trtllm-disagg-b200", cluster=cluster)
    by_type = {resource.type: resource for resource in evaluation.resources}
    assert by_type["pulumi:pulumi:StackReference"].inputs["name"] == "organization/shared/prod"
    assert mask(by_type["pulumi:providers:kubernetes"].inputs)["kubeconfig"] == "[secret]"
    assert not any(resource.type.startswith("aws:") for resource in evaluation.resources)
