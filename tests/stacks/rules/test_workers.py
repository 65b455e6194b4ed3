"""Knobs, sizes and limits of workers: each refusal with its whole message, and what is not refused."""

import pytest

from stacks.rules.graphs import knob_problems
from stacks.rules.workers import worker_problems
from targets.plan import GraphPlan
from tests.plans import resolved

H100, B200, GB200 = "p5.48xlarge", "p6-b200.48xlarge", "p6e-gb200.36xlarge"
GUIDE, LONG, AGG = "trtllm-disagg-b200", "trtllm-disagg-8k", "trtllm-agg-gb200"
VLLM, SGLANG, MOCKER = "vllm-disagg-h100", "sglang-disagg-h100", "mocker-disagg-cpu"

REFUSED: dict[str, tuple[GraphPlan, str]] = {
    "expert parallelism of vLLM": (
        resolved(VLLM, H100, decode={"expertParallel": 4}),
        "graph.decode.expertParallel: 4 has no meaning for vllm; leave it out",
    ),
    "GPUs of the mocker": (
        resolved(MOCKER, "m7i.4xlarge", prefill={"maxSeqLen": 4096}),
        "graph.prefill.maxSeqLen: 4096 has no meaning for mocker; leave it out",
    ),
    "loader of an older release": (
        resolved(VLLM, H100, dynamoVersion="1.0.2", decode={"loader": "runai"}),
        "graph.decode.loader: runai needs Dynamo 1.2 or newer with vllm, but graph.dynamoVersion is 1.0.2; raise it, "
        "or choose threads",
    ),
    "loader that no release has": (
        resolved(VLLM, H100, dynamoVersion="0.4.1", decode={"loader": "threads"}),
        "graph.decode.loader: threads needs Dynamo 1.0 or newer with vllm, but graph.dynamoVersion is 0.4.1; raise it, "
        "or leave it out",
    ),
    "loader of another engine": (
        resolved(SGLANG, H100, decode={"loader": "fastsafetensors"}),
        "graph.decode.loader: fastsafetensors is not in the images of sglang; choose threads or runai",
    ),
    "loader of TensorRT-LLM": (
        resolved(GUIDE, B200, decode={"loader": "threads"}),
        "graph.decode.loader: threads has no meaning for trtllm; leave it out",
    ),
    "worker larger than a node": (
        resolved(AGG, GB200, worker={"tensorParallel": 8}),
        "graph.worker.tensorParallel: one worker needs 8 GPUs (TP 8 × PP 1), but 1 node(s) of "
        "p6e-gb200.36xlarge have 4; lower tensorParallel or pipelineParallel, or raise graph.worker.nodes",
    ),
    "worker that does not divide": (
        resolved(AGG, GB200, 18, worker={"tensorParallel": 8, "nodes": 3}),
        "graph.worker.nodes: 8 GPU(s) of one worker do not divide over 3 nodes",
    ),
    "worker on more nodes than GPUs": (
        resolved(LONG, B200, 2, prefill={"nodes": 2}),
        "graph.prefill.nodes: 1 GPU(s) of one prefill worker do not divide over 2 nodes",
    ),
    "CPU worker over nodes": (
        resolved(MOCKER, "m7i.4xlarge", decode={"nodes": 2}),
        "graph.decode.nodes: 2, but a worker without GPUs runs on 1 node",
    ),
    "worker larger than its nodes, of a graph larger than the pool": (
        resolved(GUIDE, B200, 2, decode={"tensorParallel": 8, "pipelineParallel": 2}),
        "graph.decode.tensorParallel: one decode worker needs 16 GPUs (TP 8 × PP 2), but 1 node(s) of p6-b200.48xlarge "
        "have 8; lower tensorParallel or pipelineParallel, or raise graph.decode.nodes",
    ),
    "graph larger than the pool": (
        resolved(GUIDE, B200, decode={"tensorParallel": 8}),
        "graph: gpt-oss-disagg needs 12 GPUs (prefill 1×4 + decode 1×8), but the pool has 8 "
        "(1 × p6-b200.48xlarge (8 × B200 each)); lower tensorParallel or replicas, or raise pool.nodes",
    ),
    "replicas, tensor and pipeline parallelism": (
        resolved(GUIDE, B200, 2, decode={"replicas": 2, "pipelineParallel": 2}),
        "graph: gpt-oss-disagg needs 20 GPUs (prefill 1×4 + decode 2×8), but the pool has 16 "
        "(2 × p6-b200.48xlarge (8 × B200 each)); lower tensorParallel or replicas, or raise pool.nodes",
    ),
    "experts that do not divide": (
        resolved(LONG, B200, decode={"expertParallel": 8}),
        "graph.decode.expertParallel: 8 does not divide tensorParallel 4; experts are spread over the "
        "tensor-parallel GPUs",
    ),
    "batch above the CUDA graphs": (
        resolved(GUIDE, B200, decode={"maxBatchSize": 256}),
        "graph.decode.maxBatchSize: 256 is above 128, the largest batch that target trtllm-disagg-b200 captures "
        "CUDA graphs for",
    ),
    "sequences shorter than the traffic": (
        resolved(GUIDE, B200, decode={"maxSeqLen": 32255}),
        "graph.decode.maxSeqLen: 32255 is below 32256, what target trtllm-disagg-b200 is for (32000 tokens in, "
        "256 out)",
    ),
    "prompts longer than the transfer buffer": (
        resolved(LONG, B200, prefill={"maxSeqLen": 9217}),
        "graph.prefill.maxSeqLen: 9217 is above 9216, the tokens that target trtllm-disagg-8k's KV transfer buffer "
        "holds; a longer prompt would block the transfer for ever (dynamo#4327)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_this_message_and_no_other(name: str) -> None:
    refused, message = REFUSED[name]
    assert "\n".join(worker_problems(refused)) == "\n".join(knob_problems(refused)) == message


ACCEPTED = {
    "loader of vLLM's release": resolved(VLLM, H100, decode={"loader": "fastsafetensors"}),
    "loader as an argument": resolved(VLLM, H100, decode={"extraArgs": ["--load-format", "dummy"]}),
    "a node for each role": resolved(GUIDE, B200, 2, decode={"tensorParallel": 8}),
    "worker over two nodes": resolved(AGG, GB200, 2, worker={"tensorParallel": 8, "nodes": 2}),
    "batch at the CUDA graphs' limit": resolved(GUIDE, B200, decode={"maxBatchSize": 128}),
    "sequences as long as the traffic": resolved(GUIDE, B200, decode={"maxSeqLen": 32256}),
    "prompts as long as the transfer buffer": resolved(LONG, B200, prefill={"maxSeqLen": 9216}),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_is_not_refused(name: str) -> None:
    assert knob_problems(ACCEPTED[name]) == []
