"""A rollout's steps on a clock, in our order and in the published one: what GPU time is paid before the first token.

Pure. A simulation from stated assumptions, no measurement.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from graphlib import TopologicalSorter

from facts.weights import MODEL_ID, WEIGHTS_GB
from targets.errors import Refusal


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the clock is computed from. Minutes, GB (10⁹ bytes) and MB/s; the same for every order.

    Not sourced, only plausible: the boots, the platform and the rates. The clock starts when the cluster is there.
    """

    cpu_boot: float = 2.0
    """Minutes until a CPU node is Ready."""
    gpu_boot: float = 5.0
    """Minutes until a GPU node is Ready, its devices advertised; paid from the first."""
    platform: float = 5.0
    """Minutes until operator and webhooks answer."""
    weights_gb: float = WEIGHTS_GB[MODEL_ID]
    """GB of weights."""
    weights_rate: float = 30.0
    """MB/s from Hugging Face into the cache (36 min); the published recipe allows an hour, which is 18 MB/s."""
    image_gb: float = 21.0
    """GB of the runtime image; TensorRT-LLM's (dynamo PR#1796)."""
    image_rate: float = 50.0
    """MB/s of pulling and unpacking it."""
    copy_rate: float = 250.0
    """MB/s from the cache into the local copy of each worker, all at the same time; for stacks that copy."""
    load: float = 22.5
    """Minutes from container start to Ready; the published recipe says 15 to 30."""

    @property
    def download(self) -> float:
        """Minutes of download."""
        return self.weights_gb * 1000 / self.weights_rate / 60

    @property
    def pull(self) -> float:
        """Minutes of pulling and unpacking the image."""
        return self.image_gb * 1000 / self.image_rate / 60

    @property
    def copy(self) -> float:
        """Minutes of copying the weights to the node's disks."""
        return self.weights_gb * 1000 / self.copy_rate / 60


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a rollout. start, end: minutes. on_gpus: whether it runs on GPU nodes, or is their boot."""

    name: str
    start: float
    end: float
    on_gpus: bool


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """Steps by start. gpus: how many are paid for from the first boot of a GPU node on."""

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
    def paid_gpu_minutes(self) -> float:
        """GPU-minutes paid before the first token."""
        return self.gpus * (self.first_token - self.gpus_from)


_GPU_STEPS = ("GPU nodes", "image pull", "weights copy", "model load")
_WEIGHTS_FIRST = {
    "CPU nodes": (),
    "platform": ("CPU nodes",),
    "download": ("CPU nodes",),
    "GPU nodes": ("platform", "download"),
    "image pull": ("GPU nodes",),
    "model load": ("image pull",),
}
_PREPAID = {
    "CPU nodes": (),
    "GPU nodes": (),
    "platform": ("CPU nodes",),
    "download": ("CPU nodes",),
    "image pull": ("GPU nodes",),
    "model load": ("image pull", "platform", "download"),
}
_PUBLISHED = {
    "GPU nodes": (),
    "platform": ("GPU nodes",),
    "download": ("platform",),
    "image pull": ("download",),
    "model load": ("image pull",),
}
"""Order of the published guides, each step by hand after the one before; all of it on the GPU nodes."""


def our_order(assumptions: Assumptions, gpus: int, *, prepaid: bool, local_copy: bool = False) -> Rollout:
    """The order in which this program deploys.

    prepaid: GPUs are paid whether they run or not, so none waits. local_copy: workers copy the weights to their node's
    disks before they load them; loading takes as long as without, since nobody published how much shorter it gets.
    """
    steps = _PREPAID if prepaid else _WEIGHTS_FIRST
    if local_copy:
        steps = {**steps, "weights copy": steps["model load"], "model load": ("weights copy",)}
    return Rollout(name="this program", steps=_schedule(steps, assumptions), gpus=gpus)


def published_order(assumptions: Assumptions, gpus: int) -> Rollout:
    """The order of the published guides."""
    return Rollout(name="published guides", steps=_schedule(_PUBLISHED, assumptions), gpus=gpus)


def assume(overrides: Iterable[str]) -> Assumptions:
    """The defaults with `name=value` overrides. Raises Refusal for a name or value that cannot be."""
    known = [field.name.replace("_", "-") for field in fields(Assumptions)]
    given: dict[str, float] = {}
    for text in overrides:
        name, _, value = text.partition("=")
        if name not in known:
            raise Refusal(f"--assume: {name!r} is no assumption; choose one of {', '.join(known)}")
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if not 0 < number < float("inf"):
            raise Refusal(f"--assume: {text!r} needs a number above 0, as in {name}=10")
        given[name.replace("-", "_")] = number
    return replace(Assumptions(), **given)


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
        if usd_per_hour is not None:
            paid += f", {(rollout.first_token - rollout.gpus_from) / 60 * usd_per_hour:.0f} USD"
        lines.append(paid)
    share = ours.paid_gpu_minutes / published.paid_gpu_minutes
    lines.append(f"this program pays {share:.0%} of the published order's GPU time before the first token")
    return "\n".join(lines)


def _schedule(after: Mapping[str, tuple[str, ...]], assumptions: Assumptions) -> tuple[Step, ...]:
    minutes = {
        "CPU nodes": assumptions.cpu_boot,
        "GPU nodes": assumptions.gpu_boot,
        "platform": assumptions.platform,
        "download": assumptions.download,
        "image pull": assumptions.pull,
        "weights copy": assumptions.copy,
        "model load": assumptions.load,
    }
    done: dict[str, Step] = {}
    for name in TopologicalSorter(after).static_order():
        start = max((done[earlier].end for earlier in after[name]), default=0.0)
        on_gpus = name in _GPU_STEPS or after is _PUBLISHED
        done[name] = Step(name=name, start=start, end=start + minutes[name], on_gpus=on_gpus)
    return tuple(sorted(done.values(), key=lambda step: (step.start, step.end, step.name)))
