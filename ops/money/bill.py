"""What a stack costs by the hour and by the day, what its graphs use of its GPUs, and when it ends. Pure."""

from dataclasses import dataclass
from typing import Any

from facts.prices import Cost
from stacks.cost import UNKNOWN, cost_per_hour
from stacks.plan import StackPlan
from stacks.pools import PoolPlan
from stacks.settings import PROJECT

HOURS_PER_DAY = 24
_HOURS = {"h": 1, "d": HOURS_PER_DAY}
"""By the letter of a time to live."""


@dataclass(frozen=True, kw_only=True)
class Use:
    """GPUs of a pool that graphs use, of those that its nodes have. graphs: their names."""

    pool: PoolPlan
    used: int
    graphs: tuple[str, ...]

    @property
    def gpus(self) -> int:
        """GPUs of all its nodes, which are paid whole."""
        return self.pool.pool.gpus

    def __str__(self) -> str:
        nodes = self.pool.pool.nodes
        who = (
            f"graph{'s' if len(self.graphs) > 1 else ''} {', '.join(self.graphs)}"
            if self.graphs
            else "no graph"
        )
        verb = "use" if len(self.graphs) > 1 else "uses"
        where = f"of {nodes} nodes" if nodes > 1 else "of 1 node"
        return f"{who} {verb} {self.used} of {self.gpus} GPUs {where} ({self.pool.pool.instance.name})"


def uses(plan: StackPlan) -> list[Use]:
    """Of every pool with GPUs, the main one first."""
    found = []
    for each in plan.pools:
        if each.pool.instance.gpus:
            graphs = [graph for graph in plan.graphs if graph.pool.name == each.pool.name]
            found.append(
                Use(
                    pool=each,
                    used=sum(graph.gpus for graph in graphs),
                    graphs=tuple(graph.name for graph in graphs),
                )
            )
    return found


def price(priced: Cost) -> str:
    """By the hour and by the day; with what is unknown, by name, where something is."""
    hour = priced.known_usd_per_hour
    whole = f"{hour:,.2f} USD an hour, {HOURS_PER_DAY * hour:,.2f} USD a day"
    return whole if not priced.unknown else f"{whole}, and what {', '.join(priced.unknown)} costs: {UNKNOWN}"


def how_to_price(priced: Cost, plan: StackPlan) -> str | None:
    """The line of a stack file that gives what has no price one; None where nothing lacks one."""
    if not priced.unpriced:
        return None
    known = {**plan.billing.prices, **dict.fromkeys(priced.unpriced, "USD")}
    prices = ", ".join(f"{unit}: {usd}" for unit, usd in known.items())
    return (
        f"No list says what {', '.join(priced.unpriced)} costs as it is bought here. Write its price an hour, as it "
        f"was offered to you, in place of USD, below `config:` of the stack file:\n  {PROJECT}:prices: {{ {prices} }}"
    )


def end(plan: StackPlan, stack: str, priced: Cost) -> str:
    """When the stack ends by itself and what it costs until then, or how to have it end. stack: its name."""
    asked = plan.billing.tags.end
    if asked is None:
        return (
            f"nothing ends it but `make down STACK={stack}`; a line `{PROJECT}:tags: {{ ttl: 24h }}` in "
            f"Pulumi.{stack}.yaml scales its GPU nodes to 0 after a day"
        )
    hours = int(asked[:-1]) * _HOURS[asked[-1]]
    until = "" if priced.unknown else f", by when it has cost {hours * priced.known_usd_per_hour:,.2f} USD"
    return f"its GPU nodes are scaled to 0 after {asked} (tags.ttl){until}"


def as_data(plan: StackPlan) -> dict[str, Any]:
    """The same for programs; USD, and null where a price is unknown."""
    priced = cost_per_hour(plan)
    used = [
        {
            "pool": each.pool.pool.name,
            "instance": each.pool.pool.instance.name,
            "nodes": each.pool.pool.nodes,
            "gpus": each.gpus,
            "used": each.used,
            "graphs": list(each.graphs),
        }
        for each in uses(plan)
    ]
    if priced is None:
        return {"perHour": 0.0, "perDay": 0.0, "perHourByPart": {}, "unpriced": [], "gpus": used, "basis": ""}
    hour = priced.usd_per_hour
    return {
        "perHour": hour,
        "perDay": None if hour is None else round(HOURS_PER_DAY * hour, 4),
        "perHourByPart": dict(priced.parts),
        "unpriced": list(priced.unpriced),
        "gpus": used,
        "basis": priced.basis,
    }
