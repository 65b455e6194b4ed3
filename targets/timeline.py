"""A rollout's steps on a clock, in our order and in the published one: what GPU time is paid before the first token.

Pure. A simulation from stated assumptions, no measurement.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from graphlib import TopologicalSorter

from targets.assumptions import COPY_RATES, MIRROR_RATE, SOURCES, Assumptions, Sourced
from targets.capacity import CapacityKind


class Copy(StrEnum):
    """Where workers have a copy of the weights on their own node."""

    POD = "pod"
    """Each pod makes its own before it loads."""
    NODE = "node"
    """One for all, made while the node pulls images."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What of a stack decides its rollout."""

    gpus: int
    """Of the pool that is shown."""
    capacity: CapacityKind = CapacityKind.ON_DEMAND
    """How they are bought."""
    parallel_pull: bool = False
    """Whether GPU nodes pull images in parallel."""
    mirror: bool = False
    """Whether they pull from ECR in their region."""
    cache: str = "class"
    """The kind of cache, as `cache.kind` says it."""
    copy: Copy | None = None
    """Where a copy of the weights is made, None where engines load from the cache."""
    cache_rate: float | None = None
    """MB/s that the cache was bought with, None where none was."""

    def assumptions(self) -> Assumptions:
        """The defaults for such a stack."""
        return replace(Assumptions(), **{name: each.value for name, each in self._own().items()})

    def sources(self) -> dict[str, str]:
        """Where each of them is from, by field."""
        return SOURCES | {name: each.source for name, each in self._own().items()}

    def _own(self) -> dict[str, Sourced]:
        """What such a stack has another default of than others."""
        if self.cache_rate is not None:
            own = {"copy_rate": Sourced(self.cache_rate, "what the stack's cache is sold with")}
        else:
            own = {"copy_rate": COPY_RATES[self.cache]}
        return own | ({"parallel_image_rate": MIRROR_RATE} if self.mirror else {})


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a rollout. start, end: minutes. on_gpus: whether it runs on GPU nodes, or is their boot."""

    name: str
    start: float
    end: float
    on_gpus: bool


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """Steps by start. gpus: how many are paid for from the first step on GPU nodes on."""

    name: str
    steps: tuple[Step, ...]
    gpus: int

    @property
    def first_token(self) -> float:
        """Minutes until the graph can answer."""
        return max(step.end for step in self.steps)

    @property
    def gpus_from(self) -> float:
        """Minute from which GPUs are paid."""
        return min(step.start for step in self.steps if step.on_gpus)

    @property
    def paid_minutes(self) -> float:
        """Minutes for which GPUs are paid before the first token."""
        return self.first_token - self.gpus_from

    @property
    def paid_gpu_minutes(self) -> float:
        """The same, counted for each GPU."""
        return self.gpus * self.paid_minutes


_GPU_STEPS = ("scale up", "GPU nodes", "image pull", "weights copy", "model load")
_WEIGHTS_FIRST: dict[str, tuple[str, ...]] = {
    "CPU nodes": (),
    "platform": ("CPU nodes",),
    "download": ("CPU nodes",),
    "GPU nodes": ("platform", "download"),
    "image pull": ("GPU nodes",),
    "model load": ("image pull",),
}
_PREPARED_BLOCK: dict[str, tuple[str, ...]] = {
    **_WEIGHTS_FIRST,
    "scale up": ("platform", "download"),
    "GPU nodes": ("scale up",),
}
"""A block begins when everything else is there, and is paid from then on."""
_PREPAID: dict[str, tuple[str, ...]] = {
    "CPU nodes": (),
    "GPU nodes": (),
    "platform": ("CPU nodes",),
    "download": ("CPU nodes",),
    "image pull": ("GPU nodes",),
    "model load": ("image pull", "platform", "download"),
}
_PUBLISHED: dict[str, tuple[str, ...]] = {
    "GPU nodes": (),
    "platform": ("GPU nodes",),
    "download": ("platform",),
    "image pull": ("download",),
    "model load": ("image pull",),
}
"""Order of the published guides, each step by hand after the one before; all of it on the GPU nodes."""


def our_order(assumptions: Assumptions, setting: Setting, *, prepared: bool = True) -> Rollout:
    """The order in which this program deploys.

    What is bought by the hour waits for the weights; a reservation is paid already and waits for nothing; a Capacity
    Block begins when all else is there, or (prepared: False) together with it.
    """
    if setting.capacity is CapacityKind.CAPACITY_BLOCK and prepared:
        steps = _PREPARED_BLOCK
    else:
        steps = _PREPAID if setting.capacity.prepaid else _WEIGHTS_FIRST
    if setting.copy is Copy.NODE:
        copied = {"weights copy": ("GPU nodes", "download")}
        steps = {**steps, **copied, "model load": (*steps["model load"], "weights copy")}
    elif setting.copy is Copy.POD:
        steps = {**steps, "weights copy": steps["model load"], "model load": ("weights copy",)}
    minutes = _minutes(assumptions) | {"model load": load_minutes(assumptions, setting)}
    if setting.parallel_pull:
        minutes["image pull"] = assumptions.parallel_pull
    return Rollout(name="this program", steps=_schedule(steps, minutes, _GPU_STEPS), gpus=setting.gpus)


def published_order(assumptions: Assumptions, gpus: int) -> Rollout:
    """The order of the published guides, which load from a shared file system."""
    steps = _schedule(_PUBLISHED, _minutes(assumptions), tuple(_PUBLISHED))
    return Rollout(name="published guides", steps=steps, gpus=gpus)


def load_minutes(assumptions: Assumptions, setting: Setting) -> float:
    """Minutes from an engine's start to Ready: local where there is a copy, else as fast as the cache."""
    if setting.copy:
        return assumptions.local_load
    if setting.cache_rate:
        return assumptions.copy + assumptions.local_load
    return assumptions.load


def restart_minutes(setting: Setting) -> float:
    """Minutes until an engine answers that starts anew on a node that has its image. A copy of the node is there."""
    assumed = setting.assumptions()
    return (assumed.copy if setting.copy is Copy.POD else 0.0) + load_minutes(assumed, setting)


def new_nodes_minutes(setting: Setting, rounds: int) -> float:
    """Minutes until a graph answers again whose nodes are made anew, in so many rounds one after the other."""
    a_round = our_order(setting.assumptions(), replace(setting, capacity=CapacityKind.ON_DEMAND)).paid_minutes
    return rounds * a_round - (rounds - 1) * restart_minutes(setting)


def share(assumptions: Assumptions, setting: Setting, *, prepared: bool = True) -> float:
    """Our paid GPU time as a part of the published order's."""
    ours = our_order(assumptions, setting, prepared=prepared)
    return ours.paid_minutes / published_order(assumptions, setting.gpus).paid_minutes


def sensitivity(assumptions: Assumptions, setting: Setting) -> dict[str, tuple[float, float]]:
    """Our paid minutes by assumption, with it halved and with it doubled; what moves them most comes first."""
    minutes = {
        name: (
            our_order(replace(assumptions, **{name: value / 2}), setting).paid_minutes,
            our_order(replace(assumptions, **{name: value * 2}), setting).paid_minutes,
        )
        for name, value in asdict(assumptions).items()
    }
    return dict(sorted(minutes.items(), key=lambda each: (-abs(each[1][1] - each[1][0]), each[0])))


def paid_usd(rollout: Rollout, usd_per_hour: float | None) -> float | None:
    """What is paid for the GPU nodes before the first token. usd_per_hour: of all of them, None where unknown."""
    return None if usd_per_hour is None else rollout.paid_minutes / 60 * usd_per_hour


def table(ours: Rollout, published: Rollout, usd_per_hour: float | None) -> str:
    """Both orders as text. usd_per_hour: price of all the GPUs together, None where it is unknown."""
    lines = [f"{'':18}{'starts':>8}{'ends':>8}  minutes"]
    for rollout in (ours, published):
        lines.append(f"{rollout.name} ({rollout.gpus} GPUs)")
        lines += [
            f"  {step.name:16}{step.start:8.1f}{step.end:8.1f}  {'GPUs paid' if step.on_gpus else ''}".rstrip()
            for step in rollout.steps
        ]
        lines.append(f"  {'first token':16}{'':8}{rollout.first_token:8.1f}")
        paid = f"  paid before it: {rollout.paid_gpu_minutes:.0f} GPU-minutes"
        if (usd := paid_usd(rollout, usd_per_hour)) is not None:
            paid += f", {usd:.0f} USD"
        lines.append(paid)
    part = ours.paid_minutes / published.paid_minutes
    lines.append(f"this program pays {part:.0%} of the published order's GPU time before the first token")
    return "\n".join(lines)


def _minutes(assumptions: Assumptions) -> dict[str, float]:
    """By step, as the published guides have it."""
    return {
        "CPU nodes": assumptions.cpu_boot,
        "scale up": assumptions.scale_up,
        "GPU nodes": assumptions.gpu_boot,
        "platform": assumptions.platform,
        "download": assumptions.download,
        "image pull": assumptions.pull,
        "weights copy": assumptions.copy,
        "model load": assumptions.load,
    }


def _schedule(
    after: Mapping[str, tuple[str, ...]], minutes: Mapping[str, float], on_gpus: tuple[str, ...]
) -> tuple[Step, ...]:
    done: dict[str, Step] = {}
    for name in TopologicalSorter(after).static_order():
        start = max((done[earlier].end for earlier in after[name]), default=0.0)
        done[name] = Step(name=name, start=start, end=start + minutes[name], on_gpus=name in on_gpus)
    return tuple(sorted(done.values(), key=lambda step: (step.start, step.end, step.name)))
