"""`timeline --measured`: what really happened beside the simulation, as text and as data."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from embedded import cluster
from embedded.paths import PROJECT, STATE
from manifests.kubectl import Kubectl
from ops.kept import Kept, last
from ops.rollout.comparison import Comparison, Difference, assumptions_of, compare
from ops.rollout.observed import Observed
from ops.rollout.observer import CHECK, Observer, kept
from ops.rollout.phases import BLOCK, Answer, Happened, happened
from ops.stack.cluster import EmbeddedCluster, reach
from ops.stack.place import find_deployed
from ops.stack.stack import Stack
from ops.timeline import Timeline
from ops.watch.look import Look
from targets.errors import UserError

_WIDTH = 14


class NothingMeasuredError(UserError):
    """Nothing is known of a rollout; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """simulated: what of what happened is not real. note: why the cluster was not looked at now."""

    stack: str
    comparison: Comparison
    simulated: str
    note: str = ""

    def text(self) -> str:
        """A line a step, the largest difference first, and what follows from it."""
        found = self.comparison.happened
        simulated = f"; simulated: {self.simulated}" if self.simulated else ""
        return "\n".join(
            [
                f"Rollout of {self.stack} as it happened{simulated}; minutes since {found.began_with}, "
                f"{found.began:%Y-%m-%d %H:%M:%S} UTC:",
                f"  {'':{_WIDTH}}{'assumed':>9}{'measured':>10}{'difference':>12}",
                *(line for each in self.comparison.differences for line in _lines(each, found)),
                *self._ends(),
                *self.verdict(),
                *([self.note] if self.note else []),
            ]
        )

    def _ends(self) -> Iterator[str]:
        both = self.comparison
        assumed = both.assumed_ready
        ready = "unknown" if both.ready is None else _figure(both.ready)
        yield f"  {'ready':{_WIDTH}}{assumed:9.1f}{ready:>10}  the frontend lists the model"
        answered = both.happened.answered
        if answered and both.first_token is not None:
            yield f"  {'first answer':{_WIDTH}}{'':9}{_figure(both.first_token):>10}  {answered.source}"
        else:
            yield f"  {'first answer':{_WIDTH}}{'':9}{'unknown':>10}  no verification was seen to get one"
        if both.paid_gpu_minutes is not None:
            since = "" if both.happened.of_block else " at least (since the first GPU node joined)"
            yield (
                f"  paid before it was ready: {both.paid_gpu_minutes:.0f} GPU-minutes{since}, "
                f"{both.simulated.paid_gpu_minutes:.0f} assumed"
            )

    def verdict(self) -> Iterator[str]:
        """Which assumption was most wrong, and which values would have been right."""
        if worst := self.comparison.most_wrong:
            assert worst.measured is not None
            yield (
                f"Most wrong: {self.comparison.assumptions[worst.name].name}: "
                f"{worst.name} took {_figure(worst.measured.minutes)} min, {worst.assumed:.1f} assumed."
            )
        if better := list(self.comparison.better()):
            yield f"As it was measured: {' '.join(f'--assume {each}' for each in better)}"

    def data(self) -> dict[str, Any]:
        """For programs: minutes since the begin, each with its source."""
        both, found = self.comparison, self.comparison.happened
        worst = both.most_wrong
        return {
            "stack": self.stack,
            "simulated": self.simulated,
            "began": found.began.isoformat(),
            "beganWith": found.began_with,
            "phases": [_data(each, found.began) for each in both.differences],
            "ready": both.ready,
            "firstAnswer": None
            if found.answered is None
            else {"minutes": both.first_token, "source": found.answered.source},
            "assumedFirstToken": both.assumed_ready,
            "paidGpuMinutes": {"measured": both.paid_gpu_minutes, "assumed": both.simulated.paid_gpu_minutes},
            "mostWrong": both.assumptions[worst.name].name if worst else None,
            "assume": list(both.better()),
            "note": self.note,
        }


def _figure(minutes: float) -> str:
    """Short ones with their seconds."""
    return f"{minutes:.1f}" if minutes >= 1 else f"{minutes:.2f}"


def _lines(each: Difference, found: Happened) -> Iterator[str]:
    assumed = "–" if each.assumed is None else f"{each.assumed:.1f}"
    if each.measured is None:
        yield f"  {each.name:{_WIDTH}}{assumed:>9}{'unknown':>10}{'':12}  {each.why}"
        return
    gap = "" if each.minutes is None else f"{each.minutes:+.1f}"
    bound = f" ({each.measured.bound})" if each.measured.bound else ""
    before = f"; before {BLOCK}" if found.of_block and each.measured.end <= found.began else ""
    source = f"{each.measured.source}{bound}{before}"
    yield f"  {each.name:{_WIDTH}}{assumed:>9}{_figure(each.measured.minutes):>10}{gap:>12}  {source}"
    if each.measured.parts:
        parts = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in each.measured.parts)
        yield f"  {'':{_WIDTH}}{'':31}  of it, as the engine says: {parts}"


def _data(each: Difference, began: datetime) -> dict[str, Any]:
    phase = each.measured
    shared = {"name": each.name, "assumed": each.assumed, "difference": each.minutes}
    if phase is None:
        return {**shared, "measured": None, "source": None, "unknown": each.why}
    start, end = ((at - began).total_seconds() / 60 for at in (phase.start, phase.end))
    return {
        **shared,
        "measured": phase.minutes,
        "start": start,
        "end": end,
        "bound": phase.bound.value,
        "source": phase.source,
        "partsSeconds": dict(phase.parts),
    }


def measure(simulated: Timeline, stack: str, state: Path = STATE) -> Measured:
    """Look at the stack, add what was kept of it, and lay it beside the simulation. Raises NothingMeasuredError."""
    found, note = find_deployed(stack), ""
    observer = Observer()
    try:
        look(found, observer, state)
    except UserError as error:
        note = f"The cluster was not looked at: {error}"
    observer.keep(found, PROJECT)
    measured = of_kept(simulated, PROJECT)
    if measured is None:
        raise NothingMeasuredError(
            f"--measured: nothing is known of a rollout of {stack}; `{found.command('up')}` makes one. {note}".strip()
        )
    return Measured(stack=stack, comparison=measured.comparison, simulated=measured.simulated, note=note)


def of_kept(simulated: Timeline, project: Path) -> Measured | None:
    """From what earlier looks knew alone; None where that is nothing."""
    seen = kept(simulated.stack, project)
    phases = happened(seen, _answer(seen, simulated.stack, project))
    if phases is None:
        return None
    written = last(Kept.ROLLOUT, simulated.stack, project) or {}
    return Measured(
        stack=simulated.stack,
        comparison=compare(simulated.ours, phases, assumptions_of(simulated.assumptions, simulated.setting)),
        simulated=written.get("simulated", ""),
    )


def look(stack: Stack, observer: Observer, state: Path = STATE) -> None:
    """One look at the stack, its platform and its logs. Raises the error of kubectl."""
    with reach(stack, state=state) as reached:
        if isinstance(reached, EmbeddedCluster):
            if not cluster.is_running(state):
                raise cluster.ClusterError("the embedded cluster is not running: start it with `make up`")
            Look(reached.kubectl, stack.namespace, logs=False, observe=observer)()
            return
        kubectl = reached.kubectl.impatient()
        Look(kubectl, stack.namespace, logs=False, observe=observer)()
        if stack.plan.platform.install:
            with suppress(UserError):
                observer(_deployments(kubectl, stack.plan.platform.namespace))
        observer.read_logs(kubectl, stack.namespace)


def _deployments(kubectl: Kubectl, namespace: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(
        kubectl("get", "deployments", f"--namespace={namespace}", "--output=json")
    )["items"]
    return listed


def _answer(seen: Observed, stack: str, project: Path) -> Answer | None:
    """The earlier of the first that the verification in the cluster got, and of the last that `ops verify` got."""
    checks = [line.at for line in seen.lines.values() if (hit := CHECK.match(line.text)) and hit[1] == "ok"]
    answers = [
        Answer(at=at, source="the verification's first conversation, its whole answer") for at in checks
    ]
    verified = (last(Kept.VERIFY, stack, project) or {}).get("answered")
    made = min((graph.created for graph in seen.graphs.values()), default=None)
    if verified and made and (at := datetime.fromisoformat(verified)) > made:
        answers.append(
            Answer(at=at, source="the first conversation of the last `ops verify`, its whole answer")
        )
    return min(answers, key=lambda each: each.at, default=None)
