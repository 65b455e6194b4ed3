"""`timeline`: a simulated rollout of a stack as a table and as pictures, in our order and in the published one."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from facts.prices import Cost
from ops.money.bill import how_to_price
from ops.pulumi import stack_config
from pages.figures import INK, STYLE, inline
from pages.palette import PALETTE
from stacks.cost import hourly_of_main_pool
from stacks.load import from_text
from stacks.rollout import setting
from targets.assumptions import Assumptions, assume, name_of
from targets.capacity import CapacityKind
from targets.timeline import (
    Rollout,
    Setting,
    load_minutes,
    our_order,
    paid_usd,
    published_order,
    sensitivity,
    share,
    table,
)

_GPU_COLOUR, _CPU_COLOUR, _ON_COLOUR = (PALETTE[name].light for name in ("paid", "unpaid", "on-colour"))
_SIZE, _NARROW = (10.5, 5.4), (4.7, 6.8)
"""Inches."""
_SIMULATED = "simulated from assumptions, not measured"
_VISIBLE = 0.05
"""Minutes: what one decimal shows."""
_NAMES = {"published guides": "published guides, step by step"}


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Both orders of one stack's main graph. setting: what of the stack decides them.

    priced: what its pool costs. how_to_price: what to write where that is unknown. further_pools: how many are not
    shown.
    """

    stack: str
    further_pools: int
    assumptions: Assumptions
    setting: Setting
    ours: Rollout
    published: Rollout
    priced: Cost
    how_to_price: str | None

    @property
    def usd_per_hour(self) -> float | None:
        """Of the pool, None where it is unknown."""
        return self.priced.usd_per_hour

    @property
    def moved(self) -> dict[str, tuple[float, float]]:
        """Our paid minutes with each assumption halved and doubled, if that moves them; most comes first."""
        now = self.ours.paid_minutes
        return {
            name_of(name): minutes
            for name, minutes in sensitivity(self.assumptions, self.setting).items()
            if any(abs(each - now) >= _VISIBLE for each in minutes)
        }

    @property
    def sources(self) -> dict[str, str]:
        """Where each assumption is from, by field."""
        given, usual = asdict(self.assumptions), asdict(self.setting.assumptions())
        return {
            name: source if given[name] == usual[name] else "--assume"
            for name, source in self.setting.sources().items()
        }

    def data(self) -> dict[str, Any]:
        """For programs; minutes, and USD where the price is known."""
        return {
            "stack": self.stack,
            "simulated": _SIMULATED,
            "assumptions": asdict(self.assumptions),
            "sources": self.sources,
            "usdPerHour": self.usd_per_hour,
            "orders": [
                {
                    "name": rollout.name,
                    "steps": [asdict(step) for step in rollout.steps],
                    "firstToken": rollout.first_token,
                    "gpus": rollout.gpus,
                    "paidGpuMinutes": rollout.paid_gpu_minutes,
                    "paidUsd": paid_usd(rollout, self.usd_per_hour),
                }
                for rollout in (self.ours, self.published)
            ],
            "shareOfPublished": share(self.assumptions, self.setting),
            "sensitivity": [
                {"assumption": name, "halved": halved, "doubled": doubled}
                for name, (halved, doubled) in self.moved.items()
            ],
        }

    def text(self) -> str:
        """The table, with what it rests on and what would move it."""
        main_pool = f" (main pool; {self.further_pools} further not shown)" if self.further_pools else ""
        return "\n".join(
            [
                f"Rollout of {self.stack}{main_pool} on a cluster that is there; {_SIMULATED}:",
                *self.rests_on,
                "",
                table(self.ours, self.published, self.usd_per_hour),
                *self._unprepared(),
                *self._sensitivity(),
                *self._sourced(),
                *([self.how_to_price] if self.how_to_price else []),
            ]
        )

    @property
    def rests_on(self) -> list[str]:
        """The assumptions, in three lines."""
        assumed = self.assumptions
        ours = load_minutes(assumed, self.setting)
        load = f"{assumed.load:g} min from a shared file system"
        if ours != assumed.load:
            where = "a copy on the node" if self.setting.copy else "Lustre"
            load = f"{ours:.3g} min from {where}; the guides: {load}"
        load = f"load {load}"
        in_parallel = f" ({assumed.parallel_image_rate:g} in parallel)" if self.setting.parallel_pull else ""
        if self.setting.copy:
            load = f"copied to a node at {assumed.copy_rate:g} MB/s, {load}"
        return [
            f"GPU node {assumed.gpu_boot:g} min, CPU node {assumed.cpu_boot:g} min, platform {assumed.platform:g} min,",
            f"image {assumed.image_gb:g} GB at {assumed.image_rate:g} MB/s{in_parallel}, "
            f"weights {assumed.weights_gb:g} GB at {assumed.weights_rate:g} MB/s,",
            load,
        ]

    def _unprepared(self) -> Iterator[str]:
        """What a block costs that nothing was made ready for."""
        if self.setting.capacity is not CapacityKind.CAPACITY_BLOCK:
            return
        late = our_order(self.assumptions, self.setting, prepared=False)
        part = share(self.assumptions, self.setting, prepared=False)
        yield (
            "the block begins when all else is there (`up --wait-for-block`); begun together with it, "
            f"{late.paid_gpu_minutes:.0f} GPU-minutes are paid, {part:.0%}"
        )

    def _sensitivity(self) -> Iterator[str]:
        """A line an assumption, what moves the paid minutes most first."""
        yield f"{'paid minutes with one assumption':33}{'halved':>8}{'doubled':>9}"
        for name, (halved, doubled) in self.moved.items():
            yield f"  {name:31}{halved:8.1f}{doubled:9.1f}"

    def _sourced(self) -> Iterator[str]:
        """A line an assumption, with where it is from."""
        yield "assumptions (min, GB, MB/s) and where they are from"
        values = asdict(self.assumptions)
        for name, source in self.sources.items():
            yield f"  {name_of(name):20}{values[name]:6.4g}  {source}"


def simulate(project: Path, stack: str, overrides: Iterable[str]) -> Timeline:
    """Both orders for the stack's pool. Raises Refusal for a bad override, ConfigError for a bad stack."""
    stack_file = stack_config.load(project, stack)
    plan = from_text(stack_file.config, set(stack_file.secret_keys))
    decided = setting(plan)
    assumptions = assume(overrides, decided.assumptions())
    priced = hourly_of_main_pool(plan)
    return Timeline(
        stack=stack,
        further_pools=len(plan.pools) - 1,
        assumptions=assumptions,
        setting=decided,
        ours=our_order(assumptions, decided),
        published=published_order(assumptions, decided.gpus),
        priced=priced,
        how_to_price=how_to_price(priced, plan),
    )


def draw(timeline: Timeline, folder: Path) -> Iterator[Path]:
    """Write timeline.png and timeline.svg; yields each path. The same timeline gives the same SVG, byte by byte."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.style.context(STYLE):
        figure = _figure(timeline, _SIZE)
        pool = " (main pool)" if timeline.further_pools else ""
        title = f"{timeline.stack}{pool}: GPU time paid before the first token"
        figure.suptitle(title, x=0.01, horizontalalignment="left", fontweight="bold")
        # Fixed seeds and dates: what is committed or compared must not change by itself.
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            path = folder / f"timeline.{suffix}"
            figure.savefig(path, metadata=metadata)
            yield path


def on_page(timeline: Timeline, *, narrow: bool) -> Markup:
    """The picture to stand in a page, as wide as the page or as a phone."""
    with mpl.style.context([STYLE, {"font.size": 10}]):
        figure = _figure(timeline, _NARROW if narrow else _SIZE)
        return inline(figure, f"timeline-{'narrow' if narrow else 'wide'}", f"Rollout, {_SIMULATED}")


_LETTERS_OF_A_LINE = 40
"""Where fewer find room, a title has a line more."""


def _figure(timeline: Timeline, size: tuple[float, float]) -> Figure:
    figure = Figure(figsize=size, dpi=120, layout="constrained")
    axes = figure.subplots(2, 1, sharex=True)
    minutes = 1.06 * max(timeline.ours.first_token, timeline.published.first_token)
    for axis, rollout in zip(axes, (timeline.ours, timeline.published), strict=True):
        axis.set_xlim(0, minutes)
        _bars(axis, rollout, timeline.usd_per_hour, letters=size[0] * 4.5)
    axes[1].set_xlabel("minutes since the cluster is there; simulated")
    figure.legend(
        handles=[
            Patch(color=_CPU_COLOUR, label="without GPUs"),
            Patch(color=_GPU_COLOUR, label="GPUs paid"),
            Line2D([], [], color=INK, linestyle=":", label="first token"),
        ],
        loc="outside upper right",
        ncols=3,
        frameon=False,
        columnspacing=1.2,
        handlelength=1.4,
    )
    return figure


def _bars(axis: Axes, rollout: Rollout, usd_per_hour: float | None, letters: float) -> None:
    """letters: how many are about as wide as the axis, which tells whether a label fits its bar."""
    axis.axvspan(rollout.gpus_from, rollout.first_token, color=_GPU_COLOUR, alpha=0.12, linewidth=0)
    axis.axvline(rollout.first_token, color=INK, linestyle=":")
    for row, step in enumerate(rollout.steps):
        minutes = step.end - step.start
        axis.barh(
            row, minutes, left=step.start, color=_GPU_COLOUR if step.on_gpus else _CPU_COLOUR, height=0.7
        )
        label = f"{minutes:.1f}".removesuffix(".0") + " min"
        width, gap = (len(label) + 1) / letters * axis.get_xlim()[1], axis.get_xlim()[1] / 100
        if minutes > width:
            where, side, colour = step.start + minutes / 2, "center", _ON_COLOUR
        elif step.end + width > rollout.first_token and step.start > width:
            where, side, colour = (
                step.start - gap,
                "right",
                INK,
            )  # else the line of the first token is in its way
        else:
            where, side, colour = step.end + gap, "left", INK
        axis.text(where, row, label, ha=side, va="center", color=colour)
    axis.set_yticks(range(len(rollout.steps)), [step.name for step in rollout.steps])
    axis.tick_params(axis="y", length=0)
    axis.invert_yaxis()
    paid = f"{rollout.paid_gpu_minutes:.0f} GPU-minutes paid"
    if (usd := paid_usd(rollout, usd_per_hour)) is not None:
        paid += f" ({usd:.0f} USD)"
    first = f"first token after {rollout.first_token:.0f} min,"
    if any(step.name == "scale up" for step in rollout.steps):
        first = f"first token {rollout.paid_minutes:.0f} min after the block begins,"
    said = [f"{first} {paid}"] if letters > _LETTERS_OF_A_LINE else [first, paid]
    axis.set_title("\n".join([f"{_NAMES.get(rollout.name, rollout.name)}:", *said]), loc="left", fontsize=10)
