"""`python -m ops reap`: take down what should be down by now, for CI and for whatever was killed.

Two things say so: a lease whose verb is gone or late (measure/lease.py), and the clock of a stack's `tags.ttl`, which
its CronJob goes by too (manifests/services/time_to_live.py).
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from pulumi.automation import StackSummary

from embedded.paths import PROJECT
from embedded.processes import Report
from manifests.services.time_to_live import deployed_end, seconds
from measure.lease import Lease, leases
from ops.deploy import deploy
from ops.pulumi import automation
from ops.pulumi.stack_file import stacks
from ops.sites import site
from ops.stack.stack import Stack, find
from targets.errors import UserError

Down = Callable[[str, bool, Report], None]
"""Takes a stack down: its name, whether it is on the embedded cluster, progress."""


class ReapError(UserError):
    """Some stacks could not be taken down, or looked at; a line each."""


def down(stack: str, embedded: bool, report: Report) -> None:
    """Take a stack down whose verb was killed. Raises as deploy.down does.

    Its graphs end first: Pulumi may have been killed before it knew of them, and
    while their pods run, the claims that they mount cannot go.
    """
    found = find(stack, embedded=embedded)
    try:
        _let_in(found, report)
        site(found, report).end_graphs()
    except UserError as error:
        report(f"no graphs were ended: {error}")  # the cluster may not be there yet, or no more
    deploy.down(found, report)


def _let_in(found: Stack, report: Report) -> None:
    """Graphs are ended through the API server, before `down` lets the caller in."""
    if found.embedded or not automation.available():
        return
    from ops.aws import let_in  # noqa: PLC0415  the embedded cluster asks nothing of AWS

    opened = automation.open_stack(PROJECT, found.full_name, report=report)
    let_in.caller(found.plan, automation.resources(opened), report)


def reap(stack: str | None, report: Report, *, take_down: Down = down) -> Iterator[str]:
    """Take down every stack that is due, or the one; yields a line for each. Raises ReapError after the last."""
    failed, seen = [], set()
    try:
        for name, embedded, why, lease in due(report):
            if stack not in (None, name) or name in seen:
                continue
            seen.add(name)
            yield f"{name}: {why}"
            try:
                take_down(name, embedded, report)
            except Exception as error:  # one stack that is stuck must not keep the others running
                failed.append(f"{name}: {error}")
            else:
                if lease:
                    lease.release()
                yield f"{name} is down"
    except ReapError as unknown:
        failed.append(str(unknown))
    if not seen and not failed:
        yield "nothing is due"
    if failed:
        raise ReapError("\n".join(failed))


def due(report: Report) -> Iterator[tuple[str, bool, str, Lease | None]]:
    """Stacks that should be down: name, whether embedded, why, the lease that says so.

    Raises ReapError after the last for those of which it cannot be known.
    """
    for lease in leases():
        if why := lease.why_over():
            yield lease.stack, lease.embedded, why, lease
    if automation.available():
        yield from _past_their_time(report)


def _past_their_time(report: Report) -> Iterator[tuple[str, bool, str, None]]:
    summaries = automation.summaries(PROJECT, report=report)
    deployed = {summary.name: summary for summary in summaries if summary.resource_count}
    unknown = []
    for name in stacks(PROJECT):
        if name not in deployed:
            continue
        try:
            end = _end(name, deployed[name])
        except UserError as error:  # one stack that cannot be read must not keep the others running
            unknown.append(f"{name}: {error}")
            continue
        if end is not None and end < datetime.now(UTC):
            yield name, False, f"its tags.ttl was over at {end:%Y-%m-%d %H:%M} UTC", None
    if unknown:
        raise ReapError("\n".join(unknown))


def _end(name: str, summary: StackSummary) -> datetime | None:
    """When the time of a deployed stack is over, None for never. Raises UserError."""
    end = deployed_end(automation.resources(automation.open_stack(PROJECT, name, report=_silent)))
    if end is not None:
        return end
    ttl, updated = find(name).plan.billing.tags.end, summary.last_update
    # An `up` that ended before the clock was there.
    return updated.astimezone(UTC) + timedelta(seconds=seconds(ttl)) if ttl and updated else None


def _silent(_: str) -> None:
    """Which backend is asked need not be repeated for every stack of it."""
