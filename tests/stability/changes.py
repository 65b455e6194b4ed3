"""What people do to a stack that runs: pairs of configs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ops.evaluate import evaluate
from ops.stack_file import StackFile
from ops.synth import described

PROJECT = Path(__file__).parents[2]
BLOCK = {"kind": "capacity-block", "reservationId": "cr-0123456789abcdef0"}
NEXT_BLOCK = {"kind": "capacity-block", "reservationId": "cr-0fedcba9876543210"}
EKS: dict[str, Any] = {
    "target": "vllm-disagg-h100",
    "cluster": {"kind": "eks", "region": "us-east-2", "publicAccessFrom": ["192.0.2.0/24"]},
    "graph": {"transport": "node"},
    "tags": {"owner": "one", "ttl": "24h"},
    "huggingFace": {"token": "hf_one"},
    "cache": {"kind": "efs"},
}
"""A stack that makes its cluster: what most rows change one thing of."""


def eks(**said: Any) -> dict[str, Any]:
    """That stack with other keys."""
    return EKS | said


def cluster(**said: Any) -> dict[str, Any]:
    """That stack with other keys of its cluster."""
    return EKS | {"cluster": EKS["cluster"] | said}


def graph(**said: Any) -> dict[str, Any]:
    """That stack with other keys of its graph."""
    return EKS | {"graph": EKS["graph"] | said}


def block(capacity: Mapping[str, Any] = BLOCK, zone: str = "us-east-2a", **said: Any) -> dict[str, Any]:
    """That stack on a Capacity Block."""
    return EKS | {"pool": {"capacity": dict(capacity), "zones": [zone], "active": True, **said}}


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing that somebody changes. key: in the config. anew: component types of which anything may be replaced,
    created or deleted. nodes: kinds of nodes that may restart or be replaced. refused: whether `up` refuses it.

    renamed: the stack's new name.
    """

    what: str
    key: str
    after: dict[str, Any]
    before: dict[str, Any] = field(default_factory=lambda: EKS)
    anew: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    refused: bool = False
    renamed: str = "dev"


OF_THE_GRAPH = ("InferenceGraph", "Verification")
SECOND = {"name": "second", "target": "vllm-agg-agentic-h100", "pool": "more"}
CHANGES = (
    Change(what="owner", key="tags.owner", after=eks(tags={"owner": "two", "ttl": "24h"})),
    Change(what="time to live", key="tags.ttl", after=eks(tags={"owner": "one", "ttl": "48h"}), anew=("TimeToLive",)),
    Change(what="token rotated", key="huggingFace.token", after=eks(huggingFace={"token": "hf_two"})),
    Change(
        what="target swapped on one hardware",
        key="target",
        after=eks(target="sglang-disagg-h100"),
        anew=(*OF_THE_GRAPH, "ImagePull", "ModelCache", "Watch"),
    ),
    Change(
        what="engine knob",
        key="graph.decode.maxBatchSize",
        after=graph(decode={"maxBatchSize": 64}),
        anew=("Verification",),
    ),
    Change(what="more workers", key="graph.decode.replicas", before=eks(pool={"nodes": 2}, graph={}),
           after=eks(pool={"nodes": 2}, graph={"decode": {"replicas": 2}}), anew=OF_THE_GRAPH),
    Change(what="Dynamo version", key="graph.dynamoVersion", before=graph(dynamoVersion="1.4.2"),
           after=graph(dynamoVersion="1.6.1"), anew=(*OF_THE_GRAPH, "ImagePull", "ModelCache", "TimeToLive")),
    Change(what="platform version", key="platform.version", before=eks(platform={"version": "1.4.2"}),
           after=eks(platform={"version": "1.6.1"})),
    Change(what="graph renamed", key="graph.name", after=graph(name="renamed"), anew=OF_THE_GRAPH),
    Change(
        what="graph added, with a pool of its own",
        key="graphs, pools",
        after=eks(pools=[{"name": "more"}], graphs=[{"name": "second", "pool": "more"}]),
        anew=(*OF_THE_GRAPH, "GpuNodePool", "ModelCache"),
    ),
    Change(what="monitoring on", key="monitoring.kind", after=eks(monitoring={"kind": "install"}),
           anew=("Monitoring", "Watch")),
    Change(what="monitoring off", key="monitoring.kind", before=eks(monitoring={"kind": "install"}), after=EKS,
           anew=("Monitoring", "Watch")),
    Change(what="cache kind, EFS to Lustre", key="cache.kind", after=eks(cache={"kind": "fsx"}),
           anew=("EfsCache", "LustreCache", "ModelCache", "EksCluster")),
    Change(what="more CPU nodes", key="cluster.cpuNodes", after=cluster(cpuNodes=6)),
    Change(what="more GPU nodes", key="pool.nodes", before=eks(pool={"nodes": 2}), after=eks(pool={"nodes": 3})),
    Change(what="Kubernetes version", key="cluster.version", before=cluster(version="1.34"), after=EKS,
           nodes=("CPU", "GPU")),
    Change(what="add-ons and machine images", key="cluster.updated", after=cluster(updated="2026-11"),
           nodes=("CPU", "GPU")),
    Change(what="Kubernetes version, on a Capacity Block whose nodes run", key="cluster.version",
           before=block() | {"cluster": EKS["cluster"] | {"version": "1.34"}}, after=block(), nodes=("CPU", "GPU"),
           refused=True),
    Change(what="next Capacity Block, same zone, after `pool.active: false`", key="pool.capacity.reservationId",
           before=block(active=False), after=block(NEXT_BLOCK)),
    Change(what="next Capacity Block, another zone", key="pool.capacity.reservationId, pool.zones",
           before=block(active=False), after=block(NEXT_BLOCK, "us-east-2b"), anew=("GpuNodePool",)),
    Change(what="a further zone of the cluster", key="cluster.zones",
           before=cluster(zones=["us-east-2a", "us-east-2b"]),
           after=cluster(zones=["us-east-2a", "us-east-2b", "us-east-2c"]), anew=("Network", "EfsCache")),
    Change(what="stack renamed, `cluster.name` said", key="pulumi stack rename", before=cluster(name="ours"),
           after=cluster(name="ours"), renamed="other", nodes=("CPU", "GPU")),
)  # fmt: skip
"""Rows of the page, in its order."""


@cache
def _synth(stack: str, config: str) -> dict[str, Any]:
    said = {
        f"dynamo-gpt-oss:{key}": value if isinstance(value, str) else json.dumps(value)
        for key, value in json.loads(config).items()
    }
    secrets = frozenset({"dynamo-gpt-oss:huggingFace"})
    file = StackFile(project="dynamo-gpt-oss", stack=stack, config=said, secret_keys=secrets)
    return described(evaluate(PROJECT, file))


def synth(config: Mapping[str, Any], stack: str = "dev") -> dict[str, Any]:
    """The content of the stack's resources.json."""
    return _synth(stack, json.dumps(config, sort_keys=True))
