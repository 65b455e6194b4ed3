"""What a stack costs, as its page shows it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure.report import number
from ops.cost import cost_data
from ops.money.bill import end, how_to_price, uses
from stacks.cost import UNKNOWN, cost_per_hour
from stacks.plan import StackPlan


@dataclass(frozen=True, kw_only=True)
class CostPart:
    """A part of the price. share: of the known sum, from 0 to 100."""

    name: str
    usd: str
    share: float


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What a stack costs. parts: empty for one that makes nothing that is paid. per_million: a sentence."""

    parts: tuple[CostPart, ...]
    hour: str
    day: str
    uses: tuple[str, ...]
    notes: tuple[str, ...]
    per_million: str


def bill(project: Path, path: str, stack: str, plan: StackPlan) -> Bill:
    """path: the stack as it was asked for. stack: its name alone."""
    priced, used = cost_per_hour(plan), tuple(sentence(str(use)) for use in uses(plan))
    data = cost_data(project, path)
    per_million = _per_million(data)
    if priced is None:
        nothing = "Nothing of it is paid by the hour: its cluster and GPU nodes are there already."
        return Bill(parts=(), hour="0", day="0", uses=used, notes=(nothing,), per_million=per_million)
    known = priced.known_usd_per_hour
    missing = how_to_price(priced, plan)
    plus = f" + {UNKNOWN}" if priced.unknown else ""
    return Bill(
        parts=tuple(
            CostPart(
                name=name,
                usd=UNKNOWN if usd is None else f"{usd:,.4f}",
                share=0.0 if usd is None or not known else 100 * usd / known,
            )
            for name, usd in priced.parts.items()
        ),
        hour=f"{known:,.2f}{plus}",
        day=f"{24 * known:,.2f}{plus}",
        uses=used,
        notes=tuple(filter(None, (sentence(priced.basis), missing, sentence(end(plan, stack, priced))))),
        per_million=per_million,
    )


def sentence(words: str) -> str:
    """The words with a capital and a full stop."""
    return f"{words[0].upper()}{words[1:]}."


def _per_million(data: dict[str, Any]) -> str:
    usd = data["perMillionOutputTokens"]
    if data["tokensPerSecond"] is None:
        return "A million output tokens: unknown until a benchmark has run."
    rate = f"{number(data['tokensPerSecond'])} tokens/s ({data['measured']})"
    if not data["perHour"] and usd is None:
        why = (
            "no price, for nothing of the stack is paid"
            if data["perHour"] == 0
            else f"{UNKNOWN}, for the price is"
        )
        return f"A million output tokens: {why}; measured were {rate}."
    return f"A million output tokens: {usd:,.4f} USD at {rate}."
