"""The API of InferencePools, which a stack reads and does not manage."""

from typing import Any

import pulumi
import pytest

from components.services.inference_extension import InferenceExtension
from tests.components.recording import Deployed, deploy, named


class WithPools(Deployed):
    """A cluster whose InferencePool API is in some versions."""

    def __init__(self, *versions: str) -> None:
        super().__init__()
        self.versions = versions

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        response = super().ReadResource(request)
        if request.id == "inferencepools.inference.networking.k8s.io":
            served = [{"name": version, "served": True} for version in self.versions]
            response.properties.update({"spec": {"versions": [*served, {"name": "v2", "served": False}]}})
        return response


def test_the_pools_api_is_read_and_not_managed() -> None:
    recorder = deploy(lambda: InferenceExtension("inference-extension"), WithPools("v1alpha2", "v1"))
    assert named(recorder, "inferencepools.inference.networking.k8s.io").read
    assert recorder.registered_outputs["inference-extension"] == {"version": "v1"}


def test_a_pools_api_of_another_version_is_refused() -> None:
    with pytest.raises(pulumi.RunError) as error:
        deploy(lambda: InferenceExtension("inference-extension"), WithPools("v1alpha2"))
    assert str(error.value) == (
        "an endpoint picker needs inferencepools.inference.networking.k8s.io in v1, but the cluster serves v1alpha2; "
        "upgrade the Gateway API Inference Extension"
    )
