"""A graph held to its word: a Job inside the cluster converses with it, and the update fails if it does not answer."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.manifests import config_map, job
from graphs import verification
from targets.plan import GraphPlan


@dataclass(frozen=True, kw_only=True)
class VerificationArgs:
    """plan: the graph. timeout_seconds: how long it may take to answer once it is ready."""

    plan: GraphPlan
    namespace: str
    timeout_seconds: int


class Verification(pulumi.ComponentResource):
    """A verified graph; ready when every check passed."""

    job: kubernetes.batch.v1.Job

    def __init__(self, name: str, args: VerificationArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Verification", name, None, opts)
        self.job = self._job(args, self._script(args))
        self.register_outputs({"jobName": verification.job_name(args.plan.name)})

    def _script(self, args: VerificationArgs) -> kubernetes.core.v1.ConfigMap:
        manifest = verification.script_config_map(args.plan, args.namespace)
        return config_map(manifest, pulumi.ResourceOptions(parent=self))

    def _job(self, args: VerificationArgs, script: kubernetes.core.v1.ConfigMap) -> kubernetes.batch.v1.Job:
        manifest = verification.job(args.plan, args.namespace, timeout_seconds=args.timeout_seconds)
        seconds = f"{manifest['spec']['activeDeadlineSeconds'] + 180}s"
        return job(
            manifest,
            pulumi.ResourceOptions(
                parent=self,
                depends_on=[script],
                custom_timeouts=pulumi.CustomTimeouts(create=seconds, update=seconds),
            ),
        )
