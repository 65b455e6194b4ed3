"""What a stack pays for by the hour, read off its settings."""

from typing import Any

from stacks.sections.cluster import AwsCluster, NewEksCluster
from stacks.settings import Settings
from targets.capacity import ROOT_GIB, CapacityKind
from targets.hardware import INSTANCE_TYPES, Arch, InstanceType
from targets.prices import Cost, Part, cost, usd_per_million_tokens

CPU_INSTANCE = {Arch.AMD64: "m7i.4xlarge", Arch.ARM64: "m7g.4xlarge"}
"""CPU nodes are of the GPU nodes' architecture, so that an image of one architecture is enough."""
ENDPOINT_SERVICES = 2
"""Interface endpoints in each zone: ECR's API and ECR's registry."""


def cpu_instance(settings: Settings) -> InstanceType:
    """Type of the nodes without GPUs."""
    return INSTANCE_TYPES[CPU_INSTANCE[settings.gpu_pool().instance.arch]]


def hourly(settings: Settings) -> Cost | None:
    """The stack's cost per hour by part; None for a cluster that is there already with its nodes."""
    cluster = settings.cluster
    if not isinstance(cluster, AwsCluster):
        return None
    parts = _gpu_parts(settings)
    if isinstance(cluster, NewEksCluster):
        parts += _cluster_parts(cluster, cpu_instance(settings))
    return cost([part for part in parts if part.count], cluster.region, settings.prices)


def _gpu_parts(settings: Settings) -> list[Part]:
    pool, capacity = settings.gpu_pool(), settings.pool.capacity
    if not pool.instance.gpus:
        return []
    running = pool.nodes if settings.pool.runs else 0
    # A reservation costs its hours with or without instances in it.
    paid = pool.nodes if capacity.kind.prepaid else running
    # A block's price is fixed when it is bought and a spot price by the market; neither has a list.
    listed = capacity.kind in (CapacityKind.ON_DEMAND, CapacityKind.ODCR)
    name = pool.instance.name
    return [
        Part(name=f"{paid} × {name} ({capacity.kind})", unit=name, count=paid, listed=listed),
        Part(name=f"{running} × {ROOT_GIB} GiB root, GPU nodes", unit="gp3-gib", count=running * ROOT_GIB),
    ]


def _cluster_parts(cluster: NewEksCluster, cpu: InstanceType) -> list[Part]:
    nodes = cluster.cpu_nodes
    parts = [
        Part(name="EKS control plane", unit="eks-cluster", count=1),
        Part(name=f"{nodes} × {cpu.name}", unit=cpu.name, count=nodes),
        Part(name=f"{nodes} × {ROOT_GIB} GiB root, CPU nodes", unit="gp3-gib", count=nodes * ROOT_GIB),
    ]
    if cluster.vpc is None:
        endpoints = ENDPOINT_SERVICES * len(cluster.zone_names)
        parts += [
            Part(name="NAT gateway", unit="nat-gateway", count=1),
            Part(name=f"{endpoints} × interface endpoint", unit="interface-endpoint", count=endpoints),
        ]
    return parts


def described(priced: Cost, tokens_per_second: float | None) -> dict[str, Any]:
    """The cost as a stack output, in USD. tokens_per_second: measured output of the main graph, None if never."""
    whole = priced.usd_per_hour
    measured = None
    if whole is not None and tokens_per_second is not None:
        measured = round(usd_per_million_tokens(whole, tokens_per_second), 4)
    return {
        "perHour": _or_unknown(whole),
        "perHourByPart": {name: _or_unknown(usd) for name, usd in priced.parts.items()},
        "perMillionOutputTokens": _or_unknown(measured),
        "basis": priced.basis,
    }


def _or_unknown(usd: float | None) -> float | str:
    return "unknown" if usd is None else usd
