"""What a change of a stack does to its price, told from the outputs of its two synths. Pure."""

from collections.abc import Mapping
from typing import Any

from stacks.cost import UNKNOWN


def price_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """`costs 15.90 → 31.80 USD/h`, or nothing where the price stays. before, after: a stack's outputs."""
    was, will = _price(before), _price(after)
    return "" if was == will else f"costs {was or 'nothing'} → {will or 'nothing'} USD/h"


def _price(outputs: Mapping[str, Any]) -> str:
    """In USD an hour; what no list knows is added as unknown. Empty for a stack that pays nothing by the hour."""
    parts = (outputs.get("cost") or {}).get("perHourByPart") or {}
    known = sum(usd for usd in parts.values() if usd != UNKNOWN)
    if not parts:
        return ""
    return f"{known:.2f} + {UNKNOWN}" if UNKNOWN in parts.values() else f"{known:.2f}"
