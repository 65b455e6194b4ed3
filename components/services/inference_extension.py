"""What a cluster's gateway has to bring before a graph may have an endpoint picker."""

from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from manifests.services.inference_extension import POOL_GROUP, POOL_VERSION

POOL_CRD = f"inferencepools.{POOL_GROUP}"


class InferenceExtension(pulumi.ComponentResource):
    """The InferencePool API, read from the cluster; the operator refuses an endpoint picker without it.

    Raises pulumi.RunError for a cluster that serves only other versions of it.
    """

    version: pulumi.Output[str]
    """The version of the API that the operator and the gateway speak."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:InferenceExtension", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        crd = kubernetes.apiextensions.v1.CustomResourceDefinition.get(POOL_CRD, POOL_CRD, opts=child)
        self.version = crd.spec.apply(_served)
        self.register_outputs({"version": self.version})


def _served(spec: Any) -> str:
    versions = [version["name"] for version in spec["versions"] if version["served"]]
    if POOL_VERSION not in versions:
        raise pulumi.RunError(
            f"an endpoint picker needs {POOL_CRD} in {POOL_VERSION}, but the cluster serves "
            f"{', '.join(versions)}; upgrade the Gateway API Inference Extension"
        )
    return POOL_VERSION
