"""Where graphs differ from what their sources publish, on purpose, and why: `differences.yaml`, read. Pure."""

from dataclasses import dataclass
from pathlib import Path

import yaml

_OLD_GUIDE = ("trtllm-disagg-b200-0.4",)
_TRTLLM_GUIDES = ("trtllm-disagg-b200", *_OLD_GUIDE)
_GUIDES = ("vllm-disagg-h100", "sglang-disagg-h100", *_TRTLLM_GUIDES)
_RECIPES = ("trtllm-agg-gb200", "trtllm-disagg-8k")
_AGENTIC_AGGREGATED = ("vllm-agg-agentic-b200", "vllm-agg-agentic-h200")
_AGENTIC_DISAGGREGATED = ("vllm-disagg-agentic-b200", "vllm-disagg-agentic-h200")
_AGENTIC = _AGENTIC_AGGREGATED + _AGENTIC_DISAGGREGATED
_MOCKER = ("mocker-disagg-cpu",)
EVERY = _GUIDES + _RECIPES + _AGENTIC + _MOCKER
_GROUPS = {
    "old guide": _OLD_GUIDE,
    "trtllm guides": _TRTLLM_GUIDES,
    "guides": _GUIDES,
    "recipes": _RECIPES,
    "agentic aggregated": _AGENTIC_AGGREGATED,
    "agentic disaggregated": _AGENTIC_DISAGGREGATED,
    "agentic": _AGENTIC,
    "mocker": _MOCKER,
    "every": EVERY,
    "every but the old guide": tuple(name for name in EVERY if name not in _OLD_GUIDE),
}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """items: flags, variables, fields, or `file: key` of an engine file, as source or graph spell them."""

    items: tuple[str, ...]
    targets: tuple[str, ...]
    ours: str
    reason: str


def _read(items: list[str], targets: list[str], ours: str, reason: str) -> Difference:
    names = tuple(name for each in targets for name in _GROUPS.get(each, (each,)))
    return Difference(items=tuple(items), targets=names, ours=ours, reason=reason)


_FILE = Path(__file__).with_name("differences.yaml")
DIFFERENCES = tuple(_read(**entry) for entry in yaml.safe_load(_FILE.read_text(encoding="utf-8")))
