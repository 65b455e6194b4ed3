"""The Dynamo platform that a stack wants on its cluster, resolved. Pure.

Sources: README and values of the `dynamo-platform` chart (1.0 to 1.6) and Dynamo's release notes.
"""

from dataclasses import dataclass
from enum import StrEnum

from facts.releases import Version

ONE_CHART_SINCE = Version(1, 0)
"""First release whose operator brings its own CRDs and whose chart has today's keys."""
NATS_NEEDED_BEFORE = Version(1, 4)
"""From this release on events travel over ZMQ and requests over TCP, and the chart leaves NATS out."""
ETCD_NEEDED_BEFORE = Version(1, 1)
"""Guides of earlier releases want etcd beside NATS."""
KUBERNETES_DISCOVERY_SINCE = Version(1, 0)
GROVE_OWNS_POD_GROUPS_SINCE = Version(1, 5)
"""From this release on the chart refuses bundled Grove with a KAI scheduler that evicts stale PodGroups."""


class Addon(StrEnum):
    """Where a scheduler of multi-node workers comes from: nowhere, with the chart, or already on the cluster."""

    NONE = "none"
    BUNDLED = "bundled"
    EXTERNAL = "external"


class Discovery(StrEnum):
    """How the processes of a graph find each other."""

    KUBERNETES = "kubernetes"
    ETCD = "etcd"


@dataclass(frozen=True, kw_only=True)
class Platform:
    """What is installed. storage_class: for the claims of NATS and etcd, None for the cluster's default."""

    version: Version
    discovery: Discovery
    nats: bool
    etcd: bool
    grove: Addon
    kai_scheduler: Addon
    leader_worker_set: bool
    webhook_timeout_seconds: int
    cert_manager: bool
    storage_class: str | None
    prometheus: str | None


def needed_discovery(runtime: Version) -> Discovery:
    """How graphs of a release find each other unless they are told otherwise."""
    return Discovery.KUBERNETES if runtime >= KUBERNETES_DISCOVERY_SINCE else Discovery.ETCD


def needed_services(
    runtime: Version, discovery: Discovery | None, nats: bool | None, etcd: bool | None
) -> tuple[Discovery, bool, bool]:
    """Discovery, and whether NATS and etcd are there: as given, or as graphs of the release need it.

    runtime: of the oldest graph. None where nothing is given.
    """
    found = discovery or needed_discovery(runtime)
    etcd_needed = found is Discovery.ETCD or runtime < ETCD_NEEDED_BEFORE
    return (
        found,
        runtime < NATS_NEEDED_BEFORE if nats is None else nats,
        etcd_needed if etcd is None else etcd,
    )
