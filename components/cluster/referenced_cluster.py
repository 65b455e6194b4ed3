"""A cluster that another stack of this or another program made."""

import json
from dataclasses import dataclass

import pulumi

from components.cluster import cluster_access
from components.cluster.cluster_access import WorkNamespace


@dataclass(frozen=True, kw_only=True)
class ReferencedClusterArgs:
    """Whose cluster it is."""

    stack: str
    """`organization/project/stack`, with an output `kubeconfig`."""
    namespace: WorkNamespace
    """The namespace on it."""


class ReferencedCluster(pulumi.ComponentResource):
    """The provider for the other stack's cluster, and this stack's namespace on it."""

    def __init__(
        self, name: str, args: ReferencedClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:ReferencedCluster", name, None, opts)
        other = pulumi.StackReference(args.stack, opts=pulumi.ResourceOptions(parent=self))
        kubeconfig: pulumi.Output[str] = pulumi.Output.secret(
            other.require_output("kubeconfig").apply(_as_text)
        )
        self.provider, self.keeper, self.ready = cluster_access.access(self, args.namespace, kubeconfig)
        self.register_outputs({})


def _as_text(kubeconfig: object) -> str:
    """pulumi-eks has it as an object."""
    return kubeconfig if isinstance(kubeconfig, str) else json.dumps(kubeconfig)
