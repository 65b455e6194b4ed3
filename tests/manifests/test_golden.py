"""Every target's objects as files: the graph, its engine files and its ComputeDomain, in both API versions."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from facts.releases import Version
from manifests.graph.compute_domain import compute_domain
from manifests.graph.deployment import graph_deployment
from manifests.graph.workers import engine_files
from manifests.services.autoscaling import scaled_objects
from stacks.load import parse
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from tests.golden_files import FOLDER, compare
from tests.manifests.services.test_autoscaling import SCALING

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
    return parse(
        {"target": target, "cluster": {"kind": "existing", "efa": True}, "platform": platform, **values},
        set(),
    ).main


def objects(graph: GraphPlan) -> str:
    documents: list[Any] = [graph_deployment(graph, "dynamo")]
    documents += [{name: yaml.safe_load(text)} for name, text in engine_files(graph).items()]
    if graph.target.pods.compute_domain:
        documents.append(compute_domain(graph, "dynamo"))
    if not graph.operation.planner:
        documents += scaled_objects(graph, "dynamo", SCALING)
    return str(yaml.safe_dump_all(documents, sort_keys=True, width=1000, allow_unicode=True))


@pytest.mark.parametrize(("file", "target", "values"), CASES, ids=[file for file, _, _ in CASES])
def test_objects_are_as_in_the_golden_file(file: str, target: str, values: dict[str, Any]) -> None:
    graph = plan(target, values)
    assert graph.version == Version.parse(values["graph"]["dynamoVersion"])
    compare(f"targets/{file}.yaml", objects(graph))


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in (FOLDER / "targets").iterdir()} == {file for file, _, _ in CASES}
