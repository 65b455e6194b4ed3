"""`cost`: what a stack costs by the hour, and for a million output tokens once it was measured."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from facts.kubernetes_support import support_note
from facts.prices import Cost, usd_per_million_tokens
from measure.results import METRIC, newest
from ops.money.bill import HOURS_PER_DAY, as_data, how_to_price, uses
from ops.pulumi import stack_config
from stacks.cost import UNKNOWN, cost_per_hour, hourly_of_main_graph
from stacks.load import from_text
from stacks.plan import StackPlan
from stacks.sections.cluster import NewEksClusterSettings


def cost(project: Path, stack: str) -> list[str]:
    """The lines of the table. Raises StackFileError and ConfigError."""
    plan = _plan(project, stack)
    priced = cost_per_hour(plan)
    if priced is None:
        return [
            f"{stack} makes nothing that is paid by the hour: its cluster and GPU nodes are there already",
            *map(str, uses(plan)),
        ]
    day = f"{HOURS_PER_DAY * priced.known_usd_per_hour:.2f}{f' + {UNKNOWN}' if priced.unknown else ''} USD a day"
    missing = how_to_price(priced, plan)
    return [
        *_parts(priced),
        "",
        day,
        *map(str, uses(plan)),
        f"({priced.basis})",
        *([missing] if missing else []),
        *_support(plan),
        _per_token(project, stack, plan, hourly_of_main_graph(plan) or priced),
    ]


def cost_data(project: Path, stack: str) -> dict[str, Any]:
    """The same for programs, in USD; null where it is unknown. Raises as above."""
    plan = _plan(project, stack)
    hourly = hourly_of_main_graph(plan)
    measured, source = _measured(project, stack, plan)
    usd = None if hourly is None else hourly.usd_per_hour
    return {
        "stack": stack,
        **as_data(plan),
        "tokensPerSecond": measured,
        "measured": source if measured is not None else "",
        "perMillionOutputTokens": None
        if usd is None or measured is None
        else round(usd_per_million_tokens(usd, measured), 4),
    }


def _plan(project: Path, stack: str) -> StackPlan:
    stack_file = stack_config.load(project, stack)
    return from_text(stack_file.config, set(stack_file.secret_keys))


def _support(plan: StackPlan) -> list[str]:
    """What there is to do about the cluster's Kubernetes release, while there is something."""
    cluster = plan.cluster
    if not isinstance(cluster, NewEksClusterSettings):
        return []
    note = support_note(cluster.version, datetime.now(UTC).date(), extended=cluster.extended_support)
    return [note] if note else []


def _parts(priced: Cost) -> list[str]:
    rows = [(name, _usd(usd)) for name, usd in priced.parts.items()]
    total = _usd(priced.usd_per_hour)
    if priced.unknown:
        total = f"{_usd(priced.known_usd_per_hour)} + {UNKNOWN}"
    rows.append(("in all", total))
    width, digits = (max(len(row[column]) for row in rows) for column in (0, 1))
    return [f"{name:<{width}}  {usd:>{digits}} USD/h" for name, usd in rows]


def _measured(project: Path, stack: str, plan: StackPlan) -> tuple[float | None, str]:
    """Output tokens a second of the main graph, and where that is from."""
    last = newest(stack, project / "out" / "bench")
    if last is None:
        return plan.billing.measured_tokens_per_second, "measuredTokensPerSecond of the stack's config"
    source = f"best point of {last.folder.relative_to(project)}"
    if last.run.simulated:
        source += f"; SIMULATED: {last.run.simulated}"
    means = (last.band(METRIC["throughput"], concurrency) for concurrency in last.concurrencies)
    return max(found.mean for found in means if found is not None), source


def _per_token(project: Path, stack: str, plan: StackPlan, priced: Cost) -> str:
    measured, source = _measured(project, stack, plan)
    if measured is None:
        return f"A million output tokens: {UNKNOWN}; no benchmark of {stack} has run"
    if priced.usd_per_hour is None:
        missing = ", ".join(priced.unknown)
        return f"A million output tokens: {UNKNOWN}; set the stack's `prices` for {missing}"
    usd = usd_per_million_tokens(priced.usd_per_hour, measured)
    without = " without further pools" if len(plan.pools) > 1 else ""
    return f"A million output tokens: {usd:.4f} USD{without} at {measured:.0f} tokens/s ({source})"


def _usd(usd: float | None) -> str:
    return UNKNOWN if usd is None else f"{usd:.4f}"
