"""A Kubernetes cluster that is already there."""

from dataclasses import dataclass

import pulumi

from components.cluster import cluster_access
from components.cluster.cluster_access import WorkNamespace


@dataclass(frozen=True, kw_only=True)
class ExistingClusterArgs:
    """Where the cluster is."""

    kubeconfig: pulumi.Input[str] | None
    """Path or content of the kubeconfig, None for kubectl's default."""
    context: str | None
    """Context in it, None for its current one."""
    namespace: WorkNamespace
    """The namespace on it."""


class ExistingCluster(pulumi.ComponentResource):
    """The provider for the cluster and the namespace that the stack works in."""

    def __init__(
        self, name: str, args: ExistingClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:ExistingCluster", name, None, opts)
        self.provider, self.keeper, self.ready = cluster_access.access(
            self, args.namespace, args.kubeconfig, args.context
        )
        self.register_outputs({})
