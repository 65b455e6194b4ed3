"""A graph held to its word: a Job inside the cluster converses with it, and the update fails if it does not answer."""

from dataclasses import dataclass

import pulumi

from components.manifests import job, resource
from manifests import verification
from targets.plan import GraphPlan


@dataclass(frozen=True, kw_only=True)
class VerificationArgs:
    """What is verified, and where."""

    plan: GraphPlan
    """The graph."""
    namespace: str
    timeout_seconds: int
    """How long the graph may take to answer once it is ready."""


class Verification(pulumi.ComponentResource):
    """A verified graph; ready when every check passed."""

    def __init__(self, name: str, args: VerificationArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Verification", name, None, opts)
        plan, namespace = args.plan, args.namespace
        script = resource(
            verification.script_config_map(plan, namespace), pulumi.ResourceOptions(parent=self)
        )
        manifest = verification.job(plan, namespace, timeout_seconds=args.timeout_seconds)
        job(manifest, self, [script], f"{manifest['spec']['activeDeadlineSeconds'] + 180}s")
        self.register_outputs({"jobName": verification.job_name(plan.name)})
