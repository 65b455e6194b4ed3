"""What cannot work of what a program asks of a component, by argument: as a stack file is refused."""

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

import pulumi
from pulumi.provider.experimental.util import camel_case
from pydantic import BaseModel, ValidationError, create_model

from components.cache.model_cache import ModelCacheArgs
from components.cluster.eks_cluster import EksClusterArgs
from components.graph.benchmark import BenchmarkArgs
from components.graph.graph import Graph
from components.graph.inference_graph import InferenceGraphArgs
from components.graph.verification import VerificationArgs
from components.nodes.gpu_node_pool_args import GpuNodePoolArgs
from components.services.monitoring import MonitoringArgs
from components.services.platform import DynamoPlatformArgs
from facts.hardware import INSTANCE_TYPES
from stacks.rules.arguments import argument_problems
from stacks.rules.capacity import PoolRequest, pool_problems
from stacks.rules.graphs import knob_problems, release_problems
from stacks.rules.platform import chart_problems
from stacks.rules.sharing import sharing_problems
from stacks.sections.benchmark import BenchmarkSettings
from stacks.sections.cache import CacheSettings
from stacks.sections.cluster import AUTO, ExistingEksClusterSettings, NewEksClusterSettings
from stacks.sections.monitoring import MonitoringSettings
from stacks.sections.platform import PlatformSettings
from stacks.sections.pool import PoolSettings
from stacks.sections.verify import VerifySettings
from stacks.sentences import sentences
from targets.capacity import CapacityKnobs, is_local_zone, region_of
from targets.knobs import GraphKnobs
from targets.strict import Strict

Problem = tuple[str, str]
"""Argument and reason."""
_Key = tuple[type[BaseModel], str]
"""A section of stack files and a field of it."""
_GRAPH: Mapping[str, _Key] = {
    "namespace": (NewEksClusterSettings, "namespace"),
    "graph.platform_version": (PlatformSettings, "version"),
    "graph.pool.nodes": (PoolSettings, "nodes"),
    "graph.pool.tolerations": (PoolSettings, "tolerations"),
}
_SAME: Mapping[type, Mapping[str, _Key]] = {
    EksClusterArgs: {
        "subnets": (NewEksClusterSettings, "zones"),
        "versions.kubernetes": (NewEksClusterSettings, "version"),
        "control_plane.name": (NewEksClusterSettings, "name"),
        "control_plane.log_retention_days": (NewEksClusterSettings, "log_retention_days"),
        "api.public_from": (NewEksClusterSettings, "public_access_from"),
        "api.private_from": (NewEksClusterSettings, "private_access_from"),
        "api.admins": (NewEksClusterSettings, "admins"),
        "cpu_nodes.count": (NewEksClusterSettings, "cpu_nodes"),
        "namespace": (NewEksClusterSettings, "namespace"),
    },
    GpuNodePoolArgs: {
        "cluster.name": (ExistingEksClusterSettings, "name"),
        "subnets": (PoolSettings, "zones"),
        "nodes": (PoolSettings, "nodes"),
        "capacity.reservation_id": (CapacityKnobs, "reservation_id"),
        "capacity.reservation_group": (CapacityKnobs, "reservation_group"),
        "versions.kubernetes": (NewEksClusterSettings, "version"),
        "host.root_volume_type": (PoolSettings, "root_volume_type"),
        "labels": (PoolSettings, "node_selector"),
    },
    DynamoPlatformArgs: {
        "version": (PlatformSettings, "version"),
        "namespace": (PlatformSettings, "namespace"),
        "services.storage_class": (PlatformSettings, "storage_class"),
        "settings.prometheus": (PlatformSettings, "prometheus_endpoint"),
        "settings.webhook_timeout_seconds": (PlatformSettings, "webhook_timeout_seconds"),
    },
    ModelCacheArgs: {
        "namespace": (NewEksClusterSettings, "namespace"),
        "claim.size": (CacheSettings, "size"),
        "claim.storage_class": (CacheSettings, "storage_class"),
    },
    InferenceGraphArgs: _GRAPH,
    VerificationArgs: {**_GRAPH, "timeout_seconds": (VerifySettings, "timeout_seconds")},
    BenchmarkArgs: {
        **_GRAPH,
        "load.sweep": (BenchmarkSettings, "sweep"),
        "load.repetitions": (BenchmarkSettings, "repetitions"),
        "ready_minutes": (BenchmarkSettings, "ready_minutes"),
        "limit_minutes": (BenchmarkSettings, "limit_minutes"),
        "image": (BenchmarkSettings, "image"),
        "gpu_telemetry": (BenchmarkSettings, "gpu_telemetry"),
        "results.size": (BenchmarkSettings, "results_size"),
        "results.storage_class": (BenchmarkSettings, "storage_class"),
    },
    MonitoringArgs: {
        "namespace": (MonitoringSettings, "namespace"),
        "retention_days": (MonitoringSettings, "retention_days"),
        "storage": (MonitoringSettings, "storage"),
        "storage_class": (MonitoringSettings, "storage_class"),
    },
}
"""By record: arguments, and the key of stack files that takes the same values."""
_LATER = "an output of another resource"
"""Stands for a value that is not known yet."""


def problems(args: Any) -> Iterator[Problem]:
    """Argument and reason of everything. args: a component's record of arguments."""
    kind = type(args)
    alone = [
        problem
        for argument, (section, key) in _SAME[kind].items()
        for problem in _of_value(argument, _look_up(args, argument), section, key)
    ]
    yield from alone
    # Of values that cannot be, what they would mean together would mislead.
    if not alone and kind in _TOGETHER:
        yield from _TOGETHER[kind](args)


def _look_up(args: Any, argument: str) -> Any:
    """The value of an argument; none below one that is not given."""
    return reduce(
        lambda record, name: None if record is None else getattr(record, name), argument.split("."), args
    )


def _of_value(argument: str, value: Any, section: type[BaseModel], key: str) -> Iterator[Problem]:
    """What a section of stack files says of a value of one of its keys."""
    if value is None or isinstance(value, pulumi.Output):
        return
    field, name = section.model_fields[key], camel_case(argument)
    of_keys = isinstance(value, Mapping) and key == "zones"
    alone: type[BaseModel] = create_model("Value", __base__=Strict, **{key: (field.annotation, field)})  # type: ignore[call-overload]
    try:
        alone.model_validate({field.alias: list(value) if of_keys else value})
    except ValidationError as invalid:
        for sentence in sentences(invalid, alone, "", ()):
            path, _, reason = sentence.removeprefix(f":{field.alias}").partition(": ")
            yield name if of_keys else f"{name}{path}", reason


def _of_cluster(args: EksClusterArgs) -> Iterator[Problem]:
    zones = list(args.subnets)
    if len(zones) < 2:
        yield "subnets", f"[{', '.join(zones)}]; EKS needs subnets in two or more Availability Zones"
    for zone in zones:
        if region_of(zone) != region_of(zones[0]) or is_local_zone(zone):
            yield "subnets", f"{zone} is no Availability Zone of region {region_of(zones[0])}"
    if AUTO in args.api.public_from:
        yield "api.publicFrom", f"{AUTO!r} is for stack files alone; write the address, as 203.0.113.7/32"
    if INSTANCE_TYPES[args.cpu_nodes.instance_type].gpus:
        cpu = ", ".join(each.name for each in INSTANCE_TYPES.values() if not each.gpus)
        yield "cpuNodes.instanceType", f"{args.cpu_nodes.instance_type} has GPUs; choose one of {cpu}"


def _of_pool(args: GpuNodePoolArgs) -> Iterator[Problem]:
    zones = list(args.subnets)
    if not zones:
        yield "subnets", "missing; give the id of a private subnet for a zone"
    elif not INSTANCE_TYPES[args.instance_type].gpus:
        gpu = ", ".join(each.name for each in INSTANCE_TYPES.values() if each.gpus)
        yield "instanceType", f"{args.instance_type} has no GPUs; choose one of {gpu}"
    else:
        for sentence in pool_problems(_request(args, zones if args.zones.named else zones[:1])):
            argument, _, reason = sentence.partition(": ")
            yield (
                _OF_POOL.get(argument, argument.removeprefix(".")),
                reason.replace("cluster.region", "region"),
            )


_OF_POOL = {".zones": "subnets", "cluster.region": "subnets", "cluster.version": "versions.kubernetes"}
"""What is said of a stack's pool, by the component's arguments."""


def _request(args: GpuNodePoolArgs, zones: list[str]) -> PoolRequest:
    capacity = args.capacity
    reservation, group = (
        _LATER if isinstance(each, pulumi.Output) else each
        for each in (capacity.reservation_id, capacity.reservation_group)
    )
    return PoolRequest(
        key="",
        instance=args.instance,
        nodes=args.nodes,
        capacity=CapacityKnobs.model_construct(
            kind=capacity.kind,
            reservation_id=reservation,
            reservation_group=group,
            ultraserver=capacity.ultraserver,
        ),
        region=region_of(zones[0]),
        zones=tuple(zones),
        subnet_zones=None,
        kubernetes=args.versions.kubernetes if args.versions else None,
    )


def _of_platform(args: DynamoPlatformArgs) -> Iterator[Problem]:
    if not args.install:
        return
    if args.operator is not None:
        yield (
            "operator",
            "an operator that is there, but install is true; set that to false, or leave this out",
        )
    for sentence in chart_problems(args.platform):
        argument, _, reason = sentence.partition(": ")
        yield (
            {"platform.etcd": "services.etcd"}.get(argument, argument.removeprefix("platform.")),
            reason.replace("platform.discovery", "services.discovery").replace("platform.install", "install"),
        )


def _of_graph(args: InferenceGraphArgs | VerificationArgs | BenchmarkArgs) -> Iterator[Problem]:
    for sentence in _of_knobs(args.graph):
        argument, _, reason = sentence.partition(": ")
        yield {"platform.version": "graph.platformVersion"}.get(argument, argument), reason


def _of_knobs(graph: Graph) -> Iterator[str]:
    try:
        plan = graph.plan
    except ValidationError as invalid:
        yield from (each.replace(":", ".", 1) for each in sentences(invalid, GraphKnobs, "graph.knobs", ()))
        return
    for key in ("build", "mirror"):
        if getattr(plan.image, key) is not None:
            yield f"graph.knobs.image.{key}: stacks build and copy images, components do not; give image"
    alone = [*knob_problems(plan), *release_problems(plan), *argument_problems(plan)]
    yield from alone or sharing_problems([plan])


_TOGETHER: Mapping[type, Callable[[Any], Iterator[Problem]]] = {
    EksClusterArgs: _of_cluster,
    GpuNodePoolArgs: _of_pool,
    DynamoPlatformArgs: _of_platform,
    InferenceGraphArgs: _of_graph,
    VerificationArgs: _of_graph,
    BenchmarkArgs: _of_graph,
}
