"""The Dynamo platform on the cluster."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components import charts
from components.charts import Release
from facts.releases import Version

GRAPH_CRD = "dynamographdeployments.nvidia.com"


@dataclass(frozen=True, kw_only=True)
class ExistingOperator:
    """An operator's Deployment that is on the cluster."""

    namespace: str
    name: str
    version: Version
    """The oldest that its image may have."""


@dataclass(frozen=True, kw_only=True)
class DynamoPlatformArgs:
    """The platform that is wanted."""

    graph_api_version: str
    """API version of DynamoGraphDeployment that the stack's graphs are written in."""
    installation: Release | None = None
    """What is installed, into a namespace that is there; None for a platform that is there."""
    operator: ExistingOperator | None = None
    """Of a platform that is there; None to look at the CustomResourceDefinition alone."""


class DynamoPlatform(pulumi.ComponentResource):
    """A platform that serves the API version that the graphs need: installed, or already there and checked."""

    graph_api_version: pulumi.Output[str]
    operator_version: pulumi.Output[str | None] | None
    """Version of an operator that was there and could be checked; None inside if its image does not say it."""

    def __init__(
        self, name: str, args: DynamoPlatformArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:DynamoPlatform", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        if args.installation:
            # The settings know what a release of it serves: looking would put 1.6 MB of CRD into the state, twice.
            # Helm waits for every Deployment of the chart, the operator that serves the webhooks among them.
            release = charts.release(args.installation, child, skip_await=False)
            self.graph_api_version = release.status.apply(lambda _: args.graph_api_version)
        else:
            crd = kubernetes.apiextensions.v1.CustomResourceDefinition.get(GRAPH_CRD, GRAPH_CRD, opts=child)
            self.graph_api_version = crd.spec.apply(lambda spec: _served(spec, args.graph_api_version))
        self.operator_version = self._operator_version(args.operator, child) if args.operator else None
        self.register_outputs(
            {"graphApiVersion": self.graph_api_version, "operatorVersion": self.operator_version}
        )

    @staticmethod
    def _operator_version(
        operator: ExistingOperator, child: pulumi.ResourceOptions
    ) -> pulumi.Output[str | None]:
        deployment = kubernetes.apps.v1.Deployment.get(
            operator.name, f"{operator.namespace}/{operator.name}", opts=child
        )
        return deployment.spec.apply(lambda spec: _recent_enough(spec, operator))


def _recent_enough(spec: Any, operator: ExistingOperator) -> str | None:
    image = str(spec["template"]["spec"]["containers"][0]["image"])
    try:
        found = Version.parse(image.rpartition(":")[2].removeprefix("v").partition("-")[0])
    except ValueError:
        pulumi.log.warn(
            f"{operator.namespace}/{operator.name} runs {image}, whose tag does not say its version"
        )
        return None
    if (found.major, found.minor) < (operator.version.major, operator.version.minor):
        raise pulumi.RunError(
            f"dynamo-gpt-oss:platform.operator: {operator.namespace}/{operator.name} is version {found}, older than "
            f"{operator.version}, which this stack wants; upgrade the platform or lower platform.version"
        )
    return str(found)


def _served(spec: Any, wanted: str) -> str:
    versions = [f"nvidia.com/{version['name']}" for version in spec["versions"] if version["served"]]
    if wanted not in versions:
        raise pulumi.RunError(
            f"dynamo-gpt-oss:graph.dynamoVersion: its graphs are {wanted}, but the cluster's Dynamo platform "
            f"serves {', '.join(versions)}; choose a matching release or upgrade the platform"
        )
    return wanted
