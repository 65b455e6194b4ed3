"""What a stack pays for by the hour, read off its stack."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from facts.hardware import INSTANCE_TYPES, Arch, InstanceType
from facts.kubernetes_support import in_extended_support
from facts.prices import GP3_IOPS, GP3_MIB_S, REGION, Cost, Part, cost, usd_per_million_tokens
from facts.weights import gigabytes
from stacks.plan import StackPlan
from stacks.pools import PoolPlan
from stacks.sections.cluster import AwsCluster, NewEksClusterSettings
from targets.capacity import ROOT_GIB, ROOT_IOPS, ROOT_MIB_S, CapacityKind
from targets.knobs import MAIN_POOL
from targets.plan import all_weights

UNKNOWN = "unknown"
"""Stands in a stack's outputs for a price that no list has."""
CPU_INSTANCE = {Arch.AMD64: "m7i.4xlarge", Arch.ARM64: "m7g.4xlarge"}
"""CPU nodes are of the main pool's architecture, so that an image of one architecture is enough."""


def cpu_instance(stack: StackPlan) -> InstanceType:
    """Type of the nodes without GPUs."""
    return INSTANCE_TYPES[CPU_INSTANCE[stack.main_pool.instance.arch]]


def cost_per_hour(stack: StackPlan) -> Cost | None:
    """The stack's cost per hour by part; None for a cluster that is there already with its nodes."""
    return _price(stack, stack.pools)


def hourly_of_main_graph(stack: StackPlan) -> Cost | None:
    """As `cost_per_hour`, of the main pool alone: a benchmark of the main graph uses no other."""
    return _price(stack, stack.pools[:1])


def hourly_of_main_pool(stack: StackPlan) -> Cost:
    """The main pool's nodes alone, also where others pay them; of no known region, at the prices of the first."""
    main = stack.pools[0]
    pool, cluster = main.pool, stack.cluster
    name = f"{pool.nodes} × {pool.instance.name}"
    part = Part(name=name, unit=pool.instance.name, count=pool.nodes, listed=_is_listed(main))
    region = cluster.region if isinstance(cluster, AwsCluster) else REGION
    return cost([part], region, stack.billing.prices)


def _is_listed(pool: PoolPlan) -> bool:
    """A block's price is fixed when it is bought and a spot price by the market; neither has a list."""
    return pool.capacity.kind in (CapacityKind.ON_DEMAND, CapacityKind.ODCR)


def _price(stack: StackPlan, pools: Sequence[PoolPlan]) -> Cost | None:
    cluster = stack.cluster
    if not isinstance(cluster, AwsCluster):
        return None
    parts = [part for each in pools for part in _gpu_parts(each)]
    if stack.cache.kind == "s3" and stack.cache.bucket is None:
        gib = gigabytes(all_weights(stack.graphs)) * 1e9 / 2**30
        parts.append(Part(name=f"{gib:.0f} GiB of weights in S3", unit="s3-gib", count=gib))
    if isinstance(cluster, NewEksClusterSettings):
        parts += _cluster_parts(cluster, cpu_instance(stack))
    return cost([part for part in parts if part.count], cluster.region, stack.billing.prices)


def _gpu_parts(planned: PoolPlan) -> list[Part]:
    pool, capacity, running = planned.pool, planned.capacity, planned.running
    if not pool.instance.gpus:
        return []
    # A reservation costs its hours with or without instances in it.
    paid = pool.nodes if capacity.kind.prepaid else running
    name = pool.instance.name
    of = "" if pool.name == MAIN_POOL else f" of {pool.name}"
    return [
        Part(
            name=f"{paid} × {name}{of} ({capacity.kind})", unit=name, count=paid, listed=_is_listed(planned)
        ),
        Part(
            name=f"{running} × {ROOT_GIB} GiB root, GPU nodes{of}", unit="gp3-gib", count=running * ROOT_GIB
        ),
    ]


def _cluster_parts(cluster: NewEksClusterSettings, cpu: InstanceType) -> list[Part]:
    nodes = cluster.cpu_size
    parts = [
        _control_plane(cluster),
        Part(name=f"{nodes} × {cpu.name}", unit=cpu.name, count=nodes),
        Part(name=f"{nodes} × {ROOT_GIB} GiB root, CPU nodes", unit="gp3-gib", count=nodes * ROOT_GIB),
        Part(
            name=f"{nodes} × {ROOT_IOPS} operations/s, CPU nodes",
            unit="gp3-iops",
            count=nodes * (ROOT_IOPS - GP3_IOPS),
        ),
        Part(
            name=f"{nodes} × {ROOT_MIB_S} MiB/s, CPU nodes",
            unit="gp3-mib-s",
            count=nodes * (ROOT_MIB_S - GP3_MIB_S),
        ),
    ]
    if cluster.vpc is None:
        parts += [
            Part(name="NAT gateway", unit="nat-gateway", count=1),
            Part(name="the NAT gateway's address", unit="public-ipv4", count=1),
        ]
    return parts


def _control_plane(cluster: NewEksClusterSettings) -> Part:
    """Dearer only where AWS may charge for an old release: elsewhere it upgrades the cluster instead."""
    extended = cluster.extended_support and in_extended_support(cluster.version, datetime.now(UTC).date())
    return Part(
        name=f"EKS control plane{', extended support' if extended else ''}",
        unit="eks-cluster-extended-support" if extended else "eks-cluster",
        count=1,
    )


def cost_output(stack: StackPlan) -> dict[str, Any]:
    """The cost as a stack output, in USD; empty for a cluster that is there already with its nodes."""
    priced, of_main_graph = cost_per_hour(stack), hourly_of_main_graph(stack)
    if priced is None or of_main_graph is None:
        return {}
    tokens_per_second, usd, measured = (
        stack.billing.measured_tokens_per_second,
        of_main_graph.usd_per_hour,
        None,
    )
    if usd is not None and tokens_per_second is not None:
        measured = round(usd_per_million_tokens(usd, tokens_per_second), 4)
    return {
        "perHour": _or_unknown(priced.usd_per_hour),
        "perHourByPart": {name: _or_unknown(usd) for name, usd in priced.parts.items()},
        "perMillionOutputTokens": _or_unknown(measured),
        "basis": priced.basis,
    }


def _or_unknown(usd: float | None) -> float | str:
    return UNKNOWN if usd is None else usd
