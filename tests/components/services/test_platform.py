"""The Dynamo platform as a component: one release of a pinned file, or an operator that is there and looked at."""

from typing import Any

import pulumi
import pytest

from components.services.platform import DynamoPlatform, DynamoPlatformArgs, ExistingOperator
from tests.components.recording import Deployed, deploy, named


def install(*, make_namespace: bool = False) -> None:
    args = DynamoPlatformArgs(version="1.2.1", make_namespace=make_namespace)
    DynamoPlatform("dynamo-platform", args)


def test_the_platform_is_one_release_of_a_pinned_file() -> None:
    release = named(deploy(install), "dynamo-platform", ":Release")
    assert release.inputs["chart"].endswith("/dynamo-platform-1.2.1.tgz")
    assert release.inputs["namespace"] == "dynamo-system"
    assert release.inputs["values"]["global"]["nats"] == {"install": True}
    assert release.inputs["skipAwait"] is False
    assert "repositoryOpts" not in release.inputs


def test_it_makes_its_namespace_where_nobody_else_does() -> None:
    recorder = deploy(lambda: install(make_namespace=True))
    release = named(recorder, "dynamo-platform", ":Release")
    assert release.dependencies == (named(recorder, "dynamo-system", ":Namespace").urn,)
    assert release.inputs["skipAwait"] is False
    assert not [each for each in deploy(install).recorded if each.type.endswith(":Namespace")]


def test_a_platform_of_the_stack_s_own_brings_no_definition_into_the_state() -> None:
    recorder = deploy(install)
    component = named(recorder, "dynamo-platform", ":DynamoPlatform")
    assert named(recorder, "dynamo-platform", ":Release").parent == component.urn
    assert not [resource for resource in recorder.recorded if resource.read]
    assert recorder.registered_outputs["dynamo-platform"]["graphApiVersion"] == "nvidia.com/v1alpha1"


def use_existing() -> None:
    operator = ExistingOperator(namespace="ops", name="operator")
    args = DynamoPlatformArgs(version="1.2.1", install=False, operator=operator)
    DynamoPlatform("dynamo-platform", args)


class WithOperator(Deployed):
    """A cluster with an operator of some image."""

    def __init__(self, image: str) -> None:
        super().__init__()
        self.image = image

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        response = super().ReadResource(request)
        if request.type.endswith(":Deployment"):
            container = {"name": "manager", "image": self.image}
            response.properties.update({"spec": {"template": {"spec": {"containers": [container]}}}})
        return response


@pytest.mark.parametrize("image", ["kubernetes-operator:1.2.0", "kubernetes-operator:v1.3.1-rc1"])
def test_a_recent_operator_is_accepted(image: str) -> None:
    recorder = deploy(use_existing, WithOperator(image))
    assert named(recorder, "operator", ":Deployment").inputs["id"] == "ops/operator"


def test_an_older_operator_is_refused() -> None:
    old = WithOperator("nvcr.io/nvidia/ai-dynamo/kubernetes-operator:1.0.2")
    with pytest.raises(pulumi.RunError) as error:
        deploy(use_existing, old)
    assert str(error.value) == (
        "dynamo-platform.operator: ops/operator is version 1.0.2, older than 1.2.1, which is wanted; upgrade the "
        "platform or lower version"
    )


def test_an_operator_of_unknown_version_is_left_alone() -> None:
    recorder = deploy(use_existing, WithOperator("registry.example/operator@sha256:0123"))
    assert named(recorder, "operator", ":Deployment")


def test_a_platform_that_serves_another_api_version_is_refused() -> None:
    def program() -> None:
        DynamoPlatform("platform", DynamoPlatformArgs(version="1.4.2", install=False))

    with pytest.raises(pulumi.RunError) as error:
        deploy(program)
    assert str(error.value) == (
        "platform.graphApiVersion: graphs are nvidia.com/v1beta1, but the cluster's Dynamo platform serves "
        "nvidia.com/v1alpha1; choose a matching release of the graph or upgrade the platform"
    )
