"""What was assumed beside what happened, the largest difference first. Pure."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from ops.rollout.phases import Bound, Happened, Phase
from targets.assumptions import Assumptions, name_of
from targets.timeline import Rollout, Setting, load_minutes

_ASSUMED = {
    "CPU nodes": "cpu-boot",
    "scale up": "scale-up",
    "GPU nodes": "gpu-boot",
    "platform": "platform",
    "download": "weights-rate",
    "image pull": "image-rate",
    "weights copy": "copy-rate",
    "model load": "load",
}
"""By step: the assumption that it rests on, as `--assume` takes it."""
_RATE = "-rate"


@dataclass(frozen=True)
class Assumption:
    """One of the simulation's, as `--assume` takes it."""

    name: str
    value: float

    def corrected(self, assumed: float, measured: float) -> float | None:
        """What it would have to be for its step to take as long as it did, in minutes; None where nothing would do."""
        if self.name.endswith(_RATE):
            return self.value * assumed / measured if measured else None
        value = self.value + measured - assumed
        return value if value > 0 else None


def assumptions_of(assumed: Assumptions, setting: Setting) -> dict[str, Assumption]:
    """By step. Parallel pulls have a rate of their own, and so have loads where storage is no limit."""
    names = dict(_ASSUMED)
    if setting.parallel_pull:
        names["image pull"] = "parallel-image-rate"
    if load_minutes(assumed, setting) != assumed.load:
        names["model load"] = "local-load"
    values = {name_of(field): value for field, value in asdict(assumed).items()}
    return {step: Assumption(name, values[name]) for step, name in names.items()}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A step that was assumed, measured, or both. assumed: minutes. why: why it was not measured."""

    name: str
    assumed: float | None
    measured: Phase | None
    why: str = ""

    @property
    def minutes(self) -> float | None:
        """Measured less assumed; None where one of them is missing, or a bound says nothing of it."""
        if self.assumed is None or self.measured is None:
            return None
        gap = self.measured.minutes - self.assumed
        tells_nothing = (self.measured.bound is Bound.AT_LEAST and gap < 0) or (
            self.measured.bound is Bound.AT_MOST and gap > 0
        )
        return None if tells_nothing else gap


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """differences: the largest first, then what cannot be compared, in the simulation's order."""

    simulated: Rollout
    happened: Happened
    differences: tuple[Difference, ...]
    assumptions: dict[str, Assumption]
    """By step."""

    @property
    def most_wrong(self) -> Difference | None:
        """The step whose assumption was most wrong."""
        return next((each for each in self.differences if each.minutes), None)

    @property
    def assumed_from(self) -> float:
        """Minute of the simulation at which the clock of what happened starts: its first, or a block's begin."""
        return self.simulated.gpus_from if self.happened.of_block else 0.0

    @property
    def assumed_ready(self) -> float:
        """Minutes from there to the first token."""
        return self.simulated.first_token - self.assumed_from

    @property
    def first_token(self) -> float | None:
        """Minutes from the begin to the first answer that somebody saw."""
        answered = self.happened.answered
        return (answered.at - self.happened.began).total_seconds() / 60 if answered else None

    @property
    def ready(self) -> float | None:
        """Minutes from the begin until the frontend listed the model."""
        at = self.happened.ready
        return (at - self.happened.began).total_seconds() / 60 if at else None

    @property
    def paid_gpu_minutes(self) -> float | None:
        """From a block's begin, else the first GPU node's joining, until the graph was ready; None if unknown."""
        joined = next((each.start for each in self.happened.phases if each.name == "GPU nodes"), None)
        paid_from = self.happened.began if self.happened.of_block else joined
        if paid_from is None or self.happened.ready is None:
            return None
        return self.simulated.gpus * (self.happened.ready - paid_from).total_seconds() / 60

    def better(self) -> Iterator[str]:
        """What `--assume` would have to be told for the simulation to show what was measured."""
        for each in self.differences:
            if not each.minutes or each.measured is None or each.assumed is None:
                continue
            assumption = self.assumptions[each.name]
            value = assumption.corrected(each.assumed, each.measured.minutes)
            if value is not None:
                yield f"{assumption.name}={value:.0f}" if value >= 100 else f"{assumption.name}={value:.3g}"


def compare(simulated: Rollout, happened: Happened, assumptions: dict[str, Assumption]) -> Comparison:
    """assumptions: by step; each that is compared has one."""
    measured = {phase.name: phase for phase in happened.phases}
    steps = {step.name: step.end - step.start for step in simulated.steps}
    names = [*steps, *(name for name in measured if name not in steps)]
    found = [
        Difference(
            name=name,
            assumed=steps.get(name),
            measured=measured.get(name),
            why=happened.unknown.get(name, "nothing tells of it"),
        )
        for name in names
    ]
    return Comparison(
        simulated=simulated,
        happened=happened,
        differences=tuple(sorted(found, key=lambda each: -abs(each.minutes or 0.0))),
        assumptions=assumptions,
    )
