"""A user's argument that the command line has already is refused, whatever the engine."""

from typing import Any

import pytest

from manifests.graph.workers import worker_command
from stacks.settings import ConfigError
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from tests import plans
from tests.parsers import native


def plan(target: str, graph: dict[str, Any]) -> GraphPlan:
    return plans.graph(target, cluster={"kind": "existing"}, graph=graph)


@pytest.mark.parametrize(
    ("target", "section", "argument", "remedy"),
    [
        ("trtllm-disagg-b200", "frontend", "--http-port=9000", "leave it out"),
        ("trtllm-disagg-b200", "frontend", "--router-mode=kv", "use graph.frontend.routerMode"),
        ("vllm-disagg-h100", "prefill", "--kv-transfer-config={}", "leave it out"),
        ("vllm-disagg-h100", "decode", "--kv_transfer_config={}", "leave it out"),
        ("vllm-agg-agentic-h200", "worker", "--no-enable-prefix-caching", "leave it out"),
        ("sglang-disagg-h100", "prefill", "--host=127.0.0.1", "leave it out"),
        ("sglang-disagg-h100", "decode", "--disaggregation-bootstrap-port=1", "leave it out"),
        ("mocker-disagg-cpu", "decode", "--speedup-ratio=2", "leave it out"),
        ("vllm-disagg-h100", "decode", "-tp=2", "use graph.decode.tensorParallel"),
        ("vllm-disagg-h100", "decode", "--tensor-par=2", "use graph.decode.tensorParallel"),
        ("vllm-disagg-h100", "decode", "-pp=2", "use graph.decode.pipelineParallel"),
        ("vllm-disagg-h100", "decode", "--no-enable-chunked-prefill", "use graph.decode.chunkedPrefill"),
        ("vllm-disagg-h100", "decode", "--gpu-memory-utilization=0.5", "use graph.decode.freeGpuMemoryFraction"),
        ("vllm-disagg-h100", "decode", "--kv-transfer-config.kv_role=kv_both", "leave it out"),
        ("vllm-disagg-h100", "decode", "--is-prefill-worker", "leave it out"),
        ("vllm-agg-agentic-h200", "worker", "--disaggregation-mode=decode", "leave it out"),
        ("vllm-disagg-agentic-b200", "decode", "-sc={}", "leave it out"),
        ("sglang-disagg-h100", "decode", "--tensor-parallel-size=2", "use graph.decode.tensorParallel"),
        ("sglang-disagg-h100", "decode", "--pipeline-parallel-size=2", "use graph.decode.pipelineParallel"),
        ("sglang-disagg-h100", "decode", "--chunked-prefill-size=512", "use graph.decode.chunkedPrefill"),
        ("sglang-disagg-h100", "decode", "--model=/tmp", "leave it out"),
        ("trtllm-disagg-b200", "decode", "--model-path=/tmp", "leave it out"),
        ("trtllm-disagg-b200", "decode", "--model=/tmp", "leave it out"),
        ("trtllm-disagg-8k", "decode", "--tensor-parallel-size=8", "use graph.decode.tensorParallel"),
        ("trtllm-disagg-8k", "decode", "--max-batch-size=8", "use graph.decode.maxBatchSize"),
        (
            "trtllm-disagg-b200-0.4",
            "prefill",
            "--disaggregation-strategy=decode_first",
            "use graph.disaggregationStrategy",
        ),
    ],
)  # fmt: skip
def test_what_is_set_already_is_refused(target: str, section: str, argument: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        plan(target, {section: {"extraArgs": [argument]}})
    flag = argument.split("=", maxsplit=1)[0]
    assert str(refusal.value) == (
        f"dynamo-gpt-oss:graph.{section}.extraArgs: {flag!r} is set already; {remedy}"
    )


@pytest.mark.parametrize(
    ("target", "section", "arguments"),
    [
        ("trtllm-disagg-b200", "frontend", ["--metrics-prefix", "http-port"]),
        ("trtllm-disagg-b200", "decode", ["--max-beam-width", "1"]),
        ("trtllm-disagg-b200", "decode", ["--trtllm.max_batch_size", "-1"]),
        ("vllm-disagg-h100", "decode", ["--quantization", "mxfp4", "-ep"]),
        ("sglang-disagg-h100", "decode", ["--schedule-conservativeness", "-.5"]),
        # The mocker has the flag, and no knob has a meaning for it.
        ("mocker-disagg-cpu", "decode", ["--gpu-memory-utilization", "0.5"]),
    ],
)
def test_what_nothing_says_is_handed_on(target: str, section: str, arguments: list[str]) -> None:
    plan(target, {section: {"extraArgs": arguments}})


def test_one_mistake_is_one_line() -> None:
    with pytest.raises(ConfigError) as refusal:
        plan("vllm-disagg-h100", {"prefill": {"extraArgs": ["--model", "a", "--model=b"]}})
    assert (
        str(refusal.value) == "dynamo-gpt-oss:graph.prefill.extraArgs: '--model' is set already; leave it out"
    )


@pytest.mark.parametrize("arguments", [["-tp", "2"], ["--kv-transfer-config", "{}"]])
def test_a_value_may_be_a_word_of_its_own(arguments: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"graph\.prefill\.extraArgs: '-.*' is set already"):
        plan("vllm-disagg-h100", {"prefill": {"extraArgs": arguments}})


SAID = {"--tensor-parallel-size", "--pipeline-parallel-size", "--tp-size", "--pp-size", "--model-path"}
"""Flags of several spellings that a graph or a knob says."""
SPELLINGS = [
    (target, spelling)
    for target, flags in (("vllm-disagg-h100", native.VLLM), ("sglang-disagg-h100", native.SGLANG))
    for flag in flags
    if SAID & {*flag.names}
    for spelling in flag.names
]


@pytest.mark.parametrize(("target", "spelling"), SPELLINGS)
def test_every_spelling_of_the_engines_parsers_is_refused(target: str, spelling: str) -> None:
    with pytest.raises(ConfigError, match=f"'{spelling}' is set already"):
        plan(target, {"prefill": {"extraArgs": [spelling, "2"]}})


@pytest.mark.parametrize(
    ("target", "arguments"),
    [
        ("vllm-disagg-h100", ["--data-parallel-size", "2"]),
        ("vllm-disagg-h100", ["-dp", "2"]),
        ("vllm-disagg-h100", ["--data_parallel_size=2"]),
        ("sglang-disagg-h100", ["--dp-size", "2"]),
        ("sglang-disagg-h100", ["--data-parallel-size", "2"]),
        ("sglang-disagg-h100", ["--base-gpu-id", "4"]),
    ],
)
def test_a_worker_of_one_pod_takes_no_neighbour_s_gpus(target: str, arguments: list[str]) -> None:
    word = arguments[0].split("=")[0]
    said = {"dynamoVersion": "1.4.2", "decode": {"extraArgs": arguments}}
    with pytest.raises(ConfigError) as refusal:
        plan(target, said)
    assert str(refusal.value) == (
        f"dynamo-gpt-oss:graph.decode.extraArgs: {word!r} takes GPUs of other workers, which transport 'pod' has in "
        "one pod; use graph.decode.replicas for more workers or graph.decode.tensorParallel for larger ones"
    )
    plan(target, {**said, "transport": "node"})


def test_attention_is_spread_over_the_worker_s_own_gpus() -> None:
    arguments = ["--dp-size", "4", "--enable-dp-attention"]
    plan("sglang-disagg-h100", {"dynamoVersion": "1.4.2", "decode": {"extraArgs": arguments}})


@pytest.mark.parametrize("target", TARGETS)
def test_no_command_line_says_an_argument_twice(target: str) -> None:
    graph = plan(target, {})
    for planned in graph.workers:
        flags = [word for word in worker_command(graph, planned).args if word.startswith("--")]
        assert sorted(flags) == sorted(set(flags))
