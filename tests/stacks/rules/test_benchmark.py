"""Loads that a graph cannot take."""

import pytest

from manifests.benchmark.job import published_shapes
from stacks.rules.benchmark import shape_problems
from targets.catalogue import TARGETS
from tests.plans import graph


def test_a_prompt_longer_than_sequence_and_transfer_buffer_is_refused_for_both() -> None:
    plan = graph("trtllm-disagg-8k", cluster={"kind": "existing"})
    assert list(shape_problems(plan, published_shapes()["32000/256"]))[:2] == [
        "benchmark.shape: 32000/256 makes sequences of 32000 tokens for prefill workers, which take 9000; choose a "
        "shorter one, or raise graph.prefill.maxSeqLen",
        "benchmark.shape: 32000/256 has prompts of 32000 tokens, but prefill workers of the target hand over at most "
        "9216 (max_tokens_in_buffer); a longer one blocks for ever (dynamo#4327)",
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_takes_its_own_shape(target: str) -> None:
    assert not list(shape_problems(graph(target, cluster={"kind": "existing"}), TARGETS[target].benchmark))
