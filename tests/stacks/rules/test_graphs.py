"""Every refusal of one graph with its whole message, and the nearest config that is not refused."""

from dataclasses import replace

import pytest

from facts.hardware import INSTANCE_TYPES, Gpu
from facts.releases import Version
from stacks.rules.graphs import knob_problems, release_problems
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from targets.target import Target
from tests.plans import resolved
from tests.targets.instances import instance_names

H100, H200, B200, GB200 = "p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "p6e-gb200.36xlarge"
GUIDE, LONG, AGG = "trtllm-disagg-b200", "trtllm-disagg-8k", "trtllm-agg-gb200"
VLLM, SGLANG, MOCKER = "vllm-disagg-h100", "sglang-disagg-h100", "mocker-disagg-cpu"
AGENTIC = "vllm-disagg-agentic-b200"
OLD_GUIDE = "trtllm-disagg-b200-0.4"
COMMIT = "0" * 40

REFUSED: dict[str, tuple[GraphPlan, str]] = {
    "aggregated target on x86": (
        resolved(AGG, B200),
        "pool.instanceType: p6-b200.48xlarge is amd64, but target trtllm-agg-gb200 runs only on arm64; "
        f"choose one of {instance_names(AGG)}",
    ),
    "another GPU": (
        resolved(GUIDE, H100),
        "pool.instanceType: p5.48xlarge has H100 GPUs, but target trtllm-disagg-b200 is for B200 or B300; "
        f"choose one of {instance_names(GUIDE)}",
    ),
    "no GPU": (
        resolved(GUIDE, "m7i.4xlarge"),
        "pool.instanceType: m7i.4xlarge has no GPUs, but target trtllm-disagg-b200 is for B200 or B300; "
        f"choose one of {instance_names(GUIDE)}",
    ),
    "GPUs for nothing": (
        resolved(MOCKER, H100),
        "pool.instanceType: p5.48xlarge has H100 GPUs, but target mocker-disagg-cpu is for CPU nodes; "
        f"choose one of {instance_names(MOCKER)}",
    ),
    "image of another architecture": (
        resolved(GUIDE, B200, image={"archs": ["arm64"]}),
        "graph.image.archs: [arm64] does not hold amd64, the architecture of p6-b200.48xlarge",
    ),
    "release older than the target": (
        resolved(AGENTIC, B200, dynamoVersion="1.2.1"),
        "graph.dynamoVersion: 1.2.1 cannot run target vllm-disagg-agentic-b200; use 1.3.1 or newer",
    ),
    "mocker without disaggregation": (
        resolved(MOCKER, "m7i.4xlarge", dynamoVersion="0.4.1"),
        "graph.dynamoVersion: 0.4.1 cannot run target mocker-disagg-cpu; use 1.0.2 or newer",
    ),
    "a published image that cannot load GPT-OSS": (
        resolved(GUIDE, B200, dynamoVersion="0.4.1"),
        "graph.dynamoVersion: the published image of 0.4.1 holds TensorRT-LLM 1.0.0rc6, which cannot load GPT-OSS; "
        "choose target trtllm-disagg-b200-0.4, whose image can, set graph.image.repository or graph.image.build to one "
        "that can, or use 1.0.2 or newer",
    ),
    "the guide of 0.4 on a newer release": (
        resolved(OLD_GUIDE, B200, dynamoVersion="1.0.2"),
        "graph.dynamoVersion: 1.0.2 cannot run target trtllm-disagg-b200-0.4, whose image and commands are of 0.4.1; "
        "leave it out, or choose target trtllm-disagg-b200",
    ),
    "a strategy of 0.4 on a newer release": (
        resolved(GUIDE, B200, dynamoVersion="1.0.2", disaggregationStrategy="decode_first"),
        "graph.disaggregationStrategy: 'decode_first' is for prefill and decode workers of TensorRT-LLM on Dynamo 0.4, "
        "but gpt-oss-disagg is target trtllm-disagg-b200 on 1.0.2; leave it out",
    ),
    "a strategy of another engine": (
        resolved(VLLM, H100, dynamoVersion="0.4.1", disaggregationStrategy="prefill_first"),
        "graph.disaggregationStrategy: 'prefill_first' is for prefill and decode workers of TensorRT-LLM on Dynamo "
        "0.4, but gpt-oss-disagg is target vllm-disagg-h100 on 0.4.1; leave it out",
    ),
    "EAGLE3 and disaggregation on 1.3.0": (
        resolved(AGENTIC, B200, dynamoVersion="1.3.0"),
        "graph.dynamoVersion: 1.3.0 crashes with EAGLE3 and disaggregation (known issue of 1.3.0); "
        "use 1.3.1 or newer",
    ),
    "draft of a target without one": (
        resolved(GUIDE, B200, draftRevision=COMMIT),
        "graph.draftRevision: target trtllm-disagg-b200 uses no draft model; leave it out",
    ),
    "kv routing without reuse": (
        resolved(LONG, B200, frontend={"routerMode": "kv"}),
        "graph.frontend.routerMode: 'kv' finds nothing on target trtllm-disagg-8k, whose engine files switch KV "
        "block reuse off; choose round-robin or random",
    ),
    "another chat processor": (
        resolved(VLLM, H100, frontend={"extraArgs": ["--dyn-chat-processor=vllm"]}),
        "graph.frontend.extraArgs: '--dyn-chat-processor' answers GPT-OSS requests with HTTP 500 (dynamo#14936); "
        "leave it out, the default processor parses harmony",
    ),
    "etcd's address": (
        resolved(GUIDE, B200, decode={"env": {"ETCD_ENDPOINTS": "http://etcd:2379"}}),
        "graph.decode.env: 'ETCD_ENDPOINTS' is not allowed: discovery is the platform's choice and a fixed address "
        "breaks it (dynamo PR#12070)",
    ),
    "the token in an environment": (
        resolved(GUIDE, B200, frontend={"env": {"HF_TOKEN": "hf_x", "NATS_SERVER": "nats://x"}}),
        "graph.frontend.env: 'HF_TOKEN' is not allowed: a token there is readable in the graph; use "
        "huggingFace.token\n"
        "graph.frontend.env: 'NATS_SERVER' is not allowed: the operator sets it",
    ),
    "GPUs by environment": (
        resolved(GUIDE, B200, prefill={"env": {"CUDA_VISIBLE_DEVICES": "0,1,2,3"}}),
        "graph.prefill.env: 'CUDA_VISIBLE_DEVICES' is not allowed: the graph says which GPUs a worker sees",
    ),
    "an address of the frontend's own, as an argument": (
        resolved(GUIDE, B200, frontend={"extraArgs": ["--http-host", "127.0.0.1"]}),
        "graph.frontend.extraArgs: '--http-host' takes the frontend off the address that Service and probes ask; leave "
        "it out",
    ),
    "an address of the frontend's own": (
        resolved(GUIDE, B200, frontend={"env": {"DYN_HTTP_HOST": "127.0.0.1", "DYN_HTTP_PORT": "80"}}),
        "graph.frontend.env: 'DYN_HTTP_HOST' is not allowed: Service and probes reach the frontend on the address of "
        "its pod; leave it out\n"
        "graph.frontend.env: 'DYN_HTTP_PORT' is not allowed: Service, probes and verification ask the frontend's port "
        "8000; leave it out",
    ),
    "a port that nobody asks": (
        resolved(GUIDE, B200, decode={"env": {"DYN_SYSTEM_PORT": "9999"}}),
        "graph.decode.env: 'DYN_SYSTEM_PORT' is not allowed: probes and monitoring ask the port that the graph says; "
        "leave it out",
    ),
    "a variable that is gone": (
        resolved(VLLM, H100, dynamoVersion="1.4.2", decode={"env": {"VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8": "1"}}),
        "graph.decode.env: 'VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8' does nothing on Dynamo 1.4.2, whose vLLM does not "
        "know it; use extraArgs: --moe-backend flashinfer_trtllm --quantization-config "
        '\'{"moe":{"activation":"mxfp8"}}\'',
    ),
    "another graph's namespace": (
        resolved(GUIDE, B200, prefill={"env": {"DYN_NAMESPACE": "dynamo"}}),
        "graph.prefill.env: 'DYN_NAMESPACE' is not allowed: the operator sets it; graphs that share one would see "
        "each other's workers",
    ),
    "name too long": (
        resolved(GUIDE, B200, name="gpt-oss-120b-disaggregated-b"),
        "graph.name: 'gpt-oss-120b-disaggregated-b' has 28 characters; at most 26 leave room for the component's "
        "name in Grove's pod names",
    ),
    "name too long for workers that span nodes": (
        resolved(GUIDE, B200, 4, name="gpt-oss-120b-disaggregated-b", prefill={"nodes": 2}, decode={"nodes": 2}),
        "graph.name: 'gpt-oss-120b-disaggregated-b' has 28 characters; at most 27 leave room for the component's "
        "name in Grove's pod names",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_this_message(name: str) -> None:
    refused, message = REFUSED[name]
    assert "\n".join(knob_problems(refused)) == message


ACCEPTED = {
    "aggregated target on its hardware": resolved(AGG, GB200),
    "EAGLE3 and disaggregation on 1.3.1": resolved(AGENTIC, B200, dynamoVersion="1.3.1"),
    "an argument that is not set": resolved(GUIDE, B200, decode={"extraArgs": ["--max-beam-width", "1"]}),
    "an image of one's own that can load GPT-OSS on 0.4": resolved(
        GUIDE, B200, dynamoVersion="0.4.1", image={"repository": "registry.example.com/gpt-oss"}
    ),
    "the guide of 0.4 with either strategy": resolved(OLD_GUIDE, B200, disaggregationStrategy="decode_first"),
    "the longest name": resolved(GUIDE, B200, name="gpt-oss-120b-disaggregated"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_is_not_refused(name: str) -> None:
    assert knob_problems(ACCEPTED[name]) == []


SPLIT_BY_HAND = (OLD_GUIDE, Gpu.GB200)
"""Dynamo 0.4 has no image that transfers between nodes, and one node of GB200 has half the GPUs."""


def test_the_guide_of_0_4_fits_one_gb200_node_at_half_its_parallelism() -> None:
    half = {"tensorParallel": 2, "expertParallel": 2}
    assert knob_problems(resolved(OLD_GUIDE, GB200, prefill=half, decode=half)) == []


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_every_target_is_accepted_as_published_on_each_of_its_gpus(target: Target) -> None:
    for instance in INSTANCE_TYPES.values():
        fits = instance.gpu in (target.gpu_models or (None,)) and instance.arch in target.archs
        if (
            fits
            and (instance.gpus >= 4 or not target.gpu_models)
            and (target.name, instance.gpu) != SPLIT_BY_HAND
        ):
            assert knob_problems(resolved(target.name, instance.name, 2)) == []


def test_a_platform_older_than_the_graph_is_refused() -> None:
    newer = resolved(GUIDE, B200, dynamoVersion="1.3.1")

    def on(platform: Version) -> list[str]:
        return list(release_problems(replace(newer, operation=replace(newer.operation, platform=platform))))

    assert on(Version(1, 2, 1)) == [
        "platform.version: 1.2.1 is older than graph.dynamoVersion 1.3.1; use a platform of 1.3 or newer, or lower "
        "graph.dynamoVersion"
    ]
    assert on(Version(1, 3, 0)) == on(Version(1, 6, 1)) == []


def test_a_further_graph_is_named_by_its_own_key() -> None:
    (problem,) = knob_problems(resolved(GUIDE, B200, key="graphs[1]", decode={"maxBatchSize": 256}))
    assert problem.startswith("graphs[1].decode.maxBatchSize: 256 is above 128")


def test_a_role_that_the_target_lacks_is_refused() -> None:
    assert knob_problems(resolved(GUIDE, B200, worker={"replicas": 2})) == [
        "graph.worker: target trtllm-disagg-b200 has no such role; its roles are decode, prefill"
    ]
