"""What is shown of a stack that comes up: a row a subject, the same on a terminal and in a file. Pure."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from manifests.names import DOWNLOAD_JOB
from ops.watch.made import Made
from ops.watch.money import minutes_left, nodes_of, spent
from ops.watch.pods import Pod, Stage
from ops.watch.reasons import Reason
from ops.watch.snapshot import Job, Snapshot
from stacks.plan import StackPlan

_VERIFY = "-verify"
_SINGLE_ROWS = 12
"""Pods that have a row of their own at most; GB200 systems have dozens."""
_CHECK = re.compile(r"^(ok|warning|failed|skipped|not tried)\s+(\S.*?)\s+\d+\.\d+ s")
"""A line of the verification gate."""
_BYTES = re.compile(r"([\d.]+ of [\d.]+ GB(?:, [\d.]+ MB/s)?)")
"""In a line of the download."""


class Mark(Enum):
    """What a row's subject is."""

    DONE = "done"
    GOING = "going"
    STUCK = "stuck"
    PLAIN = "plain"


@dataclass(frozen=True, kw_only=True)
class Row:
    """subject: what it is about, one row each. detail: what changes all the time, which a file is spared.

    since: when what `text` says began.
    """

    subject: str
    mark: Mark
    text: str
    detail: str = ""
    since: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class View:
    """Everything at one moment."""

    at: datetime
    rows: tuple[Row, ...]
    reasons: tuple[Reason, ...]


def view(
    found: Snapshot, why: tuple[Reason, ...], plan: StackPlan, *, embedded: bool, made: Made | None = None
) -> View:
    """The rows in the order in which a stack comes up. made: resources of an `up` that runs."""
    stuck = {reason.of for reason in why if reason.of}
    rows = (
        *_resources(made),
        *_claims(found),
        *(_job(job, found) for job in found.jobs if not job.name.endswith(_VERIFY)),
        *_nodes(found, plan, embedded=embedded),
        *_pods(found, stuck, embedded=embedded),
        *_graphs(found),
        *(_verification(job, found) for job in found.jobs if job.name.endswith(_VERIFY)),
        *_money(found, plan, embedded=embedded),
    )
    return View(at=found.at, rows=rows, reasons=why)


def _resources(made: Made | None) -> Iterator[Row]:
    if made is not None:
        mark = Mark.DONE if made.complete else Mark.GOING
        yield Row(subject="resources", mark=mark, text="", detail=str(made))


def _claims(found: Snapshot) -> Iterator[Row]:
    for claim in found.claims:
        bound = claim.phase == "Bound"
        of = f" of class {claim.storage_class}" if claim.storage_class else ""
        yield Row(
            subject=f"claim {claim.name}",
            mark=Mark.DONE if bound else Mark.GOING,
            text=f"{claim.phase.lower()}, {claim.size}{of}",
            since=None if bound else claim.since,
        )


def _job(job: Job, found: Snapshot) -> Row:
    marks = {"Complete": Mark.DONE, "Failed": Mark.STUCK}
    mark = marks.get(job.state, Mark.GOING)
    pods = [pod for pod in found.pods if pod.of == job.name]
    text = job.state
    if mark is Mark.GOING and pods:
        text = f"{job.state}: its pod {_going(pods[-1])}"
    log = (found.logs or {}).get(job.name, ())
    amount = next((hit[1] for line in reversed(log) if (hit := _BYTES.search(line))), "")
    name = "weights" if job.name == DOWNLOAD_JOB else f"job {job.name}"
    return Row(
        subject=name,
        mark=mark,
        text=text,
        detail=amount if mark is Mark.GOING else "",
        since=job.since if mark is Mark.GOING else None,
    )


def _going(pod: Pod) -> str:
    return "downloads" if pod.stage in (Stage.LOADING, Stage.READY) else pod.stage.value


def _nodes(found: Snapshot, plan: StackPlan, *, embedded: bool) -> Iterator[Row]:
    for each in plan.pools:
        pool = each.pool
        if not pool.instance.gpus or not pool.runs or not found.nodes:
            continue
        ready = [node for node in nodes_of(pool, found) if node.ready and node.gpus]
        gpus = sum(node.gpus for node in ready)
        yield Row(
            subject=f"nodes of {pool.key}",
            mark=Mark.DONE if len(ready) >= pool.nodes else Mark.GOING,
            text=f"{len(ready)} ready of {pool.nodes} × {pool.instance.name}, {gpus} GPUs"
            + (" (simulated)" if embedded else ""),
        )


def _pods(found: Snapshot, stuck: set[str], *, embedded: bool) -> Iterator[Row]:
    """A row each, or a row a role where there are many."""
    pods = [pod for pod in found.pods if pod.role not in ("job", "pod")]
    if len(pods) <= _SINGLE_ROWS:
        yield from (_pod(pod, stuck, embedded=embedded) for pod in pods)
        return
    for of, role in dict.fromkeys((pod.of, pod.role) for pod in pods):
        stages = Counter(pod.stage for pod in pods if (pod.of, pod.role) == (of, role))
        ready = stages.total() == stages[Stage.READY]
        yield Row(
            subject=f"{role} of {of}",
            mark=Mark.DONE if ready else Mark.STUCK if of in stuck else Mark.GOING,
            text=", ".join(f"{stages[stage]} × {stage.value}" for stage in Stage if stages[stage]),
        )


def _pod(pod: Pod, stuck: set[str], *, embedded: bool) -> Row:
    mark = Mark.DONE if pod.stage is Stage.READY else Mark.GOING
    if pod.trouble and pod.of in stuck:
        mark = Mark.STUCK
    where = f" on {pod.node}" if pod.node else ""
    gpus = f", {pod.gpus} {'simulated ' if embedded else ''}GPUs" if pod.gpus else ""
    again = f", restarted {pod.restarts} times" if pod.restarts else ""
    return Row(
        subject=f"{pod.role} {pod.name}",
        mark=mark,
        text=f"{pod.stage.value}{where}{gpus}{again}",
        since=pod.since,
    )


def _graphs(found: Snapshot) -> Iterator[Row]:
    for graph in found.graphs:
        yield Row(
            subject=f"graph {graph.name}",
            mark=Mark.DONE if graph.ready else Mark.GOING,
            text="ready" if graph.ready else "not ready",
            detail="" if graph.ready else graph.message,
            since=graph.since,
        )


def _verification(job: Job, found: Snapshot) -> Row:
    marks = {"Complete": Mark.DONE, "Failed": Mark.STUCK}
    lines = (found.logs or {}).get(job.name, ())
    checks = [(hit[1], hit[2]) for line in lines if (hit := _CHECK.match(line))]
    bad = [name for outcome, name in checks if outcome == "failed"]
    said = f"{job.state}: {len(checks)} checks" if checks else job.state
    return Row(
        subject=f"verification {job.name.removesuffix(_VERIFY)}",
        mark=marks.get(job.state, Mark.GOING),
        text=f"{said}, failed {', '.join(bad)}" if bad else said,
        detail=f"last {checks[-1][1]}" if checks and job.state == "Running" else "",
        since=job.since if job.state == "Running" else None,
    )


def _money(found: Snapshot, plan: StackPlan, *, embedded: bool) -> Iterator[Row]:
    if text := spent(plan, found, embedded=embedded):
        yield Row(subject="spent", mark=Mark.PLAIN, text="", detail=text)
    left = None if embedded else minutes_left(plan, found)
    if left is not None:
        rest = f"about {left:.0f} min to the first token (an estimate, by `timeline`'s assumptions)"
        yield Row(subject="left", mark=Mark.PLAIN, text="", detail=rest)
