"""`cost`: what a stack costs by the hour, and for a million output tokens once it was measured."""

from datetime import UTC, datetime
from pathlib import Path

from facts.kubernetes_support import support_note
from facts.prices import Cost, usd_per_million_tokens
from measure.results import newest
from ops.pulumi import stack_config
from stacks.cost import UNKNOWN, cost_per_hour, hourly_of_main_graph
from stacks.load import from_text
from stacks.plan import StackPlan
from stacks.sections.cluster import NewEksClusterSettings


def cost(project: Path, stack: str) -> list[str]:
    """The lines of the table. Raises StackFileError and ConfigError."""
    stack_file = stack_config.load(project, stack)
    plan = from_text(stack_file.config, set(stack_file.secret_keys))
    priced = cost_per_hour(plan)
    if priced is None:
        return [
            f"{stack} makes nothing that is paid by the hour: its cluster and GPU nodes are there already"
        ]
    per_token = _per_token(project, stack, plan, hourly_of_main_graph(plan) or priced)
    return [*_parts(priced), "", f"({priced.basis})", *_support(plan), *per_token]


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


def _per_token(project: Path, stack: str, plan: StackPlan, priced: Cost) -> list[str]:
    measured, source = (
        plan.billing.measured_tokens_per_second,
        "measuredTokensPerSecond of the stack's config",
    )
    last = newest(stack, project / "out" / "bench")
    if last is not None:
        measured = max(point.tokens_per_second for point in last.points)
        source = f"best point of {last.folder.relative_to(project)}"
        if last.run.simulated:
            source += f"; SIMULATED: {last.run.simulated}"
    if measured is None:
        return [f"A million output tokens: {UNKNOWN}; no benchmark of {stack} has run"]
    if priced.usd_per_hour is None:
        missing = ", ".join(priced.unknown)
        return [f"A million output tokens: {UNKNOWN}; set the stack's `prices` for {missing}"]
    usd = usd_per_million_tokens(priced.usd_per_hour, measured)
    without = " without further pools" if len(plan.pools) > 1 else ""
    return [f"A million output tokens: {usd:.4f} USD{without} at {measured:.0f} tokens/s ({source})"]


def _usd(usd: float | None) -> str:
    return UNKNOWN if usd is None else f"{usd:.4f}"
