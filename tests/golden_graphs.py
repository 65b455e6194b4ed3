"""The graphs that are kept as files: every target with its releases, and each way in which a graph can be another."""

from collections.abc import Iterator
from typing import Any

import yaml

from facts.releases import Version
from manifests.graph.compute_domain import compute_domain
from manifests.graph.deployment import graph_deployment
from manifests.graph.workers import engine_files
from manifests.services.autoscaling import scaled_objects
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from tests import plans

GUIDES = ("vllm-disagg-h100", "sglang-disagg-h100", "trtllm-disagg-b200")
OVER_EFA = {
    "pool": {"nodes": 2},
    "graph": {"dynamoVersion": "1.4.2", "transport": "efa"},
}
ON_ONE_NODE = {"graph": {"dynamoVersion": "1.4.2", "transport": "node"}}
OVER_RDMA = {
    "cluster": {"kind": "existing"},
    "pool": {"nodes": 2},
    "graph": {"dynamoVersion": "1.4.2", "transport": "rdma"},
}
OVER_TCP = {"pool": {"nodes": 2}, "graph": {"dynamoVersion": "1.4.2", "transport": "tcp"}}
OVER_NVLINK = {
    "pool": {"nodes": 2, "instanceType": "p6e-gb200.36xlarge"},
    "graph": {"dynamoVersion": "1.4.2", "transport": "nvlink"},
}
BEHIND_A_PICKER = {
    "graph": {"dynamoVersion": "1.6.1"},
    "ingress": {
        "host": "llm.example.com",
        "gateway": "envoy/public",
        "existingSecret": "keys",
        "inferenceExtension": True,
    },
}
OVER_NODES = {
    "pool": {"nodes": 2},
    "graph": {"dynamoVersion": "1.3.1", "worker": {"tensorParallel": 8, "nodes": 2}},
}
LOCAL_COPY = {"cache": {"localCopy": True}, "graph": {"dynamoVersion": "1.6.1"}}
KEDA = {
    "pool": {"nodes": 3},
    "graph": {"dynamoVersion": "1.2.1", "decode": {"maxReplicas": 3}},
    "monitoring": {"kind": "install"},
    "autoscaling": {"kind": "keda"},
}
PLANNED = {
    "pool": {"nodes": 2},
    "graph": {"dynamoVersion": "1.6.1", "prefill": {"maxReplicas": 2}, "decode": {"maxReplicas": 2}},
    "monitoring": {"kind": "install"},
    "autoscaling": {"kind": "planner", "optimization": "sla"},
}


def cases() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(file, target, what the stack says beside it)"""
    for name, target in TARGETS.items():
        recipe = "1.3.1" if target.releases.since >= Version(1, 3) else "1.2.1"
        versions = {recipe, target.releases.default, "1.6.1"} | ({"0.4.1"} if name in GUIDES[:2] else set())
        for version in sorted(versions):
            if target.releases.run(Version.parse(version)):
                yield f"{name}-{version}", name, {"graph": {"dynamoVersion": version}}
    for name in GUIDES:
        yield f"{name}-over-efa", name, OVER_EFA
        yield f"{name}-on-one-node", name, ON_ONE_NODE
    yield "vllm-disagg-agentic-b200-on-one-node", "vllm-disagg-agentic-b200", ON_ONE_NODE
    yield "vllm-disagg-h100-over-rdma", "vllm-disagg-h100", OVER_RDMA
    yield "vllm-disagg-h100-over-tcp", "vllm-disagg-h100", OVER_TCP
    yield "trtllm-disagg-8k-over-nvlink", "trtllm-disagg-8k", OVER_NVLINK
    yield "vllm-disagg-agentic-b200-behind-a-picker", "vllm-disagg-agentic-b200", BEHIND_A_PICKER
    yield "trtllm-disagg-b200-local-copy", "trtllm-disagg-b200", LOCAL_COPY
    yield "vllm-disagg-h100-scaled-by-keda", "vllm-disagg-h100", KEDA
    yield "trtllm-disagg-b200-scaled-by-planner", "trtllm-disagg-b200", PLANNED
    yield "trtllm-agg-gb200-over-nodes", "trtllm-agg-gb200", OVER_NODES


CASES = list(cases())


def plan(target: str, values: dict[str, Any]) -> GraphPlan:
    # Grove restarts whole graphs of 1.2 when they are scaled.
    platform = {"install": False, "grove": "none" if "autoscaling" in values else "external"}
    return plans.graph(target, **{"platform": platform, **values})


def documents(graph: GraphPlan) -> list[Any]:
    """The graph, its engine files by name, its ComputeDomain and what scales it."""
    found: list[Any] = [graph_deployment(graph, "dynamo")]
    found += [{name: yaml.safe_load(text)} for name, text in engine_files(graph).items()]
    if graph.target.pods.compute_domain:
        found.append(compute_domain(graph, "dynamo"))
    if not graph.operation.planner:
        found += scaled_objects(graph, "dynamo", plans.SCALING)
    return found
