"""The page of a stack as records: what its template shows, worked out from the plan and from what is on disk."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from measure.report import moment
from ops import timeline as rollouts
from ops.kept import Kept, last, path_of
from ops.money.bill import uses
from ops.pulumi import stack_config
from ops.report import drawing
from ops.report.benchmarks import Benchmarks, benchmarks
from ops.report.bill import Bill, bill, sentence
from ops.report.rollout import last_up
from ops.report.settings import settings
from ops.report.topology import topology
from ops.rollout import measured, picture
from ops.stack.on_embedded import is_embedded
from pages.svg import svg
from pages.tiles import Tile
from pods.verification.results import OK
from stacks.cost import UNKNOWN
from stacks.load import from_text
from stacks.plan import StackPlan

RUNS = Path("out", "bench")
"""In the project, as `ops bench` writes them."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A drawing for wide pages and for phones. sentences: what is said below it, warnings apart."""

    wide: Markup
    narrow: Markup
    sentences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The last `up` that had something to do. simulated: what of it is not real."""

    picture: Picture
    simulated: str


@dataclass(frozen=True, kw_only=True)
class Timelines:
    """assumed: both orders, simulated from assumptions. measured: None where no `up` was kept.

    compared: what happened beside what was assumed, None where nothing of it is known.
    """

    assumed: Picture
    measured: Measured | None
    compared: Measured | None


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What `ops verify` found last. checks: name, outcome, seconds, what it saw and what to do."""

    time: str
    simulated: str
    good: int
    verdict: str
    ok: bool
    checks: tuple[tuple[str, str, str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Page:
    """All that the template shows.

    simulated: whether its cluster is the embedded one. written: when, in UTC. links: files by name, from the page's
    folder.
    """

    stack: str
    title: str
    simulated: bool
    written: str
    tiles: tuple[Tile, ...]
    topology: Picture
    timeline: Timelines
    bill: Bill
    benchmarks: Benchmarks | None
    verification: Verification | None
    settings: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]


def page(project: Path, stack: str, folder: Path) -> Page:
    """The page that is going to stand in the folder. Raises StackFileError and ConfigError."""
    file = stack_config.load(project, stack)
    plan = from_text(file.config, set(file.secret_keys))
    name, simulated = file.stack, is_embedded(plan, project)
    rollout = rollouts.simulate(project, stack, [])
    runs = benchmarks(name, project / RUNS, folder)
    cost, checked = bill(project, stack, name, plan), _verification(last(Kept.VERIFY, name, project))
    return Page(
        stack=name,
        title=plan.target.title,
        simulated=simulated,
        written=moment(datetime.now(UTC).isoformat()),
        tiles=tuple(_tiles(plan, rollout, cost, runs, checked)),
        topology=_topology(name, plan, embedded=simulated),
        timeline=Timelines(
            assumed=_assumed(rollout),
            measured=_measured(last(Kept.UP, name, project)),
            compared=_compared(measured.of_kept(rollout, project)),
        ),
        bill=cost,
        benchmarks=runs,
        verification=checked,
        settings=tuple(settings(plan)),
        links=tuple(_links(project, name, folder)),
    )


def _topology(stack: str, plan: StackPlan, *, embedded: bool) -> Picture:
    drawn = topology(stack, plan, embedded=embedded)
    paths = {graph.name: graph.kv_path for graph in plan.graphs}
    several = len(paths) > 1
    said = {
        name: f"{name}: {path.sentence}." if several else sentence(path.sentence)
        for name, path in paths.items()
    }
    return Picture(
        wide=svg(drawing.wide(drawn)),
        narrow=svg(drawing.narrow(drawn)),
        sentences=tuple(said[name] for name, path in paths.items() if not (path.slow or path.unverified)),
        warnings=tuple(said[name] for name, path in paths.items() if path.slow or path.unverified),
    )


def _assumed(rollout: rollouts.Timeline) -> Picture:
    share = (
        rollout.ours.paid_gpu_minutes / rollout.published.paid_gpu_minutes if rollout.published.gpus else None
    )
    sentences = [] if share is None else [
        f"This program pays {share:.0%} of the GPU time that the published order pays before the first token."
    ]  # fmt: skip
    if rollout.further_pools:
        sentences.append(f"Main pool alone; {rollout.further_pools} further not shown.")
    sentences.append("Assumed: " + " ".join(rollout.rests_on) + ". Making a new cluster comes before that.")
    return Picture(
        wide=rollouts.on_page(rollout, narrow=False),
        narrow=rollouts.on_page(rollout, narrow=True),
        sentences=tuple(sentences),
    )


def _measured(found: dict[str, Any] | None) -> Measured | None:
    if found is None:
        return None
    took = f"{found['seconds']:.0f} s" if found["seconds"] < 180 else f"{found['seconds'] / 60:.1f} min"
    sentences = (
        f"Ready after {took}, {moment(found['time'])}.",
        "A row begins when it was first seen; the cluster was looked at every two seconds.",
    )
    wide, narrow = (last_up(found, narrow=narrow) for narrow in (False, True))
    return Measured(
        picture=Picture(wide=wide, narrow=narrow, sentences=sentences), simulated=found["simulated"]
    )


def _compared(found: measured.Measured | None) -> Measured | None:
    if found is None:
        return None
    wide, narrow = (picture.on_page(found, narrow=narrow) for narrow in (False, True))
    return Measured(
        picture=Picture(wide=wide, narrow=narrow, sentences=tuple(found.verdict())), simulated=found.simulated
    )


def _verification(found: dict[str, Any] | None) -> Verification | None:
    if found is None:
        return None
    checks = found["checks"]
    outcomes = Counter(check["outcome"] for check in checks)
    return Verification(
        time=moment(found["time"]),
        simulated=found["simulated"],
        good=outcomes[OK],
        verdict=", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()),
        ok=bool(found["ok"]),
        checks=tuple(
            (
                check["name"],
                check["outcome"],
                f"{check['seconds']:.2f}",
                " ".join(filter(None, (check["detail"], check["meaning"], check["next_step"]))),
            )
            for check in checks
        ),
    )


def _tiles(
    plan: StackPlan,
    rollout: rollouts.Timeline,
    cost: Bill,
    runs: Benchmarks | None,
    checked: Verification | None,
) -> Iterator[Tile]:
    """The answers to what one asks first."""
    pools = uses(plan)
    used, bought = sum(use.used for use in pools), sum(use.gpus for use in pools)
    kinds = ", ".join(dict.fromkeys(str(use.pool.pool.instance.gpu) for use in pools))
    if bought:
        free = f"{bought - used} GPUs are paid and unused" if used < bought else "none is left unused"
        value = f"{used} of {bought}"
        yield Tile(label="GPUs used", value=value, unit=kinds, note=free, warning=used < bought / 2)
    else:
        yield Tile(label="GPUs used", value="none", note="engines are SIMULATED by Dynamo's mocker")
    known = cost.hour.removesuffix(f" + {UNKNOWN}")
    if known != cost.hour:
        note = f"{known} USD/h without GPU nodes that no list prices; see Cost"
        yield Tile(label="Price", value=UNKNOWN, note=note, warning=True)
    else:
        note = f"{cost.day} USD a day" if cost.parts else "the cluster is there already"
        yield Tile(label="Price", value=known, unit="USD/h", note=note)
    minutes = f"{rollout.ours.first_token:.0f}"
    yield Tile(label="First token after", value=minutes, unit="min", note="simulated from assumptions")
    best = next((tile for tile in runs.tiles if tile.label == "Most output"), None) if runs else None
    if best is None or runs is None:
        yield Tile(label="Most output", value="–", note="not measured: no benchmark is on disk")
    else:
        note = f"SIMULATED engines, {best.note}" if runs.simulated else best.note
        yield Tile(
            label=best.label, value=best.value, unit=best.unit, note=note, warning=bool(runs.simulated)
        )
    if checked is None:
        yield Tile(label="Verified", value="–", note="no verification is on disk")
    else:
        note = f"{checked.time}{', SIMULATED engines' if checked.simulated else ''}"
        yield Tile(
            label="Verified",
            value=f"{checked.good} of {len(checked.checks)}",
            unit="ok",
            note=note,
            warning=not checked.ok,
        )


def _links(project: Path, stack: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Files of the project about the stack that are there."""
    for name, path in (
        ("Stack file", project / f"Pulumi.{stack}.yaml"),
        ("Rendered manifests", project / "out" / stack / "manifests"),
        ("All resources", project / "out" / stack / "resources.json"),
        ("Last verification", path_of(Kept.VERIFY, stack, project)),
        ("Last rollout", path_of(Kept.UP, stack, project)),
        ("Every key", project / "docs" / "configuration.md"),
        ("Operations", project / "docs" / "operations.md"),
        ("Troubleshooting", project / "docs" / "troubleshooting.md"),
    ):
        if path.exists():
            yield name, os.path.relpath(path, folder)
