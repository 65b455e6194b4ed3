"""The steps of a rollout as they happened, in the simulation's names. Pure.

Where several nodes or pods take a step, it is that of the one whose step ended last: the next step waited for it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from manifests.cache import node_copy
from manifests.names import DOWNLOAD_JOB
from ops.rollout import engine_log
from ops.rollout.image_pull import Pull
from ops.rollout.observed import Container, Observed, SeenNode, SeenPod

_COPIES = "copy-weights"
"""The container that copies weights, an init container of whichever pod."""
BLOCK = "the Capacity Block's begin"
"""Where the clock of a rollout in a block starts."""
_BEFORE = timedelta(minutes=10)
"""How long before anything else of a stack its nodes may join: a reservation's are made beside the platform."""


class Bound(StrEnum):
    """What a duration is where the cluster does not tell it exactly."""

    EXACT = ""
    AT_MOST = "at most"
    AT_LEAST = "at least"


@dataclass(frozen=True, kw_only=True)
class Phase:
    """source: which fact says so. parts: seconds of it by name, in the engine's words."""

    name: str
    start: datetime
    end: datetime
    source: str
    bound: Bound = Bound.EXACT
    parts: tuple[tuple[str, float], ...] = ()

    @property
    def minutes(self) -> float:
        """How long it took."""
        return (self.end - self.start).total_seconds() / 60


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The first answer that somebody saw. source: who asked."""

    at: datetime
    source: str


@dataclass(frozen=True, kw_only=True)
class Happened:
    """began: where the clock starts, and what that is. unknown: by step, why it is not known.

    of_block: whether the clock starts with a Capacity Block, which is paid from then on; some steps are before it.
    ready: when the last graph's frontend listed the model. answered: None where nobody asked, as far as is known.
    """

    began: datetime
    began_with: str
    phases: tuple[Phase, ...]
    unknown: dict[str, str]
    ready: datetime | None
    answered: Answer | None
    of_block: bool = False


_Found = Phase | str
"""A phase, or why there is none."""


def happened(seen: Observed, answered: Answer | None) -> Happened | None:
    """None where nothing of the stack was seen."""
    began = _watched(seen)
    zero = began or _first(seen)
    if zero is None:
        return None
    workers = _workers(seen)
    nodes = [node for node in seen.nodes.values() if node.created >= zero - _BEFORE]
    steps: dict[str, Callable[[], _Found]] = {
        "CPU nodes": lambda: _boot("CPU nodes", [node for node in nodes if not node.gpus], []),
        "platform": lambda: _platform(seen, began),
        "download": lambda: _download(seen),
        "scale up": lambda: _scale_up(seen.block, [node for node in nodes if node.gpus]),
        "GPU nodes": lambda: _boot("GPU nodes", [node for node in nodes if node.gpus], workers),
        "image pull": lambda: _pull(seen, workers),
        "weights copy": lambda: _copy(seen, workers),
        "model load": lambda: _load(seen, workers),
    }
    found = {name: step() for name, step in steps.items()}
    ready = [graph.ready for graph in seen.graphs.values()]
    return Happened(
        began=seen.block or began or min([zero, *(node.created for node in nodes)]),
        began_with=BLOCK if seen.block else "`up`" if began else "the first of the stack's objects",
        phases=tuple(
            sorted((each for each in found.values() if isinstance(each, Phase)), key=lambda each: each.start)
        ),
        unknown={name: each for name, each in found.items() if isinstance(each, str)},
        ready=max((each for each in ready if each), default=None) if all(ready) else None,
        answered=answered,
        of_block=seen.block is not None,
    )


def _watched(seen: Observed) -> datetime | None:
    """When the `up` began that brought the graphs; one that found them there did not."""
    made = [graph.created for graph in seen.graphs.values()]
    return seen.began if seen.began and all(seen.began <= each for each in made) else None


def _first(seen: Observed) -> datetime | None:
    """When the first object of the stack was made, as far as those are still there."""
    made = [
        *(graph.created for graph in seen.graphs.values()),
        *(pod.created for pod in seen.pods.values()),
        *(job.started for job in seen.jobs.values() if job.started),
    ]
    return min(made, default=None)


def _workers(seen: Observed) -> list[SeenPod]:
    """Pods with GPUs of the first rollout: those that were made before the graph became ready, if any is left."""
    workers = [pod for pod in seen.pods.values() if pod.gpus and pod.role not in ("job", "pod")]
    ready = {graph.name: graph.ready for graph in seen.graphs.values()}
    first = [pod for pod in workers if (by := ready.get(pod.of)) is None or pod.created <= by]
    return first or workers


def _boot(name: str, nodes: list[SeenNode], workers: list[SeenPod]) -> _Found:
    """From a node's joining to Ready; of a GPU node to the first pod that waited for its devices and got them."""
    if not nodes:
        return "the nodes were there already, or are gone"
    booted = []
    for node in nodes:
        waited = [
            pod.scheduled
            for pod in workers
            if pod.node == node.name and pod.scheduled and node.ready and pod.created < node.ready
        ]
        ends = [*filter(None, [node.ready]), *([min(waited)] if waited else [])]
        if ends:
            until = "Ready, with the first worker on it" if waited else "Ready"
            source = f"node {node.name}: from joining to {until}; the instance's boot before is not in it"
            booted.append(
                Phase(name=name, start=node.created, end=max(ends), source=source, bound=Bound.AT_LEAST)
            )
    return _last(booted) or "no node is Ready"


def _scale_up(block: datetime | None, nodes: list[SeenNode]) -> _Found:
    """Until the block's first node; those of before are of another pool."""
    if block is None:
        return "the cluster does not know when the block began; `up --wait-for-block` writes it down"
    first = min(
        (each for each in nodes if each.created >= block), key=lambda each: each.created, default=None
    )
    if first is None:
        return "no GPU node has joined since the block began"
    source = f"from the block's begin to node {first.name}'s joining, with the instance's boot"
    return Phase(name="scale up", start=block, end=first.created, source=source, bound=Bound.AT_MOST)


def _platform(seen: Observed, began: datetime | None) -> _Found:
    made = [each for each in seen.operators.values() if each.ready]
    if not made or len(made) < len(seen.operators):
        return "not of this stack, not there, or not available"
    if began and min(each.created for each in made) < began:
        return "it was there already"
    return Phase(
        name="platform",
        start=min(each.created for each in made),
        end=max(each.ready for each in made if each.ready),
        source="the platform's Deployments: from the first one made to the last one available",
        bound=Bound.AT_LEAST,
    )


def _download(seen: Observed) -> _Found:
    jobs = [job for job in seen.jobs.values() if job.name == DOWNLOAD_JOB]
    if not jobs:
        return f"there is no Job {DOWNLOAD_JOB}, or it is gone"
    done = [
        Phase(name="download", start=job.started, end=job.completed, source=f"Job {DOWNLOAD_JOB}")
        for job in jobs
        if job.started and job.completed
    ]
    return _last(done) or f"Job {DOWNLOAD_JOB} has not completed"


def _pull(seen: Observed, workers: list[SeenPod]) -> _Found:
    """The events of the nodes' kubelets; where those are gone, the time between a worker's node and its container."""
    if not workers:
        return "there is no worker with GPUs"
    images = {_main(pod).image for pod in workers}
    nodes = {pod.node for pod in workers}
    homes = {pod.name: pod.node for pod in seen.pods.values()}
    words = [
        each
        for each in seen.pulls.values()
        if (each.node or homes.get(each.pod)) in nodes
        and (each.image in images or (not each.image and each.pod in {pod.name for pod in workers}))
    ]
    told = [phase for pod in {each.pod for each in words} if (phase := _told(pod, words))]
    if told:
        return _last([each for each in told if each.minutes] or told) or ""
    bounds = [phase for pod in workers if (phase := _between(pod))]
    return _last(bounds) or "no event tells of it any more, and no worker has begun"


def _told(pod: str, words: Iterable[Pull]) -> Phase | None:
    """What the kubelet said for one pod."""
    of_pod = sorted((each for each in words if each.pod == pod), key=lambda each: each.at)
    ended = next((each for each in of_pod if each.ended and not each.present), None)
    if ended is None:
        there = next((each for each in of_pod if each.present), None)
        source = f"events of pod {pod}: the image was on the node"
        return Phase(name="image pull", start=there.at, end=there.at, source=source) if there else None
    begun = [each.at for each in of_pod if not each.ended and each.at <= ended.at]
    if ended.seconds is None and not begun:
        return None
    start = min(begun) if ended.seconds is None else ended.at - timedelta(seconds=ended.seconds)
    rate = (
        f", {ended.size / 1e9:.1f} GB at {ended.size / 1e6 / ended.seconds:.0f} MB/s"
        if ended.size and ended.seconds
        else ""
    )
    return Phase(name="image pull", start=start, end=ended.at, source=f"events of pod {pod}{rate}")


def _between(pod: SeenPod) -> Phase | None:
    """From what ended before the first container of the engine's image to that container's start."""
    before = pod.scheduled
    for name, container in pod.containers.items():
        if container.image == _main(pod).image and before and container.started:
            source = f"pod {pod.name}: from its node to container {name}, with volumes; its events are gone"
            return Phase(
                name="image pull", start=before, end=container.started, source=source, bound=Bound.AT_MOST
            )
        before = container.finished
    return None


def _copy(seen: Observed, workers: list[SeenPod]) -> _Found:
    """Of the node's own copier where there is one: the workers' init containers then wait for it."""
    of_node = [
        pod
        for pod in seen.pods.values()
        if pod.name.startswith(node_copy.NAME) and _COPIES in pod.containers  # it may keep other things alone
    ]
    copies = [
        Phase(
            name="weights copy",
            start=container.started,
            end=container.finished,
            source=f"pod {pod.name}: its container {_COPIES}",
        )
        for pod in of_node or workers
        if (container := pod.containers.get(_COPIES)) and container.started and container.finished
    ]
    return _last(copies) or "no pod copies weights, or none has done so"


def _load(seen: Observed, workers: list[SeenPod]) -> _Found:
    loads = [
        Phase(
            name="model load",
            start=begun,
            end=pod.ready,
            source=f"pod {pod.name}: from its container's start to Ready",
            parts=tuple(engine_log.parts(_lines(seen, pod)).items()),
        )
        for pod in workers
        if (begun := _main(pod).started) and pod.ready
    ]
    return _last(loads) or "no worker is ready"


def _lines(seen: Observed, pod: SeenPod) -> Iterator[tuple[datetime, str]]:
    for line in seen.lines.values():
        if line.pod == pod.name:
            yield line.at, line.text


def _main(pod: SeenPod) -> Container:
    """The engine's container: the operator's own is called `main`."""
    own = {name: each for name, each in pod.containers.items() if not each.init}
    return own.get("main") or next(iter(own.values()))


def _last(phases: Iterable[Phase]) -> Phase | None:
    return max(phases, key=lambda each: each.end, default=None)
