"""A benchmark of a graph: an AIPerf Job, its commands, and the claim that keeps its results."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.manifests import config_map, job
from graphs import benchmark
from graphs.benchmark import JobSpec


@dataclass(frozen=True, kw_only=True)
class BenchmarkArgs:
    """job: what runs, against which graph, with which limits."""

    job: JobSpec


class Benchmark(pulumi.ComponentResource):
    """A measured graph; ready when every point is measured, failed when one could not be."""

    claim: kubernetes.core.v1.PersistentVolumeClaim
    job: kubernetes.batch.v1.Job

    def __init__(self, name: str, args: BenchmarkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Benchmark", name, None, opts)
        self.claim = self._claim(args)
        self.job = self._job(args, self._commands(args))
        self.register_outputs({"claimName": args.job.claim, "jobName": args.job.name})

    def _claim(self, args: BenchmarkArgs) -> kubernetes.core.v1.PersistentVolumeClaim:
        manifest = benchmark.results_claim(args.job)
        # A class that binds on first use would be waited for before the Job, its first user, exists.
        manifest["metadata"]["annotations"] = {"pulumi.com/skipAwait": "true"}
        return kubernetes.core.v1.PersistentVolumeClaim(
            args.job.claim,
            metadata=manifest["metadata"],
            spec=manifest["spec"],
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _commands(self, args: BenchmarkArgs) -> kubernetes.core.v1.ConfigMap:
        return config_map(benchmark.config_map(args.job), pulumi.ResourceOptions(parent=self))

    def _job(self, args: BenchmarkArgs, commands: kubernetes.core.v1.ConfigMap) -> kubernetes.batch.v1.Job:
        manifest = benchmark.job(args.job)
        seconds = manifest["spec"]["activeDeadlineSeconds"] + 300
        return job(
            manifest,
            pulumi.ResourceOptions(
                parent=self,
                depends_on=[self.claim, commands],
                custom_timeouts=pulumi.CustomTimeouts(create=f"{seconds}s", update=f"{seconds}s"),
            ),
        )
