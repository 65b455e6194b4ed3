"""What a change of a stack does to its price."""

from typing import Any

import pytest

from ops.diff.price_change import price_change
from stacks.cost import UNKNOWN


def paying(**parts: float | str) -> dict[str, Any]:
    return {"cost": {"perHourByPart": parts}}


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (paying(nodes=15.9), paying(nodes=31.8), "costs 15.90 → 31.80 USD/h"),
        (paying(nodes=15.9), paying(other=15.9), ""),
        (paying(nodes=15.901), paying(nodes=15.899), ""),
        (paying(a=1.0, b=2.5), paying(a=1.0), "costs 3.50 → 1.00 USD/h"),
        ({}, paying(nodes=2.0), "costs nothing → 2.00 USD/h"),
        (paying(nodes=2.0), {"cost": {}}, "costs 2.00 → nothing USD/h"),
        (paying(a=1.0), paying(a=1.0, block=UNKNOWN), "costs 1.00 → 1.00 + unknown USD/h"),
        ({}, {}, ""),
    ],
)
def test_only_another_price_is_told(before: dict[str, Any], after: dict[str, Any], text: str) -> None:
    assert price_change(before, after) == text
