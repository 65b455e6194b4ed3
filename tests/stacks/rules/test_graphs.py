"""Every refusal of one graph with its whole message, and the nearest config that is not refused."""

from dataclasses import replace
from typing import Any

import pytest

from facts.hardware import INSTANCE_TYPES, Gpu
from facts.releases import Version
from stacks.rules.graphs import graph_problems, release_problems
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from targets.target import Target
from tests.plans import resolved
from tests.targets.instances import instance_names


def plan(target: str, instance: str, nodes: int = 1, *, key: str = "graph", **knobs: Any) -> GraphPlan:
    """knobs: as in the stack's file, camelCase."""
    return resolved(target, instance, nodes, key=key, **knobs)


H100, H200, B200, GB200 = "p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "p6e-gb200.36xlarge"
GUIDE, LONG, AGG = "trtllm-disagg-b200", "trtllm-disagg-8k", "trtllm-agg-gb200"
VLLM, SGLANG, MOCKER = "vllm-disagg-h100", "sglang-disagg-h100", "mocker-disagg-cpu"
AGENTIC = "vllm-disagg-agentic-b200"
OLD_GUIDE = "trtllm-disagg-b200-0.4"
DIGEST = "sha256:" + "0" * 64
COMMIT = "0" * 40
BUILD = {"gitRef": COMMIT, "region": "us-east-1"}

REFUSED: dict[str, tuple[GraphPlan, str]] = {
    "aggregated target on x86": (
        plan(AGG, B200),
        "pool.instanceType: p6-b200.48xlarge is amd64, but target trtllm-agg-gb200 runs only on arm64; "
        f"choose one of {instance_names(AGG)}",
    ),
    "another GPU": (
        plan(GUIDE, H100),
        "pool.instanceType: p5.48xlarge has H100 GPUs, but target trtllm-disagg-b200 is for B200 or B300; "
        f"choose one of {instance_names(GUIDE)}",
    ),
    "no GPU": (
        plan(GUIDE, "m7i.4xlarge"),
        "pool.instanceType: m7i.4xlarge has no GPUs, but target trtllm-disagg-b200 is for B200 or B300; "
        f"choose one of {instance_names(GUIDE)}",
    ),
    "GPUs for nothing": (
        plan(MOCKER, H100),
        "pool.instanceType: p5.48xlarge has H100 GPUs, but target mocker-disagg-cpu is for CPU nodes; "
        f"choose one of {instance_names(MOCKER)}",
    ),
    "image of another architecture": (
        plan(GUIDE, B200, image={"archs": ["arm64"]}),
        "graph.image.archs: [arm64] does not hold amd64, the architecture of p6-b200.48xlarge",
    ),
    "release older than the target": (
        plan(AGENTIC, B200, dynamoVersion="1.2.1"),
        "graph.dynamoVersion: 1.2.1 cannot run target vllm-disagg-agentic-b200; use 1.3.1 or newer",
    ),
    "mocker without disaggregation": (
        plan(MOCKER, "m7i.4xlarge", dynamoVersion="0.4.1"),
        "graph.dynamoVersion: 0.4.1 cannot run target mocker-disagg-cpu; use 1.0.2 or newer",
    ),
    "a published image that cannot load GPT-OSS": (
        plan(GUIDE, B200, dynamoVersion="0.4.1"),
        "graph.dynamoVersion: the published image of 0.4.1 holds TensorRT-LLM 1.0.0rc6, which cannot load GPT-OSS; "
        "choose target trtllm-disagg-b200-0.4, whose image can, set graph.image.repository or graph.image.build to one "
        "that can, or use 1.0.2 or newer",
    ),
    "the sources of 0.4.1 for a newer release": (
        plan(GUIDE, B200, dynamoVersion="1.2.1", image={"build": {"region": "us-east-1"}}),
        "graph.image.build.gitRef: the default is the commit of Dynamo 0.4.1, but gpt-oss-disagg is 1.2.1; name a "
        "commit of that release, and its dockerfile and buildArgs",
    ),
    "the guide of 0.4 on a newer release": (
        plan(OLD_GUIDE, B200, dynamoVersion="1.0.2"),
        "graph.dynamoVersion: 1.0.2 cannot run target trtllm-disagg-b200-0.4, whose image and commands are of 0.4.1; "
        "leave it out, or choose target trtllm-disagg-b200",
    ),
    "a strategy of 0.4 on a newer release": (
        plan(GUIDE, B200, dynamoVersion="1.0.2", disaggregationStrategy="decode_first"),
        "graph.disaggregationStrategy: 'decode_first' is for prefill and decode workers of TensorRT-LLM on Dynamo 0.4, "
        "but gpt-oss-disagg is target trtllm-disagg-b200 on 1.0.2; leave it out",
    ),
    "a strategy of another engine": (
        plan(VLLM, H100, dynamoVersion="0.4.1", disaggregationStrategy="prefill_first"),
        "graph.disaggregationStrategy: 'prefill_first' is for prefill and decode workers of TensorRT-LLM on Dynamo "
        "0.4, but gpt-oss-disagg is target vllm-disagg-h100 on 0.4.1; leave it out",
    ),
    "EAGLE3 and disaggregation on 1.3.0": (
        plan(AGENTIC, B200, dynamoVersion="1.3.0"),
        "graph.dynamoVersion: 1.3.0 crashes with EAGLE3 and disaggregation (known issue of 1.3.0); "
        "use 1.3.1 or newer",
    ),
    "draft of a target without one": (
        plan(GUIDE, B200, draftRevision=COMMIT),
        "graph.draftRevision: target trtllm-disagg-b200 uses no draft model; leave it out",
    ),
    "expert parallelism of vLLM": (
        plan(VLLM, H100, decode={"expertParallel": 4}),
        "graph.decode.expertParallel: 4 has no meaning for vllm; leave it out",
    ),
    "GPUs of the mocker": (
        plan(MOCKER, "m7i.4xlarge", prefill={"maxSeqLen": 4096}),
        "graph.prefill.maxSeqLen: 4096 has no meaning for mocker; leave it out",
    ),
    "worker larger than a node": (
        plan(AGG, GB200, worker={"tensorParallel": 8}),
        "graph.worker.tensorParallel: one worker needs 8 GPUs (TP 8 × PP 1), but 1 node(s) of "
        "p6e-gb200.36xlarge have 4; lower tensorParallel or pipelineParallel, or raise graph.worker.nodes",
    ),
    "worker that does not divide": (
        plan(AGG, GB200, 18, worker={"tensorParallel": 8, "nodes": 3}),
        "graph.worker.nodes: 8 GPU(s) of one worker do not divide over 3 nodes",
    ),
    "worker on more nodes than GPUs": (
        plan(LONG, B200, 2, prefill={"nodes": 2}),
        "graph.prefill.nodes: 1 GPU(s) of one prefill worker do not divide over 2 nodes",
    ),
    "CPU worker over nodes": (
        plan(MOCKER, "m7i.4xlarge", decode={"nodes": 2}),
        "graph.decode.nodes: 2, but a worker without GPUs runs on 1 node",
    ),
    "worker larger than its nodes, of a graph larger than the pool": (
        plan(GUIDE, B200, 2, decode={"tensorParallel": 8, "pipelineParallel": 2}),
        "graph.decode.tensorParallel: one decode worker needs 16 GPUs (TP 8 × PP 2), but 1 node(s) of p6-b200.48xlarge "
        "have 8; lower tensorParallel or pipelineParallel, or raise graph.decode.nodes",
    ),
    "graph larger than the pool": (
        plan(GUIDE, B200, decode={"tensorParallel": 8}),
        "graph: gpt-oss-disagg needs 12 GPUs (prefill 1×4 + decode 1×8), but the pool has 8 "
        "(1 × p6-b200.48xlarge (8 × B200 each)); lower tensorParallel or replicas, or raise pool.nodes",
    ),
    "replicas, tensor and pipeline parallelism": (
        plan(GUIDE, B200, 2, decode={"replicas": 2, "pipelineParallel": 2}),
        "graph: gpt-oss-disagg needs 20 GPUs (prefill 1×4 + decode 2×8), but the pool has 16 "
        "(2 × p6-b200.48xlarge (8 × B200 each)); lower tensorParallel or replicas, or raise pool.nodes",
    ),
    "experts that do not divide": (
        plan(LONG, B200, decode={"expertParallel": 8}),
        "graph.decode.expertParallel: 8 does not divide tensorParallel 4; experts are spread over the "
        "tensor-parallel GPUs",
    ),
    "batch above the CUDA graphs": (
        plan(GUIDE, B200, decode={"maxBatchSize": 256}),
        "graph.decode.maxBatchSize: 256 is above 128, the largest batch that target trtllm-disagg-b200 captures "
        "CUDA graphs for",
    ),
    "sequences shorter than the traffic": (
        plan(GUIDE, B200, decode={"maxSeqLen": 32255}),
        "graph.decode.maxSeqLen: 32255 is below 32256, what target trtllm-disagg-b200 is for (32000 tokens in, "
        "256 out)",
    ),
    "prompts longer than the transfer buffer": (
        plan(LONG, B200, prefill={"maxSeqLen": 9217}),
        "graph.prefill.maxSeqLen: 9217 is above 9216, the tokens that target trtllm-disagg-8k's KV transfer buffer "
        "holds; a longer prompt would block the transfer for ever (dynamo#4327)",
    ),
    "kv routing without reuse": (
        plan(LONG, B200, frontend={"routerMode": "kv"}),
        "graph.frontend.routerMode: 'kv' finds nothing on target trtllm-disagg-8k, whose engine files switch KV "
        "block reuse off; choose round-robin or random",
    ),
    "another chat processor": (
        plan(VLLM, H100, frontend={"extraArgs": ["--dyn-chat-processor=vllm"]}),
        "graph.frontend.extraArgs: '--dyn-chat-processor' answers GPT-OSS requests with HTTP 500 (dynamo#14936); "
        "leave it out, the default processor parses harmony",
    ),
    "etcd's address": (
        plan(GUIDE, B200, decode={"env": {"ETCD_ENDPOINTS": "http://etcd:2379"}}),
        "graph.decode.env: 'ETCD_ENDPOINTS' is not allowed: discovery is the platform's choice and a fixed address "
        "breaks it (dynamo PR#12070)",
    ),
    "the token in an environment": (
        plan(GUIDE, B200, frontend={"env": {"HF_TOKEN": "hf_x", "NATS_SERVER": "nats://x"}}),
        "graph.frontend.env: 'HF_TOKEN' is not allowed: a token there is readable in the graph; use "
        "huggingFace.token\n"
        "graph.frontend.env: 'NATS_SERVER' is not allowed: the operator sets it",
    ),
    "GPUs by environment": (
        plan(GUIDE, B200, prefill={"env": {"CUDA_VISIBLE_DEVICES": "0,1,2,3"}}),
        "graph.prefill.env: 'CUDA_VISIBLE_DEVICES' is not allowed: the graph says which GPUs a worker sees",
    ),
    "an address of the frontend's own, as an argument": (
        plan(GUIDE, B200, frontend={"extraArgs": ["--http-host", "127.0.0.1"]}),
        "graph.frontend.extraArgs: '--http-host' takes the frontend off the address that Service and probes ask; leave "
        "it out",
    ),
    "an address of the frontend's own": (
        plan(GUIDE, B200, frontend={"env": {"DYN_HTTP_HOST": "127.0.0.1", "DYN_HTTP_PORT": "80"}}),
        "graph.frontend.env: 'DYN_HTTP_HOST' is not allowed: Service and probes reach the frontend on the address of "
        "its pod; leave it out\n"
        "graph.frontend.env: 'DYN_HTTP_PORT' is not allowed: Service, probes and verification ask the frontend's port "
        "8000; leave it out",
    ),
    "a port that nobody asks": (
        plan(GUIDE, B200, decode={"env": {"DYN_SYSTEM_PORT": "9999"}}),
        "graph.decode.env: 'DYN_SYSTEM_PORT' is not allowed: probes and monitoring ask the port that the graph says; "
        "leave it out",
    ),
    "a variable that is gone": (
        plan(VLLM, H100, dynamoVersion="1.4.2", decode={"env": {"VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8": "1"}}),
        "graph.decode.env: 'VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8' does nothing on Dynamo 1.4.2, whose vLLM does not "
        "know it; use extraArgs: --moe-backend flashinfer_trtllm --quantization-config "
        '\'{"moe":{"activation":"mxfp8"}}\'',
    ),
    "another graph's namespace": (
        plan(GUIDE, B200, prefill={"env": {"DYN_NAMESPACE": "dynamo"}}),
        "graph.prefill.env: 'DYN_NAMESPACE' is not allowed: the operator sets it; graphs that share one would see "
        "each other's workers",
    ),
    "tag without a version": (
        plan(GUIDE, B200, image={"tag": "latest"}, dynamoVersion="1.4.2"),
        "graph.image: 'nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:latest' does not say its Dynamo version, which "
        "the operator demands; set graph.image.runtimeVersion to MAJOR.MINOR.PATCH",
    ),
    "tag with a leading zero": (
        plan(GUIDE, B200, image={"tag": "1.02.1"}),
        "graph.image: 'nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.02.1' does not say its Dynamo version, which "
        "the operator demands; set graph.image.runtimeVersion to MAJOR.MINOR.PATCH",
    ),
    "tag with a leading zero at its end": (
        plan(GUIDE, B200, image={"tag": "1.4.2-01"}),
        "graph.image: 'nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.4.2-01' does not say its Dynamo version, which "
        "the operator demands; set graph.image.runtimeVersion to MAJOR.MINOR.PATCH",
    ),
    "tag of two numbers": (
        plan(GUIDE, B200, image={"tag": "1.2"}),
        "graph.image: 'nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.2' does not say its Dynamo version, which "
        "the operator demands; set graph.image.runtimeVersion to MAJOR.MINOR.PATCH",
    ),
    "tag of another release": (
        plan(GUIDE, B200, image={"tag": "1.2.1-ours"}, dynamoVersion="1.4.2"),
        "graph.image.tag: '1.2.1-ours' says Dynamo 1.2.1, but graph.dynamoVersion is 1.4.2; let both say one release, "
        "or set graph.image.runtimeVersion to 1.4.2 if that is inside the image",
    ),
    "tag of another patch, of an operator that reads no tags": (
        plan(GUIDE, B200, image={"repository": "registry.example/ours", "tag": "v1.3.0_1"}, dynamoVersion="1.3.1"),
        "graph.image.tag: 'v1.3.0_1' says Dynamo 1.3.0, but graph.dynamoVersion is 1.3.1; let both say one release, "
        "or set graph.image.runtimeVersion to 1.3.1 if that is inside the image",
    ),
    "runtime of another release": (
        plan(GUIDE, B200, image={"digest": DIGEST, "runtimeVersion": "1.2.1"}, dynamoVersion="1.4.2"),
        "graph.image.runtimeVersion: '1.2.1', but graph.dynamoVersion is 1.4.2, which commands and checks are made "
        "for; let both say the release inside the image",
    ),
    "tag and digest": (
        plan(GUIDE, B200, image={"tag": "1.4.2", "digest": DIGEST, "runtimeVersion": "1.4.2"}),
        f"graph.image: tag '1.4.2' and digest '{DIGEST}' exclude each other; keep one",
    ),
    "an image that is built and named": (
        plan(GUIDE, B200, image={"tag": "1.4.2", "build": BUILD}),
        "graph.image.tag: '1.4.2' and graph.image.build exclude each other; keep one",
    ),
    "name too long": (
        plan(GUIDE, B200, name="gpt-oss-120b-disaggregated-b"),
        "graph.name: 'gpt-oss-120b-disaggregated-b' has 28 characters; at most 26 leave room for the component's "
        "name in Grove's pod names",
    ),
    "name too long for workers that span nodes": (
        plan(GUIDE, B200, 4, name="gpt-oss-120b-disaggregated-b", prefill={"nodes": 2}, decode={"nodes": 2}),
        "graph.name: 'gpt-oss-120b-disaggregated-b' has 28 characters; at most 27 leave room for the component's "
        "name in Grove's pod names",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_this_message(name: str) -> None:
    refused, message = REFUSED[name]
    assert "\n".join(graph_problems(refused)) == message


ACCEPTED = {
    "aggregated target on its hardware": plan(AGG, GB200),
    "a node for each role": plan(GUIDE, B200, 2, decode={"tensorParallel": 8}),
    "worker over two nodes": plan(AGG, GB200, 2, worker={"tensorParallel": 8, "nodes": 2}),
    "batch at the CUDA graphs' limit": plan(GUIDE, B200, decode={"maxBatchSize": 128}),
    "sequences as long as the traffic": plan(GUIDE, B200, decode={"maxSeqLen": 32256}),
    "prompts as long as the transfer buffer": plan(LONG, B200, prefill={"maxSeqLen": 9216}),
    "EAGLE3 and disaggregation on 1.3.1": plan(AGENTIC, B200, dynamoVersion="1.3.1"),
    "an argument that is not set": plan(GUIDE, B200, decode={"extraArgs": ["--max-beam-width", "1"]}),
    "a tag with its version": plan(
        GUIDE, B200, image={"tag": "latest", "runtimeVersion": "1.4.2"}, dynamoVersion="1.4.2"
    ),
    "a tag of one's own numbers, and what is inside": plan(
        GUIDE, B200, image={"repository": "registry.example/ours", "tag": "2.0.7", "runtimeVersion": "1.4.2"}
    ),
    "a tag of numbers that name no release": plan(
        GUIDE, B200, image={"tag": "2026.11"}, dynamoVersion="1.3.1"
    ),
    "a tag that says more than its version": plan(
        GUIDE, B200, image={"tag": "v1.4.2-rc.1-efa"}, dynamoVersion="1.4.2"
    ),
    "a tag without a version before 1.4": plan(GUIDE, B200, image={"tag": "latest"}, dynamoVersion="1.3.1"),
    "an image of one's own that can load GPT-OSS on 0.4": plan(
        GUIDE, B200, dynamoVersion="0.4.1", image={"repository": "registry.example.com/gpt-oss"}
    ),
    "an image that is built, of the graph's release": plan(GUIDE, B200, image={"build": BUILD}),
    "the guide's own image, built": plan(OLD_GUIDE, B200, image={"build": {"region": "us-east-1"}}),
    "the guide of 0.4 with either strategy": plan(OLD_GUIDE, B200, disaggregationStrategy="decode_first"),
    "the longest name": plan(GUIDE, B200, name="gpt-oss-120b-disaggregated"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_is_not_refused(name: str) -> None:
    assert graph_problems(ACCEPTED[name]) == []


SPLIT_BY_HAND = (OLD_GUIDE, Gpu.GB200)
"""Dynamo 0.4 has no image that transfers between nodes, and one node of GB200 has half the GPUs."""


def test_the_guide_of_0_4_fits_one_gb200_node_at_half_its_parallelism() -> None:
    half = {"tensorParallel": 2, "expertParallel": 2}
    assert graph_problems(plan(OLD_GUIDE, GB200, prefill=half, decode=half)) == []


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_every_target_is_accepted_as_published_on_each_of_its_gpus(target: Target) -> None:
    for instance in INSTANCE_TYPES.values():
        fits = instance.gpu in (target.gpus or (None,)) and instance.arch in target.archs
        if fits and (instance.gpus >= 4 or not target.gpus) and (target.name, instance.gpu) != SPLIT_BY_HAND:
            assert graph_problems(plan(target.name, instance.name, 2)) == []


def test_a_platform_older_than_the_graph_is_refused() -> None:
    newer = plan(GUIDE, B200, dynamoVersion="1.3.1")

    def on(platform: Version) -> list[str]:
        return list(release_problems(replace(newer, operation=replace(newer.operation, platform=platform))))

    assert on(Version(1, 2, 1)) == [
        "platform.version: 1.2.1 is older than graph.dynamoVersion 1.3.1; use a platform of 1.3 or newer, or lower "
        "graph.dynamoVersion"
    ]
    assert on(Version(1, 3, 0)) == on(Version(1, 6, 1)) == []


def test_a_further_graph_is_named_by_its_own_key() -> None:
    (problem,) = graph_problems(plan(GUIDE, B200, key="graphs[1]", decode={"maxBatchSize": 256}))
    assert problem.startswith("graphs[1].decode.maxBatchSize: 256 is above 128")


def test_a_role_that_the_target_lacks_is_refused() -> None:
    assert graph_problems(plan(GUIDE, B200, worker={"replicas": 2})) == [
        "graph.worker: target trtllm-disagg-b200 has no such role; its roles are decode, prefill"
    ]
