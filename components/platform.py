"""The Dynamo platform on the cluster."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

GRAPH_CRD = "dynamographdeployments.nvidia.com"


@dataclass(frozen=True, kw_only=True)
class DynamoPlatformArgs:
    """graph_api_version: the DynamoGraphDeployment API version that the stack's graphs are written in."""

    graph_api_version: str


class DynamoPlatform(pulumi.ComponentResource):
    """A platform that is already on the cluster: checked to serve the API version that the graphs need."""

    graph_api_version: pulumi.Output[str]

    def __init__(
        self, name: str, args: DynamoPlatformArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:DynamoPlatform", name, None, opts)
        crd = kubernetes.apiextensions.v1.CustomResourceDefinition.get(
            GRAPH_CRD, GRAPH_CRD, opts=pulumi.ResourceOptions(parent=self)
        )
        self.graph_api_version = crd.spec.apply(lambda spec: _served(spec, args.graph_api_version))
        self.register_outputs({"graphApiVersion": self.graph_api_version})


def _served(spec: Any, wanted: str) -> str:
    versions = [f"nvidia.com/{version['name']}" for version in spec["versions"] if version["served"]]
    if wanted not in versions:
        raise pulumi.RunError(
            f"dynamo-gpt-oss:graph.dynamoVersion: its graphs are {wanted}, but the cluster's Dynamo platform "
            f"serves {', '.join(versions)}; choose a matching release or upgrade the platform"
        )
    return wanted
