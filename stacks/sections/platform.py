"""`platform`: the Dynamo operator and what it needs."""

from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from facts.releases import Version
from targets.knobs import DynamoVersion, ObjectName
from targets.platform import Addon, Discovery, Platform, needed_services
from targets.strict import Strict

NamespacedName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
]


class _Surroundings(Strict):
    """What the operator finds on its cluster."""

    grove: Addon = Addon.NONE
    """Grove, which starts workers that span nodes; the chart's authors advise `external` for production."""
    kai_scheduler: Addon = Addon.NONE
    """KAI, Grove's gang scheduler; the chart's authors advise `external` for production."""
    leader_worker_set: bool = False
    """Whether LeaderWorkerSet and Volcano are on the cluster; the operator finds them by itself."""
    webhook_timeout_seconds: int = Field(default=10, ge=1, le=30)
    """How long the API server waits for the operator's admission webhooks."""
    cert_manager: bool = False
    """Whether the cluster's cert-manager makes the webhooks' certificates; the operator makes them otherwise."""
    storage_class: ObjectName | None = None
    """StorageClass of the claims of NATS and etcd; by default the cluster's default."""
    prometheus_endpoint: str | None = Field(default=None, pattern=r"^https?://[^/\s]+(:\d+)?(/\S*)?$")
    """URL of the Prometheus that planners read; by default the one of `monitoring`."""


class PlatformSettings(_Surroundings):
    """The Dynamo platform: operator and what it needs."""

    install: bool = True
    """Whether the stack installs it; if not, it must be on the cluster already."""
    version: DynamoVersion | None = None
    """Version of the platform; by default the graph's Dynamo version."""
    namespace: ObjectName = "dynamo-system"
    """Namespace that the platform is installed into; made, and deleted with the stack and what NATS left in it."""
    operator: NamespacedName | None = None
    """Deployment of an operator that is already there, as namespace/name; its version is then checked."""
    discovery: Discovery | None = None
    """How a graph's processes find each other; by default what the graph's release supports."""
    nats: bool | None = None
    """Whether NATS is installed; by default if the graph's release needs it."""
    etcd: bool | None = None
    """Whether etcd is installed; by default if the graph's release or the discovery needs it."""

    @model_validator(mode="after")
    def _only_existing(self) -> "PlatformSettings":
        if self.install and self.operator is not None:
            raise ValueError(
                "operator names an operator that is already there; set install to false or leave it out"
            )
        return self

    def resolve(self, version: Version, runtime: Version, prometheus: str | None) -> Platform:
        """The platform of that version. runtime: the oldest of the graphs' releases. prometheus: of `monitoring`."""
        discovery, nats, etcd = needed_services(runtime, self.discovery, self.nats, self.etcd)
        return Platform(
            version=version,
            discovery=discovery,
            nats=nats,
            etcd=etcd,
            grove=self.grove,
            kai_scheduler=self.kai_scheduler,
            leader_worker_set=self.leader_worker_set,
            webhook_timeout_seconds=self.webhook_timeout_seconds,
            cert_manager=self.cert_manager,
            storage_class=self.storage_class,
            prometheus=self.prometheus_endpoint or prometheus,
        )
