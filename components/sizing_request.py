"""A question to Dynamo's profiler."""

from dataclasses import dataclass

import pulumi

from components.manifests import custom_resource
from graphs.sizing import sizing_request
from targets.plan import GraphPlan
from targets.releases import Version
from targets.sizing import Sizing


@dataclass(frozen=True, kw_only=True)
class SizingRequestArgs:
    """sizing: what is asked. plan: the graph whose engine and pool it is about. platform: version of the operator."""

    sizing: Sizing
    plan: GraphPlan
    namespace: str
    platform: Version


class SizingRequest(pulumi.ComponentResource):
    """The DynamoGraphDeploymentRequest, there once it is stored: nothing waits for its answer, or fails with it."""

    name: pulumi.Output[str]
    """Name of the request; another one for every other question."""

    def __init__(
        self, name: str, args: SizingRequestArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:SizingRequest", name, None, opts)
        manifest = sizing_request(args.sizing, args.plan, args.namespace, args.platform)
        request = custom_resource(name, manifest, pulumi.ResourceOptions(parent=self))
        self.name = request.urn.apply(lambda _: manifest["metadata"]["name"])
        self.register_outputs({"name": self.name})
