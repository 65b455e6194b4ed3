"""`timeline`: a simulated rollout of a stack as a table and as pictures, in our order and in the published one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ops.pulumi import stack_config
from stacks.cost import hourly_of_main_pool
from stacks.load import from_text
from targets.timeline import Assumptions, Rollout, assume, our_order, published_order, table

_GPU_COLOUR, _CPU_COLOUR = "#c44e52", "#4c72b0"
_SIMULATED = "simulated from assumptions, not measured"


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Both orders of one stack's main graph. local_copy: whether its workers copy the weights to their nodes.

    usd_per_hour: list price of its pool, None where it is unknown. further_pools: how many pools are not shown.
    """

    stack: str
    further_pools: int
    assumptions: Assumptions
    ours: Rollout
    published: Rollout
    local_copy: bool
    usd_per_hour: float | None

    def text(self) -> str:
        """The table, with what it rests on."""
        assumed = self.assumptions
        main_pool = f" (main pool; {self.further_pools} further not shown)" if self.further_pools else ""
        load = f"load {assumed.load:g} min"
        if self.local_copy:
            load = f"copied at {assumed.copy_rate:g} MB/s, {load} (as without a copy: not known better)"
        return "\n".join(
            [
                f"Rollout of {self.stack}{main_pool} on a cluster that is there; {_SIMULATED}:",
                f"GPU node {assumed.gpu_boot:g} min, CPU node {assumed.cpu_boot:g} min, "
                f"platform {assumed.platform:g} min,",
                f"image {assumed.image_gb:g} GB at {assumed.image_rate:g} MB/s, "
                f"weights {assumed.weights_gb:g} GB at {assumed.weights_rate:g} MB/s, {load}",
                "",
                table(self.ours, self.published, self.usd_per_hour),
            ]
        )


def simulate(project: Path, stack: str, overrides: Iterable[str]) -> Timeline:
    """Both orders for the stack's pool. Raises Refusal for a bad override, ConfigError for a bad stack."""
    stack_file = stack_config.load(project, stack)
    plan = from_text(stack_file.config, set(stack_file.secret_keys))
    assumptions = assume(overrides)
    pool = plan.main_pool
    return Timeline(
        stack=stack,
        further_pools=len(plan.pools) - 1,
        assumptions=assumptions,
        ours=our_order(
            assumptions,
            pool.gpus,
            prepaid=plan.pools[0].capacity.kind.prepaid,
            local_copy=plan.cache.copies,
        ),
        published=published_order(assumptions, pool.gpus),
        local_copy=plan.cache.copies,
        usd_per_hour=hourly_of_main_pool(plan).usd_per_hour,
    )


def draw(timeline: Timeline, folder: Path) -> Iterator[Path]:
    """Write timeline.png and timeline.svg; yields each path. The same timeline gives the same SVG, byte by byte."""
    folder.mkdir(parents=True, exist_ok=True)
    # Fixed seeds and dates: what is committed or compared must not change by itself.
    with matplotlib.rc_context({"svg.hashsalt": "timeline", "svg.fonttype": "none"}):
        figure = _figure(timeline)
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            path = folder / f"timeline.{suffix}"
            figure.savefig(path, metadata=metadata)
            yield path


def _figure(timeline: Timeline) -> Figure:
    figure = Figure(figsize=(11, 5.6), dpi=120, layout="constrained")
    axes = figure.subplots(2, 1, sharex=True)
    for axis, rollout in zip(axes, (timeline.ours, timeline.published), strict=True):
        _bars(axis, rollout, timeline.usd_per_hour)
    axes[0].set_xlim(0, max(timeline.ours.first_token, timeline.published.first_token) * 1.02)
    axes[1].set_xlabel(f"minutes since the cluster is there ({_SIMULATED})")
    pool = " (main pool)" if timeline.further_pools else ""
    figure.suptitle(f"{timeline.stack}{pool}: GPU time paid before the first token", fontweight="bold")
    figure.legend(
        handles=[
            Patch(color=_CPU_COLOUR, label="without GPUs"),
            Patch(color=_GPU_COLOUR, label="GPUs paid"),
        ],
        loc="outside lower right",
        ncols=2,
        frameon=False,
    )
    return figure


def _bars(axis: Axes, rollout: Rollout, usd_per_hour: float | None) -> None:
    axis.axvspan(rollout.gpus_from, rollout.first_token, color=_GPU_COLOUR, alpha=0.12, linewidth=0)
    for row, step in enumerate(rollout.steps):
        minutes = step.end - step.start
        axis.barh(
            row, minutes, left=step.start, color=_GPU_COLOUR if step.on_gpus else _CPU_COLOUR, height=0.7
        )
        axis.text(step.start + minutes / 2, row, f"{minutes:.0f}", ha="center", va="center", color="white")
    axis.set_yticks(range(len(rollout.steps)), [step.name for step in rollout.steps])
    axis.invert_yaxis()
    axis.spines[["top", "right"]].set_visible(False)
    paid = f"{rollout.paid_gpu_minutes:.0f} GPU-minutes paid"
    if usd_per_hour is not None:
        paid += f" ({(rollout.first_token - rollout.gpus_from) / 60 * usd_per_hour:.0f} USD)"
    axis.set_title(
        f"{rollout.name}: first token after {rollout.first_token:.0f} min, {paid}", loc="left", fontsize=10
    )
