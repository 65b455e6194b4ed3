"""The Dynamo platform on the cluster."""

from dataclasses import dataclass, field
from typing import Any, cast

import pulumi
import pulumi_kubernetes as kubernetes

from components import charts
from components.charts import Release
from facts.releases import DEFAULT, Version, graph_api_version
from manifests.services.charts import platform_chart, platform_values
from targets.platform import Addon, Discovery, Platform, needed_services

GRAPH_CRD = "dynamographdeployments.nvidia.com"


@dataclass(frozen=True, kw_only=True)
class ExistingOperator:
    """An operator's Deployment that is on the cluster."""

    namespace: pulumi.Input[str]
    """Its namespace."""
    name: str
    """Its name."""


@dataclass(frozen=True, kw_only=True)
class PlatformServices:
    """What the platform's chart brings beside the operator."""

    discovery: Discovery | None = None
    """How a graph's processes find each other; by default what the release supports."""
    nats: bool | None = None
    """Whether NATS is installed; by default if graphs of the release need it."""
    etcd: bool | None = None
    """Whether etcd is installed; by default if the release or the discovery needs it."""
    grove: Addon = Addon.NONE
    """Grove, which starts workers that span nodes."""
    kai_scheduler: Addon = Addon.NONE
    """KAI, Grove's gang scheduler."""
    storage_class: pulumi.Input[str] | None = None
    """StorageClass of the claims of NATS and etcd; by default the cluster's default."""


@dataclass(frozen=True, kw_only=True)
class OperatorSettings:
    """How the operator of the platform works."""

    webhook_timeout_seconds: int = 10
    """How long the API server waits for its admission webhooks."""
    cert_manager: bool = False
    """Whether the cluster's cert-manager makes the webhooks' certificates; the operator makes them otherwise."""
    prometheus: pulumi.Input[str] | None = None
    """URL of the Prometheus that planners read, as `endpoint` of a Monitoring."""
    pull_secret: pulumi.Input[str] | None = None
    """Name of a pull Secret for nvcr.io in the platform's namespace."""


@dataclass(frozen=True, kw_only=True)
class DynamoPlatformArgs:
    """The platform that is wanted."""

    version: str = DEFAULT
    """Dynamo release, as MAJOR.MINOR.PATCH; of an operator that is there the oldest."""
    graph_api_version: str | None = None
    """API version of DynamoGraphDeployment that must be served; by default that of graphs of the release."""
    install: bool = True
    """Whether it is installed; if not, it must be on the cluster already."""
    namespace: pulumi.Input[str] = "dynamo-system"
    """Namespace that it is installed into, which is none of graphs."""
    make_namespace: bool = True
    """Whether that is made, and deleted with the platform."""
    services: PlatformServices = field(default_factory=PlatformServices)
    """What is installed beside the operator."""
    settings: OperatorSettings = field(default_factory=OperatorSettings)
    """How an operator that is installed works."""
    operator: ExistingOperator | None = None
    """An operator that is there, whose version is checked; by default the CustomResourceDefinition alone."""

    @property
    def platform(self) -> Platform:
        """What is wanted of the chart."""
        version, services, settings = Version.parse(self.version), self.services, self.settings
        discovery, nats, etcd = needed_services(version, services.discovery, services.nats, services.etcd)
        return Platform(
            version=version,
            discovery=discovery,
            nats=nats,
            etcd=etcd,
            grove=services.grove,
            kai_scheduler=services.kai_scheduler,
            leader_worker_set=False,
            webhook_timeout_seconds=settings.webhook_timeout_seconds,
            cert_manager=settings.cert_manager,
            storage_class=cast("str | None", services.storage_class),
            prometheus=cast("str | None", settings.prometheus),
        )

    @property
    def chart(self) -> Release:
        """What is installed."""
        return Release(
            chart=platform_chart(Version.parse(self.version)),
            namespace=self.namespace,
            values=platform_values(self.platform, self.settings.pull_secret),
            max_history=5,
        )


class DynamoPlatform(pulumi.ComponentResource):
    """A platform that serves the API version that the graphs need: installed, or already there and checked."""

    graph_api_version: pulumi.Output[str]
    """API version of DynamoGraphDeployment that it serves, once it does."""
    operator_version: pulumi.Output[str | None] | None
    """Version of an operator that was there, none if its image does not say it."""

    def __init__(
        self, name: str, args: DynamoPlatformArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:DynamoPlatform", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        wanted = args.graph_api_version or graph_api_version(Version.parse(args.version))
        if args.install:
            # What a release of it serves is known: looking would put 1.6 MB of CRD into the state, twice.
            # Helm waits for every Deployment of the chart, the operator that serves the webhooks among them.
            install = charts.release_in_own_namespace if args.make_namespace else charts.release
            release = install(args.chart, child, skip_await=False)
            self.graph_api_version = release.status.apply(lambda _: wanted)
        else:
            crd = kubernetes.apiextensions.v1.CustomResourceDefinition.get(GRAPH_CRD, GRAPH_CRD, opts=child)
            self.graph_api_version = crd.spec.apply(lambda spec: _served(name, spec, wanted))
        self.operator_version = _operator_version(name, args, child) if args.operator else None
        self.register_outputs(
            {"graphApiVersion": self.graph_api_version, "operatorVersion": self.operator_version}
        )


def _operator_version(
    name: str, args: DynamoPlatformArgs, child: pulumi.ResourceOptions
) -> pulumi.Output[str | None]:
    """Of the operator that is there."""
    operator = args.operator
    assert operator is not None, "the caller asks for one alone"
    identity = pulumi.Output.concat(operator.namespace, "/", operator.name)
    deployment = kubernetes.apps.v1.Deployment.get(operator.name, identity, opts=child)
    oldest = Version.parse(args.version)
    return pulumi.Output.all(deployment.spec, identity).apply(
        lambda known: _recent_enough(name, known[0], known[1], oldest)
    )


def _recent_enough(name: str, spec: Any, operator: str, oldest: Version) -> str | None:
    """The version that the operator's image says. name: of the component. Raises RunError for one that is older."""
    image = str(spec["template"]["spec"]["containers"][0]["image"])
    try:
        found = Version.parse(image.rpartition(":")[2].removeprefix("v").partition("-")[0])
    except ValueError:
        pulumi.log.warn(f"{operator} runs {image}, whose tag does not say its version")
        return None
    if (found.major, found.minor) < (oldest.major, oldest.minor):
        raise pulumi.RunError(
            f"{name}.operator: {operator} is version {found}, older than {oldest}, which is wanted; upgrade the "
            "platform or lower version"
        )
    return str(found)


def _served(name: str, spec: Any, wanted: str) -> str:
    versions = [f"nvidia.com/{version['name']}" for version in spec["versions"] if version["served"]]
    if wanted not in versions:
        raise pulumi.RunError(
            f"{name}.graphApiVersion: graphs are {wanted}, but the cluster's Dynamo platform serves "
            f"{', '.join(versions)}; choose a matching release of the graph or upgrade the platform"
        )
    return wanted
