"""`benchmark`: the load that the graph is measured with."""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from manifests.benchmark.job import (
    AIPERF_IMAGE,
    JobSpec,
    LoadPoint,
    ResultsClaim,
    per_gpu,
    points,
    published_shapes,
    shape_name,
)
from targets.errors import Refusal
from targets.knobs import ObjectName, PinnedImage
from targets.plan import GraphPlan
from targets.strict import Strict
from targets.target import PublishedBenchmark, Target

OF_TARGET = "published"
"""Stands for the shape that the stack's target is published with."""
Concurrency = Annotated[int, Field(ge=1, le=20000)]
ExporterUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]+(/\S*)?$")]


class OwnShape(Strict):
    """A traffic shape of the stack's own."""

    isl: int = Field(ge=1, le=131072)
    """Tokens of each prompt."""
    osl: int = Field(ge=1, le=131072)
    """Tokens of each answer."""
    concurrency: Concurrency
    """Requests at once."""
    requests: int | None = Field(default=None, ge=1)
    """Requests in all; by default ten times the concurrency."""
    warmup: int | None = Field(default=None, ge=0)
    """Requests before what is measured; by default as many as are at once."""
    dataset_entries: int | None = Field(default=None, ge=1)
    """Different prompts; by default as many as requests."""
    seed: int = Field(default=100, ge=0, lt=2**32)
    """What the prompts are made from."""

    def benchmark(self) -> PublishedBenchmark:
        """The shape, complete."""
        requests = self.requests or 10 * self.concurrency
        return PublishedBenchmark(
            isl=self.isl,
            osl=self.osl,
            concurrency=self.concurrency,
            requests=requests,
            warmup=self.concurrency if self.warmup is None else self.warmup,
            dataset_entries=self.dataset_entries or requests,
            seed=self.seed,
        )


class BenchmarkSettings(Strict):
    """The load that the graph is measured with, by `pulumi up` if `run`, and by `ops bench`."""

    run: bool = False
    """Whether deploying the stack includes a benchmark Job, run again whenever the load changes."""
    shape: str = OF_TARGET
    """`published` for the target's own, a published shape such as `8192/1024`, or one of `shapes`."""
    per_gpu: bool = False
    """Whether the concurrency is the published one per GPU times the GPUs of the graph."""
    shapes: Mapping[ObjectName, OwnShape] = {}
    """Shapes of the stack's own, by name."""
    sweep: tuple[Concurrency, ...] = ()
    """Concurrencies to measure one after another; by default the shape's."""
    repetitions: int = Field(default=1, ge=1, le=20)
    """How often each is measured; two or more show the noise."""
    ready_minutes: int = Field(default=90, ge=1, le=1440)
    """How long the graph may take to answer."""
    limit_minutes: int = Field(default=240, ge=1, le=1440)
    """How long all measurements may take."""
    image: PinnedImage = AIPERF_IMAGE
    """Image of AIPerf, with a tag or digest; its AIPerf must be the version that the commands are for."""
    gpu_telemetry: tuple[ExporterUrl, ...] = ()
    """Addresses of DCGM exporters, which tell the energy; by default none is asked."""
    results_size: str = Field(default="10Gi", pattern=r"^[1-9][0-9]*(Gi|Ti)$")
    """Size of the claim for results, in Gi or Ti."""
    storage_class: ObjectName | None = None
    """StorageClass of that claim; by default the cluster's default."""

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len(set(self.sweep)) < len(self.sweep):
            raise ValueError("sweep names a concurrency twice; raise repetitions instead")
        return self

    def job(self, plan: GraphPlan, namespace: str) -> JobSpec:
        """The Job that measures the graph with the chosen load. Raises Refusal as `load` does."""
        return JobSpec(
            namespace=namespace,
            graph=plan.name,
            points=self.points(plan.target, plan.gpus),
            ready_seconds=60 * self.ready_minutes,
            limit_seconds=60 * self.limit_minutes,
            image=self.image,
            pull_secret=plan.image.pull_secret,
            telemetry=self.gpu_telemetry,
            results=ResultsClaim(self.results_size, self.storage_class),
            **({"weights": plan.cache.claim} if plan.cache.claim else {}),
            fetched_in=plan.image.reference if plan.cache.from_bucket else None,
        )

    def load(self, target: Target, gpus: int) -> PublishedBenchmark:
        """The chosen shape. gpus: of the graph. Raises Refusal for a shape that is not there."""
        shapes = published_shapes() | {name: own.benchmark() for name, own in self.shapes.items()}
        shapes |= dict.fromkeys((OF_TARGET, shape_name(target.benchmark)), target.benchmark)
        if self.shape not in shapes:
            raise Refusal(
                f"benchmark.shape: {self.shape!r} is no shape here; choose one of {', '.join(sorted(shapes))}"
            )
        if self.per_gpu and not gpus:
            raise Refusal(f"benchmark.perGpu: the graph of target {target.name} has no GPUs")
        shape = shapes[self.shape]
        return per_gpu(target, shape, gpus) if self.per_gpu else shape

    def points(self, target: Target, gpus: int) -> tuple[LoadPoint, ...]:
        """Everything to measure, in order. Raises Refusal as `load` does."""
        return points(self.load(target, gpus), self.sweep, self.repetitions)
