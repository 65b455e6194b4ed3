"""A benchmark of a graph: an AIPerf Job, its commands, and the claim that keeps its results."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, cast

import pulumi

from components.graph.graph import Graph
from components.manifests import job, rendered, resource
from manifests.benchmark import job as benchmark
from manifests.benchmark.job import AIPERF_IMAGE, JobSpec, ResultsClaim, per_gpu, points, published_shapes
from manifests.objects import UNAWAITED, annotate
from targets.plan import GraphPlan


@dataclass(frozen=True, kw_only=True)
class Load:
    """What a graph is measured with."""

    shape: str | None = field(default=None, metadata={"Shape": published_shapes()})
    """Tokens in / tokens out of a published shape; by default the target's own."""
    per_gpu: bool = False
    """Whether the concurrency is the published one per GPU times the GPUs of the graph."""
    sweep: Sequence[int] = ()
    """Concurrencies to measure one after another; by default the shape's."""
    repetitions: int = 1
    """How often each is measured; two or more show the noise."""


@dataclass(frozen=True, kw_only=True)
class Results:
    """The claim that keeps results."""

    size: str = "10Gi"
    """A Kubernetes quantity."""
    storage_class: pulumi.Input[str] | None = None
    """Its StorageClass; by default the cluster's default."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkArgs:
    """What is measured, and how."""

    graph: Graph
    """The graph."""
    namespace: pulumi.Input[str]
    """The graph's namespace."""
    load: Load = field(default_factory=Load)
    """What it is measured with."""
    ready_minutes: int = 90
    """How long the graph may take to answer."""
    limit_minutes: int = 240
    """How long all measurements may take."""
    image: pulumi.Input[str] = AIPERF_IMAGE
    """Image of AIPerf, of the version that the commands are for."""
    gpu_telemetry: Sequence[str] = ()
    """Addresses of DCGM exporters, which tell the energy; by default none is asked."""
    results: Results = field(default_factory=Results)
    """The claim that keeps results."""
    claim: pulumi.Input[str] | None = None
    """The claim that holds the models, as `claimName` of a ModelCache; by default the usual one."""

    @classmethod
    def of(cls, spec: JobSpec, plan: GraphPlan) -> Self:
        """A benchmark that is resolved already."""
        args = cls(graph=Graph.of(plan), namespace=spec.namespace)
        args.__dict__["spec"] = spec
        return args

    @cached_property
    def spec(self) -> JobSpec:
        """The Job, in no namespace yet."""
        plan, load = self.graph.plan, self.load
        shape = published_shapes()[load.shape] if load.shape else plan.target.benchmark
        if load.per_gpu:
            shape = per_gpu(plan.target, shape, plan.gpus)
        return JobSpec(
            namespace="",
            graph=plan.name,
            points=points(shape, load.sweep, load.repetitions),
            ready_seconds=60 * self.ready_minutes,
            limit_seconds=60 * self.limit_minutes,
            image=cast(str, self.image),
            pull_secret=plan.image.pull_secret,
            telemetry=tuple(self.gpu_telemetry),
            results=ResultsClaim(self.results.size, cast("str | None", self.results.storage_class)),
            fetched_in=plan.image.reference if plan.cache.from_bucket else None,
        )


class Benchmark(pulumi.ComponentResource):
    """A measured graph; ready when every point is measured, failed when one could not be."""

    claim_name: pulumi.Output[str]
    """Name of the claim with the results, once they are there."""

    def __init__(self, name: str, args: BenchmarkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Benchmark", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)

        def render(namespace: str, weights: str | None) -> list[dict[str, Any]]:
            spec = replace(args.spec, namespace=namespace, weights=weights or args.spec.weights)
            kept = annotate(benchmark.results_claim(spec), UNAWAITED)
            return [kept, benchmark.config_map(spec), benchmark.job(spec)]

        # A class that binds on first use would be waited for before the Job, its first user, exists.
        claim, commands, manifest = rendered(render, args.namespace, args.claim)
        needed = [resource(claim, child), resource(commands, child)]
        done = job(manifest, self, needed, f"{manifest['spec']['activeDeadlineSeconds'] + 300}s")
        self.claim_name = done.urn.apply(lambda _: args.spec.claim)
        self.register_outputs({"claimName": self.claim_name})
