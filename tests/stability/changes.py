"""What people do to a stack that runs: pairs of configs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ops.synth import describe
from tests import plans

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
OFF = {"active": False}


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


def local(zone: str) -> dict[str, Any]:
    """That stack with its GPU nodes in a Local Zone."""
    return cluster(region="us-east-1") | {"pool": {"zones": [zone]}}


@dataclass(frozen=True, kw_only=True, eq=False)
class Change:
    """One thing that somebody changes. key: in the config. renamed: the stack's name then.

    anew: components of which anything is new, gone or made anew. nodes: kinds that restart or are made anew. refused:
    whether `up` refuses it.
    """

    what: str
    key: str
    after: dict[str, Any]
    before: dict[str, Any] = field(default_factory=lambda: EKS)
    anew: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()
    refused: bool = False
    renamed: str = "dev"


def named(*names: str) -> frozenset[str]:
    """Components, or kinds of nodes."""
    return frozenset(names)


VERIFIED, GRAPH = named("gpt-oss-disagg-verify"), named("graph", "gpt-oss-disagg-verify")
EVERY_NODE = named("CPU", "GPU")
CHANGES = (
    Change(what="owner", key="`tags.owner`", after=eks(tags={"owner": "two", "ttl": "24h"})),
    Change(
        what="time to live",
        key="`tags.ttl`",
        after=eks(tags={"owner": "one", "ttl": "48h"}),
        anew=named("time-to-live"),
    ),
    Change(what="token rotated", key="`huggingFace.token`", after=eks(huggingFace={"token": "hf_two"})),
    Change(what="engine knob", key="`graph.decode.maxBatchSize`", after=graph(decode={"maxBatchSize": 64}),
           anew=VERIFIED),
    Change(what="more workers", key="`graph.worker.replicas`",
           before=eks(target="vllm-agg-agentic-b200", pool={"nodes": 2}, graph={}),
           after=eks(target="vllm-agg-agentic-b200", pool={"nodes": 2}, graph={"worker": {"replicas": 9}}),
           anew=named("graph", "turbo-gptoss-120b-agg-b200-agentic-verify")),
    Change(what="Dynamo version", key="`graph.dynamoVersion`", before=graph(dynamoVersion="1.4.2"),
           after=graph(dynamoVersion="1.6.1"), anew=VERIFIED),
    Change(what="platform version", key="`platform.version`", before=eks(platform={"version": "1.4.2"}),
           after=eks(platform={"version": "1.6.1"})),
    Change(what="target swapped on one hardware", key="`target`", after=eks(target="sglang-disagg-h100"),
           anew=GRAPH),
    Change(what="graph renamed", key="`graph.name`", after=graph(name="renamed"), anew=GRAPH | {"renamed-verify"}),
    Change(what="graph added, on a pool of its own of another GPU", key="`graphs`, `pools`",
           after=eks(pools=[{"name": "more", "instanceType": "p6-b200.48xlarge"}],
                     graphs=[{"name": "second", "target": "trtllm-disagg-b200", "pool": "more"}]),
           anew=named("second", "second-verify", "gpu-nodes-more", "image-pull")),
    Change(what="graph added, on a pool of its own of the same GPU", key="`graphs`, `pools`",
           after=eks(pools=[{"name": "more"}], graphs=[{"name": "second", "pool": "more"}]),
           anew=VERIFIED | {"second", "second-verify", "gpu-nodes-more"}),
    Change(what="monitoring on", key="`monitoring.kind`", after=eks(monitoring={"kind": "install"}),
           anew=named("monitoring", "watch")),
    Change(what="monitoring off", key="`monitoring.kind`", before=eks(monitoring={"kind": "install"}), after=EKS,
           anew=named("monitoring", "watch")),
    Change(what="monitoring in another namespace", key="`monitoring.namespace`",
           before=eks(monitoring={"kind": "install"}),
           after=eks(monitoring={"kind": "install", "namespace": "elsewhere"}), anew=named("monitoring")),
    Change(what="another kind of cache, after `pool.active: false`", key="`cache.kind`", before=eks(pool=OFF),
           after=eks(pool=OFF, cache={"kind": "fsx"}), anew=named("model-cache", "cluster")),
    Change(what="the same, to a bucket", key="`cache.kind`", before=eks(pool=OFF),
           after=eks(pool=OFF, cache={"kind": "s3"}), anew=named("model-cache", "model-bucket", "cluster")),
    Change(what="more CPU nodes", key="`cluster.cpuNodes`", after=cluster(cpuNodes=6)),
    Change(what="more GPU nodes, of several", key="`pool.nodes`", before=eks(pool={"nodes": 2}),
           after=eks(pool={"nodes": 3})),
    Change(what="a further zone of the cluster", key="`cluster.zones`",
           before=cluster(zones=["us-east-2a", "us-east-2b"]),
           after=cluster(zones=["us-east-2a", "us-east-2b", "us-east-2c"]), anew=named("dynamo-dev", "model-cache")),
    Change(what="a further zone, before others", key="`cluster.zones`",
           before=cluster(zones=["us-east-2b", "us-east-2c"]),
           after=cluster(zones=["us-east-2a", "us-east-2b", "us-east-2c"]), anew=named("dynamo-dev", "model-cache")),
    Change(what="another Local Zone of the GPU nodes", key="`pool.zones`", before=local("us-east-1-dfw-2a"),
           after=local("us-east-1-atl-2a"), anew=named("dynamo-dev", "gpu-nodes"), nodes=named("GPU")),
    Change(what="another zone of the GPU nodes", key="`pool.zones`", before=eks(pool={"zones": ["us-east-2a"]}),
           after=eks(pool={"zones": ["us-east-2b"]}), anew=named("gpu-nodes"), nodes=named("GPU")),
    Change(what="add-ons and machine images", key="`cluster.updated`", after=cluster(updated="2026-11"),
           nodes=EVERY_NODE),
    Change(what="Kubernetes version", key="`cluster.version`", before=cluster(version="1.34"), after=EKS,
           nodes=EVERY_NODE),
    Change(what="the same on a Capacity Block whose nodes run", key="`cluster.version`",
           before=block() | {"cluster": EKS["cluster"] | {"version": "1.34"}}, after=block(), nodes=EVERY_NODE,
           refused=True),
    Change(what="images pulled in parallel", key="`pool.parallelPull`", after=eks(pool={"parallelPull": True}),
           nodes=named("GPU")),
    Change(what="the same on a Capacity Block whose nodes run", key="`pool.parallelPull`", before=block(),
           after=block(parallelPull=True), nodes=named("GPU"), refused=True),
    Change(what="next Capacity Block, after `pool.active: false`", key="`pool.capacity`", before=block(active=False),
           after=block(NEXT_BLOCK), anew=GRAPH),
    Change(what="the same in another zone", key="`pool.capacity`, `pool.zones`", before=block(active=False),
           after=block(NEXT_BLOCK, "us-east-2b"), anew=GRAPH | {"gpu-nodes"}),
    Change(what="stack renamed, its cluster not", key="`cluster.name`, then `pulumi stack rename`",
           before=cluster(name="ours"), after=cluster(name="ours"), renamed="other", nodes=EVERY_NODE),
)  # fmt: skip
"""Rows of the page, in its order."""


@cache
def _synth(stack: str, config: str) -> dict[str, Any]:
    return describe(plans.evaluated(stack, ["huggingFace"], **json.loads(config)))


def synth(config: Mapping[str, Any], stack: str = "dev") -> dict[str, Any]:
    """The content of the stack's resources.json."""
    return _synth(stack, json.dumps(config, sort_keys=True))
