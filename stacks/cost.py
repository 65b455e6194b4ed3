"""What a stack pays for by the hour, read off its settings."""

from collections.abc import Sequence
from typing import Any

from stacks.pools import StackPool
from stacks.sections.cluster import AwsCluster, NewEksCluster
from stacks.settings import Settings
from targets.capacity import ROOT_GIB, CapacityKind
from targets.hardware import INSTANCE_TYPES, Arch, InstanceType
from targets.knobs import MAIN_POOL
from targets.prices import Cost, Part, cost, usd_per_million_tokens

CPU_INSTANCE = {Arch.AMD64: "m7i.4xlarge", Arch.ARM64: "m7g.4xlarge"}
"""CPU nodes are of the main pool's architecture, so that an image of one architecture is enough."""
ENDPOINT_SERVICES = 2
"""Interface endpoints in each zone: ECR's API and ECR's registry."""


def cpu_instance(settings: Settings) -> InstanceType:
    """Type of the nodes without GPUs."""
    return INSTANCE_TYPES[CPU_INSTANCE[settings.gpu_pool().instance.arch]]


def hourly(settings: Settings) -> Cost | None:
    """The stack's cost per hour by part; None for a cluster that is there already with its nodes."""
    return _priced(settings, settings.gpu_pools())


def hourly_of_main_graph(settings: Settings) -> Cost | None:
    """As `hourly`, without further pools: what one measures on the main graph is not made by them."""
    return _priced(settings, settings.gpu_pools()[:1])


def _priced(settings: Settings, pools: Sequence[StackPool]) -> Cost | None:
    cluster = settings.cluster
    if not isinstance(cluster, AwsCluster):
        return None
    parts = [part for each in pools for part in _gpu_parts(each)]
    if isinstance(cluster, NewEksCluster):
        parts += _cluster_parts(cluster, cpu_instance(settings))
    return cost([part for part in parts if part.count], cluster.region, settings.prices)


def _gpu_parts(said: StackPool) -> list[Part]:
    pool, capacity = said.pool, said.said.capacity
    if not pool.instance.gpus:
        return []
    running = pool.nodes if pool.runs else 0
    # A reservation costs its hours with or without instances in it.
    paid = pool.nodes if capacity.kind.prepaid else running
    # A block's price is fixed when it is bought and a spot price by the market; neither has a list.
    listed = capacity.kind in (CapacityKind.ON_DEMAND, CapacityKind.ODCR)
    name = pool.instance.name
    of = "" if pool.name == MAIN_POOL else f" of {pool.name}"
    return [
        Part(name=f"{paid} × {name}{of} ({capacity.kind})", unit=name, count=paid, listed=listed),
        Part(
            name=f"{running} × {ROOT_GIB} GiB root, GPU nodes{of}", unit="gp3-gib", count=running * ROOT_GIB
        ),
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


def described(settings: Settings) -> dict[str, Any]:
    """The cost as a stack output, in USD; empty for a cluster that is there already with its nodes."""
    priced, of_main_graph = hourly(settings), hourly_of_main_graph(settings)
    if priced is None or of_main_graph is None:
        return {}
    tokens_per_second, usd, measured = settings.measured_tokens_per_second, of_main_graph.usd_per_hour, None
    if usd is not None and tokens_per_second is not None:
        measured = round(usd_per_million_tokens(usd, tokens_per_second), 4)
    return {
        "perHour": _or_unknown(priced.usd_per_hour),
        "perHourByPart": {name: _or_unknown(usd) for name, usd in priced.parts.items()},
        "perMillionOutputTokens": _or_unknown(measured),
        "basis": priced.basis,
    }


def _or_unknown(usd: float | None) -> float | str:
    return "unknown" if usd is None else usd
