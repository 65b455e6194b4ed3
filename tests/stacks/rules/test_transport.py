"""Every refusal of a way for KV cache with its whole message, and the nearest config that is not refused."""

from typing import Any

import pytest

from stacks.rules.graphs import knob_problems
from targets.plan import GraphPlan
from tests.plans import resolved

H100, B200, GB200 = "p5.48xlarge", "p6-b200.48xlarge", "p6e-gb200.36xlarge"
GUIDE, LONG, VLLM, MOCKER = "trtllm-disagg-b200", "trtllm-disagg-8k", "vllm-disagg-h100", "mocker-disagg-cpu"
SGLANG, AGG = "sglang-disagg-h100", "trtllm-agg-gb200"
FIGURES = "upstream measured 98 s to the first token over TCP where RDMA took 0.2 to 0.5 s (8B model, 8,000 tokens in)"


def plan(target: str, instance: str, nodes: int = 1, *, efa: bool = True, **knobs: Any) -> GraphPlan:
    """efa: whether the cluster is AWS's. knobs: as in the stack's file, camelCase."""
    return resolved(target, instance, nodes, efa=efa, **{"dynamoVersion": "1.4.2", **knobs})


APART: dict[str, Any] = {"prefill": {"tensorParallel": 8}, "decode": {"tensorParallel": 8}}
REFUSED: dict[str, tuple[GraphPlan, str]] = {
    "one pod on a release that knows pods alone": (
        plan(VLLM, H100, transport="pod", dynamoVersion="1.0.2"),
        "graph.transport: 'pod' needs discovery that tells workers of one pod apart, which Dynamo 1.0.2 does not "
        "(dynamo PR#8067); use dynamoVersion 1.2.1 or newer, or transport node",
    ),
    "one pod whose workers are scaled": (
        plan(VLLM, H100, transport="pod", decode={"tensorParallel": 2, "maxReplicas": 2}),
        "graph.transport: 'pod' has all workers in one pod, but graph.decode.maxReplicas lets them be scaled one by "
        "one; choose node, or leave it out",
    ),
    "one pod larger than a node": (
        plan(GUIDE, B200, 2, transport="pod", **APART),
        "graph.transport: 'pod' keeps all workers on one node, but gpt-oss-disagg needs 16 GPUs and p6-b200.48xlarge "
        "has 8; choose efa",
    ),
    "nodes that nothing is known to connect": (
        plan(GUIDE, B200, 2, efa=False, **APART),
        "graph.transport: the workers of gpt-oss-disagg do not fit one node, and nothing says what connects the nodes; "
        f"say rdma (InfiniBand or RoCE), nvlink (one GB200 NVLink domain) or tcp ({FIGURES})",
    ),
    "EFA on a cluster that is not AWS's": (
        plan(GUIDE, B200, 2, efa=False, transport="efa"),
        "graph.transport: 'efa' is AWS's network, which a cluster of kind existing is not known to have; say rdma "
        "(InfiniBand or RoCE), nvlink or tcp, or cluster.efa: true where its nodes offer vpc.amazonaws.com/efa",
    ),
    "EFA on one node": (
        plan(GUIDE, B200, transport="efa"),
        "graph.transport: 'efa' needs prefill and decode on different nodes (on one it fails with EAGAIN), which are 2 "
        "(prefill 1 + decode 1), but the pool has 1; raise pool.nodes or keep the graph on one node (transport node)",
    ),
    "EFA without a node for each role's workers": (
        plan(GUIDE, B200, 3, transport="efa", prefill={"replicas": 3}, decode={"replicas": 3}),
        "graph.transport: 'efa' needs prefill and decode on different nodes (on one it fails with EAGAIN), which are 4 "
        "(prefill 2 + decode 2), but the pool has 3; raise pool.nodes or keep the graph on one node (transport node)",
    ),
    "InfiniBand on AWS": (
        plan(GUIDE, B200, 2, transport="rdma"),
        "graph.transport: 'rdma' is InfiniBand or RoCE, and p6-b200.48xlarge on AWS has EFA; say efa",
    ),
    "an NVLink domain of x86 nodes": (
        plan(GUIDE, B200, 2, transport="nvlink"),
        "graph.transport: 'nvlink' is the NVLink domain of several GB200 nodes, and p6-b200.48xlarge has B200; choose "
        "pod, node or efa",
    ),
    "an NVLink domain of x86 nodes that hold no graph whole": (
        plan(GUIDE, B200, 2, efa=False, transport="nvlink", **APART),
        "graph.transport: 'nvlink' is the NVLink domain of several GB200 nodes, and p6-b200.48xlarge has B200; choose "
        "rdma or tcp",
    ),
    "an NVLink domain of one node, before one pod": (
        plan(GUIDE, B200, transport="nvlink", dynamoVersion="1.0.2"),
        "graph.transport: 'nvlink' is the NVLink domain of several GB200 nodes, and p6-b200.48xlarge has B200; choose "
        "node",
    ),
    "an NVLink domain of another engine": (
        plan(VLLM, H100, 2, transport="nvlink"),
        "graph.transport: 'nvlink' is the NVLink domain of several GB200 nodes, and p5.48xlarge has H100; choose pod, "
        "node or efa",
    ),
    "one node that is too small": (
        plan(GUIDE, B200, 2, efa=False, transport="node", **APART),
        "graph.transport: 'node' keeps all workers on one node, but gpt-oss-disagg needs 16 GPUs and p6-b200.48xlarge "
        "has 8; choose rdma, nvlink or tcp",
    ),
    "one node that is too small, with EFA": (
        plan(GUIDE, B200, 2, decode={"tensorParallel": 8}, transport="node"),
        "graph.transport: 'node' keeps all workers on one node, but gpt-oss-disagg needs 12 GPUs and "
        "p6-b200.48xlarge has 8; choose efa",
    ),
    "one node for a worker that spans two": (
        plan(LONG, B200, 2, decode={"nodes": 2}, transport="node"),
        "graph.transport: 'node' keeps all workers on one node, but one decode worker spans 2; choose efa",
    ),
    "EFA without EFA": (
        plan(MOCKER, "m7i.4xlarge", transport="efa"),
        "graph.transport: 'efa', but the workers of target mocker-disagg-cpu move no KV cache",
    ),
    "EFA on 0.4": (
        plan(VLLM, H100, 2, transport="efa", dynamoVersion="0.4.1"),
        "graph.transport: 'efa' needs an image with EFA's libraries, of which Dynamo 0.4.1 publishes none; "
        "use dynamoVersion 1.0.2 or newer",
    ),
    "SGLang over EFA": (
        plan(SGLANG, H100, 2, transport="efa", dynamoVersion="1.3.1"),
        "graph.transport: 'efa' with SGLang 1.3.1 answers 200 with nothing in it after about 300 s (dynamo#12106); "
        "keep the graph on one node (transport node) or use dynamoVersion 1.4.2 or newer",
    ),
    "GB200 over EFA": (
        plan(LONG, GB200, 2, dynamoVersion="1.2.1"),
        "graph.transport: 'efa' on GB200 with Dynamo 1.2.1 cannot register GPU memory (libfabric#12019, nixl#1609); "
        "use dynamoVersion 1.3.1 or newer",
    ),
    "a backend without EFA": (
        plan(VLLM, H100, kvTransfer={"backend": "ucx"}),
        "graph.kvTransfer.backend: 'ucx' is a choice over EFA alone, and this graph has pod",
    ),
    "privileged workers that share a node": (
        plan("vllm-disagg-agentic-h200", "p5en.48xlarge", 2, transport="efa", kvTransfer={"grants": "privileged"}),
        "graph.kvTransfer.grants: 'privileged' shows a container every GPU of its node (k8s-device-plugin#336), and "
        "a node that has a worker of gpt-oss-disagg-agentic may have another pod's GPUs too; say capabilities",
    ),
    "privileged pods of one worker that share a node": (
        plan(
            GUIDE, B200, 2, transport="efa",
            decode={"tensorParallel": 8, "nodes": 2}, kvTransfer={"grants": "privileged"},
        ),
        "graph.kvTransfer.grants: 'privileged' shows a container every GPU of its node (k8s-device-plugin#336), and "
        "a node that has a worker of gpt-oss-disagg may have another pod's GPUs too; say capabilities",
    ),
    "privileged workers of both roles on one node": (
        plan(GUIDE, B200, transport="node", kvTransfer={"grants": "privileged"}),
        "graph.kvTransfer.grants: 'privileged' shows a container every GPU of its node (k8s-device-plugin#336), and "
        "a node that has a worker of gpt-oss-disagg may have another pod's GPUs too; say capabilities",
    ),
    "EFA as another user than root": (
        plan(VLLM, H100, 2, transport="efa", kvTransfer={"grants": "none"}),
        "graph.kvTransfer.grants: 'none' cannot register memory for efa, which takes root (a capability of another "
        "user is without effect, nvidia-container-toolkit#2037); choose capabilities or privileged",
    ),
    "a network for simulated engines": (
        plan(MOCKER, "m7i.4xlarge", transport="tcp"),
        "graph.transport: 'tcp', but the workers of target mocker-disagg-cpu move no KV cache",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_this_message(name: str) -> None:
    refused, message = REFUSED[name]
    assert knob_problems(refused) == [message]


ACCEPTED = {
    "all workers in one pod": plan(GUIDE, B200, transport="pod", dynamoVersion="1.2.1"),
    "each role on its node": plan(GUIDE, B200, 2, transport="efa"),
    "InfiniBand": plan(GUIDE, B200, 2, efa=False, transport="rdma"),
    "TCP that is said": plan(GUIDE, B200, 2, efa=False, transport="tcp", **APART),
    "an NVLink domain": plan(LONG, GB200, 2, transport="nvlink"),
    "EFA on a cluster that says it has it": plan(GUIDE, B200, 2, transport="efa"),
    "SGLang over EFA from 1.4": plan(SGLANG, H100, 2, transport="efa", dynamoVersion="1.4.2"),
    "GB200 over EFA from 1.3": plan(LONG, GB200, 2, dynamoVersion="1.3.1"),
    "SGLang on one node": plan(SGLANG, H100, dynamoVersion="1.3.1"),
    "EFA for aggregated workers": plan(AGG, GB200, 2, worker={"replicas": 2}),
    "the least over EFA": plan(VLLM, H100, 2, transport="efa", kvTransfer={"grants": "capabilities"}),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_is_not_refused(name: str) -> None:
    assert knob_problems(ACCEPTED[name]) == []
