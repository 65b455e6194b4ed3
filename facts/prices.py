"""What things cost, as data, and the arithmetic on it. Pure.

Prices are AWS's on-demand list prices in us-east-1, in USD; other regions' may differ, and the result says so. The
price of a Capacity Block is fixed when it is bought and a spot price by the market: unknown unless the stack says it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

REGION = "us-east-1"
"""The region that the list prices are of."""
HOURS_PER_MONTH = 730
"""AWS's own figure where it turns monthly prices into hourly ones."""


@dataclass(frozen=True, kw_only=True)
class Price:
    """usd: for one unit. source: where it was read. date: ISO date of that reading."""

    usd: float
    source: str
    date: str


_EC2 = "AWS price list, as generated into aws/karpenter-provider-aws pkg/providers/pricing"
_EC2_DATE = "2026-01-19"
_PRICING_PAGES_DATE = "2026-09-20"

PRICES: dict[str, Price | None] = {
    "m7i.4xlarge": Price(usd=0.8064, source=_EC2, date=_EC2_DATE),
    "m7g.4xlarge": Price(usd=0.6528, source=_EC2, date=_EC2_DATE),
    "p5.4xlarge": Price(usd=6.88, source=_EC2, date=_EC2_DATE),
    "p5.48xlarge": Price(usd=55.04, source=_EC2, date=_EC2_DATE),
    "p5en.48xlarge": Price(usd=63.296, source=_EC2, date=_EC2_DATE),
    "p6-b200.48xlarge": Price(usd=113.9328, source=_EC2, date=_EC2_DATE),
    "p6-b300.48xlarge": None,
    "p6e-gb200.36xlarge": None,
    "eks-cluster": Price(usd=0.10, source="https://aws.amazon.com/eks/pricing/", date=_PRICING_PAGES_DATE),
    "eks-cluster-extended-support": Price(
        usd=0.60, source="https://aws.amazon.com/eks/pricing/", date=_PRICING_PAGES_DATE
    ),
    "nat-gateway": Price(usd=0.045, source="https://aws.amazon.com/vpc/pricing/", date=_PRICING_PAGES_DATE),
    "public-ipv4": Price(usd=0.005, source="https://aws.amazon.com/vpc/pricing/", date=_PRICING_PAGES_DATE),
    "gp3-gib": Price(
        usd=0.08 / HOURS_PER_MONTH, source="https://aws.amazon.com/ebs/pricing/", date=_PRICING_PAGES_DATE
    ),
    "gp3-iops": Price(
        usd=0.005 / HOURS_PER_MONTH, source="https://aws.amazon.com/ebs/pricing/", date=_PRICING_PAGES_DATE
    ),
    "gp3-mib-s": Price(
        usd=0.04 / HOURS_PER_MONTH, source="https://aws.amazon.com/ebs/pricing/", date=_PRICING_PAGES_DATE
    ),
    "s3-gib": Price(
        usd=0.023 / HOURS_PER_MONTH,
        source="https://aws.amazon.com/s3/pricing/, of a copy that names the page",
        date="2022-07-07",
    ),
}
"""USD per hour of one unit, by instance type or part; None where there is no list price.

gp3-gib, gp3-iops, gp3-mib-s: EBS gp3 storage by size, and by operations and MiB a second above what is free. s3-gib: S3
Standard, which AWS counts in units of 2³⁰ bytes and calls GB.
"""
GP3_IOPS, GP3_MIB_S = 3000, 125
"""Operations and MiB a second that each gp3 volume has for nothing."""

NOT_COUNTED = (
    "data transfer",
    "NAT gateway traffic",
    "file storage",
    "requests to S3",
    "what EFS charges for throughput (USD 0.06 a GB written, 0.03 a GB read)",
    "volumes of claims",
    "logs",
    "KMS",
)
"""What is billed by use and so has no price per hour. EFS: Elastic throughput, https://aws.amazon.com/efs/pricing/."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Some units of one thing. name: for readers. unit: key of PRICES. listed: whether the list price applies."""

    name: str
    unit: str
    count: float
    listed: bool = True


@dataclass(frozen=True, kw_only=True)
class Cost:
    """USD per hour by part; None where a price is unknown. basis: what the prices are, for readers.

    unpriced: the units of those without a price, as a stack's `prices` would name them.
    """

    parts: Mapping[str, float | None]
    basis: str
    unpriced: tuple[str, ...] = ()

    @property
    def unknown(self) -> tuple[str, ...]:
        """Parts without a price."""
        return tuple(name for name, usd in self.parts.items() if usd is None)

    @property
    def known_usd_per_hour(self) -> float:
        """The sum of the parts with a price; the whole cost only if none is unknown."""
        return round(sum(usd for usd in self.parts.values() if usd is not None), 4)

    @property
    def usd_per_hour(self) -> float | None:
        """The whole cost, None while a part is unknown."""
        return None if self.unknown else self.known_usd_per_hour


def cost(parts: Iterable[Part], region: str, own: Mapping[str, float]) -> Cost:
    """Price the parts in a region. own: the stack's own prices in USD per hour by unit, which win over the list."""

    def usd(part: Part) -> float | None:
        if part.unit in own:
            return round(own[part.unit] * part.count, 4)
        listed = PRICES.get(part.unit) if part.listed else None
        return None if listed is None else round(listed.usd * part.count, 4)

    elsewhere = "" if region == REGION else f"; those of {region} may differ"
    asked = list(parts)
    return Cost(
        parts={part.name: usd(part) for part in asked},
        basis=f"list prices of {REGION}{elsewhere}; without {', '.join(NOT_COUNTED)}",
        unpriced=tuple(dict.fromkeys(part.unit for part in asked if usd(part) is None)),
    )


def usd_per_million_tokens(usd_per_hour: float, tokens_per_second: float) -> float:
    """USD for a million output tokens. tokens_per_second: of the whole graph. Raises ValueError unless positive."""
    if tokens_per_second <= 0:
        raise ValueError(f"{tokens_per_second} output tokens per second: a price needs some")
    return usd_per_hour / (tokens_per_second * 3600) * 1_000_000
