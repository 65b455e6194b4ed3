"""How a GPU pool's instances are bought, and where. Pure.

Sources: the EKS user guide's pages on managed node groups with Capacity Blocks and on P6e-GB200 UltraServers, EC2's
DescribeInstanceTypeOfferings, and the issues named beside the checks.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import StringConstraints

from targets.strict import Strict

Region = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
Zone = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[a-z]+)+-\d([a-z]|-[a-z]{3}-\d[a-z])$")]
"""Name of an Availability Zone (`us-east-1a`) or Local Zone (`us-east-1-dfw-2a`)."""

ULTRASERVERS = {"u-p6e-gb200x36": 9, "u-p6e-gb200x72": 18}
"""Nodes of an UltraServer, by type; each is one NVLink domain and is sold whole, as one Capacity Block."""
ROOT_GIB = 200
"""A node's root volume: room for the engine images (20 GB each, and unpacked twice that) where no NVMe holds them."""
ROOT_IOPS, ROOT_MIB_S = 6000, 600
"""The same volume's speed, above gp3's 3000 and 125: what a 4xlarge reads and writes, for unpacking is all disk."""
DRA_SINCE = (1, 34)
"""Kubernetes release whose resource.k8s.io/v1 the DRA driver and ComputeDomains are used with."""


class CapacityKind(StrEnum):
    """Ways of buying instances."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    ODCR = "odcr"
    CAPACITY_BLOCK = "capacity-block"

    @property
    def prepaid(self) -> bool:
        """Whether the hours are paid for whether or not instances run."""
        return self in (CapacityKind.ODCR, CapacityKind.CAPACITY_BLOCK)


class CapacityKnobs(Strict):
    """How the GPU instances are bought."""

    kind: CapacityKind = CapacityKind.ON_DEMAND
    """`capacity-block` and `odcr` use a reservation that exists; `on-demand` and `spot` buy when nodes are added."""
    reservation_id: Annotated[str, StringConstraints(pattern=r"^cr-[0-9a-f]{8,17}$")] | None = None
    """Capacity Reservation id (`cr-…`) of the block or reservation."""
    reservation_group: (
        Annotated[
            str, StringConstraints(pattern=r"^arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:\d{12}:group/.+$")
        ]
        | None
    ) = None
    """ARN of a resource group of on-demand reservations, instead of one id; its members may change."""
    ultraserver: str | None = None
    """UltraServer type of a GB200 block: `u-p6e-gb200x36` or `u-p6e-gb200x72`."""


def region_of(zone: str) -> str:
    """The region of an Availability or Local Zone. Raises ValueError for other text."""
    matched = re.match(r"[a-z]{2}(?:-[a-z]+)+?-\d", zone)
    if matched is None:
        raise ValueError(f"{zone!r} is no zone")
    return matched.group()


def partition_of(region: str) -> str:
    """The part of AWS that a region is in, as ARNs have it."""
    return next((f"aws-{part}" for part in ("cn", "us-gov") if region.startswith(f"{part}-")), "aws")


def is_local_zone(zone: str) -> bool:
    """Whether it is a Local Zone, which takes nodes but neither EKS's own interfaces nor file system mount targets."""
    return len(zone) > len(region_of(zone)) + 1


ZONES_WITHOUT_EKS = ["use1-az3", "usw1-az2", "cac1-az3"]
"""Ids of zones that take no control plane (EKS user guide, "View Amazon EKS networking requirements")."""


def placed_zones(
    wanted: Sequence[str], offered: Iterable[str], taken: Collection[str] = ()
) -> dict[str, str]:
    """Those that are offered for themselves, and for each of the others the next spare one, as far as there are any.

    taken: zones that are somebody's by name; they are spare last, for a file system has one mount target a zone.
    """
    there = sorted(offered, key=lambda zone: (zone in taken, zone))
    placed = {zone: zone for zone in wanted if zone in there}
    spare = (zone for zone in there if zone not in placed)
    placed |= dict(zip((zone for zone in wanted if zone not in placed), spare, strict=False))
    return placed
