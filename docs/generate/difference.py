"""What a difference from a source is, and between which targets. Pure."""

from dataclasses import dataclass

OLD_GUIDE = "trtllm-disagg-b200-0.4"
TRTLLM_GUIDES = ("trtllm-disagg-b200", OLD_GUIDE)
GUIDES = ("vllm-disagg-h100", "sglang-disagg-h100", *TRTLLM_GUIDES)
RECIPES = ("trtllm-agg-gb200", "trtllm-disagg-8k")
AGENTIC_AGGREGATED = ("vllm-agg-agentic-b200", "vllm-agg-agentic-h200")
AGENTIC_DISAGGREGATED = ("vllm-disagg-agentic-b200", "vllm-disagg-agentic-h200")
AGENTIC = AGENTIC_AGGREGATED + AGENTIC_DISAGGREGATED
MOCKER = ("mocker-disagg-cpu",)
EVERY = GUIDES + RECIPES + AGENTIC + MOCKER


@dataclass(frozen=True, kw_only=True)
class Difference:
    """items: flags, variables, fields, or `file: key` of an engine file, as source or graph spell them."""

    items: tuple[str, ...]
    targets: tuple[str, ...]
    ours: str
    reason: str
