"""What workers register, by engine, release and strategy: the names that the released packages write."""

import pytest

from facts.engines import Role
from targets.registration import component_names
from tests.plans import resolved

PREFILL, DECODE, WORKER = Role.PREFILL, Role.DECODE, Role.WORKER
REGISTERED = {
    ("trtllm-disagg-b200-0.4", "0.4.1", None): {PREFILL: "tensorrt_llm", DECODE: "tensorrt_llm_next"},
    ("trtllm-disagg-b200-0.4", "0.4.1", "decode_first"): {
        PREFILL: "tensorrt_llm_next",
        DECODE: "tensorrt_llm",
    },
    ("trtllm-disagg-b200", "1.2.1", None): {PREFILL: "prefill", DECODE: "tensorrt_llm"},
    ("trtllm-agg-gb200", "1.2.1", None): {WORKER: "tensorrt_llm"},
    ("vllm-disagg-h100", "0.4.1", None): {PREFILL: "prefill", DECODE: "backend"},
    ("sglang-disagg-h100", "1.2.1", None): {PREFILL: "prefill", DECODE: "backend"},
    ("mocker-disagg-cpu", "1.2.1", None): {PREFILL: "prefill", DECODE: "backend"},
}


@pytest.mark.parametrize(("target", "version", "chain"), REGISTERED, ids=map(str, REGISTERED))
def test_workers_register_under_these_names(target: str, version: str, chain: str | None) -> None:
    plan = resolved(target, dynamoVersion=version, disaggregationStrategy=chain)
    assert component_names(plan) == REGISTERED[target, version, chain]
    expected = (chain or "prefill_first") if target.endswith("-0.4") else None
    assert plan.handover.strategy == expected
