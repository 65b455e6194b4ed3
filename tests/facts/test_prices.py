"""Prices as data, and the arithmetic on them."""

from datetime import date

import pytest

from facts.hardware import INSTANCE_TYPES
from facts.prices import PRICES, REGION, Part, cost, usd_per_million_tokens


def test_every_price_has_a_source_and_a_date() -> None:
    for unit, price in PRICES.items():
        if price is None:
            continue
        assert price.usd > 0, unit
        assert price.source, unit
        assert date.fromisoformat(price.date) <= date(2026, 12, 31), unit


def test_every_instance_type_has_a_price_or_says_that_none_is_listed() -> None:
    assert INSTANCE_TYPES.keys() <= PRICES.keys()


def test_parts_add_up() -> None:
    parts = [
        Part(name="gpu", unit="p5.48xlarge", count=2),
        Part(name="disks", unit="gp3-gib", count=730),
    ]
    priced = cost(parts, REGION, {})
    assert priced.parts == {"gpu": 110.08, "disks": 0.08}
    assert priced.usd_per_hour == 110.16
    assert priced.unknown == ()


def test_an_unknown_part_makes_the_whole_unknown() -> None:
    parts = [
        Part(name="gpu", unit="p6e-gb200.36xlarge", count=9),
        Part(name="control plane", unit="eks-cluster", count=1),
    ]
    priced = cost(parts, REGION, {})
    assert priced.usd_per_hour is None
    assert priced.known_usd_per_hour == 0.1
    assert priced.unknown == ("gpu",)


def test_what_is_not_bought_at_list_price_is_unknown() -> None:
    assert cost([Part(name="gpu", unit="p5.48xlarge", count=1, listed=False)], REGION, {}).unknown == ("gpu",)


def test_the_stacks_own_prices_win() -> None:
    part = Part(name="gpu", unit="p5.48xlarge", count=2, listed=False)
    assert cost([part], REGION, {"p5.48xlarge": 31.464}).usd_per_hour == 62.928


def test_other_regions_say_whose_prices_these_are() -> None:
    assert "us-west-2 may differ" in cost([], "us-west-2", {}).basis
    assert "may differ" not in cost([], REGION, {}).basis


def test_price_of_a_million_tokens() -> None:
    # 36 USD an hour at 1,000 tokens a second: 3.6 million tokens for 36 USD.
    assert usd_per_million_tokens(36, 1000) == pytest.approx(10)
    with pytest.raises(ValueError, match="0 output tokens per second"):
        usd_per_million_tokens(36, 0)
