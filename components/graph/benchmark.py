"""A benchmark of a graph: an AIPerf Job, its commands, and the claim that keeps its results."""

from dataclasses import dataclass

import pulumi

from components.manifests import job, resource
from manifests.benchmark import job as benchmark
from manifests.benchmark.job import JobSpec
from manifests.objects import UNAWAITED, annotate


@dataclass(frozen=True, kw_only=True)
class BenchmarkArgs:
    """What is measured."""

    job: JobSpec
    """What runs, against which graph, with which limits."""


class Benchmark(pulumi.ComponentResource):
    """A measured graph; ready when every point is measured, failed when one could not be."""

    def __init__(self, name: str, args: BenchmarkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Benchmark", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        # A class that binds on first use would be waited for before the Job, its first user, exists.
        claim = resource(annotate(benchmark.results_claim(args.job), UNAWAITED), child)
        commands = resource(benchmark.config_map(args.job), child)
        manifest = benchmark.job(args.job)
        job(manifest, self, [claim, commands], f"{manifest['spec']['activeDeadlineSeconds'] + 300}s")
        self.register_outputs({"claimName": args.job.claim, "jobName": args.job.name})
