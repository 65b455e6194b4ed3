"""A graph held to its word: a Job inside the cluster converses with it, and the update fails if it does not answer."""

from dataclasses import dataclass
from typing import Any

import pulumi

from components.graph.graph import Graph
from components.manifests import job, rendered, resource
from manifests import verification


@dataclass(frozen=True, kw_only=True)
class VerificationArgs:
    """What is verified, and where."""

    graph: Graph
    """The graph."""
    namespace: pulumi.Input[str]
    """The graph's namespace."""
    timeout_seconds: int = 3600
    """How long the graph may take to answer once it is ready."""


class Verification(pulumi.ComponentResource):
    """A verified graph; ready when every check passed."""

    def __init__(self, name: str, args: VerificationArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Verification", name, None, opts)
        plan = args.graph.plan

        def render(namespace: str) -> list[dict[str, Any]]:
            of_job = verification.job(plan, namespace, timeout_seconds=args.timeout_seconds)
            return [verification.script_config_map(plan, namespace), of_job]

        config_map, manifest = rendered(render, args.namespace)
        script = resource(config_map, pulumi.ResourceOptions(parent=self))
        job(manifest, self, [script], f"{manifest['spec']['activeDeadlineSeconds'] + 180}s")
        self.register_outputs({})
