"""A cluster that another stack of this or another program made."""

import json
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.cluster import cluster_access


@dataclass(frozen=True, kw_only=True)
class ReferencedClusterArgs:
    """stack: `organization/project/stack`, with an output `kubeconfig`. namespace, create_namespace, retain: as
    for a cluster of kind `existing`.
    """

    stack: str
    namespace: str
    create_namespace: bool
    retain: bool


class ReferencedCluster(pulumi.ComponentResource):
    """The provider for the other stack's cluster, and this stack's namespace on it."""

    provider: kubernetes.Provider
    keeper: kubernetes.Provider
    ready: list[pulumi.Resource]

    def __init__(
        self, name: str, args: ReferencedClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:ReferencedCluster", name, None, opts)
        other = pulumi.StackReference(args.stack, opts=pulumi.ResourceOptions(parent=self))
        kubeconfig: pulumi.Output[str] = pulumi.Output.secret(
            other.require_output("kubeconfig").apply(_as_text)
        )
        self.provider = cluster_access.provider(self, kubeconfig=kubeconfig)
        self.keeper = (
            cluster_access.provider(self, kubeconfig=kubeconfig, takes_over=True)
            if args.retain
            else self.provider
        )
        self.ready = (
            [cluster_access.namespace(self, args.namespace, self.keeper, retain=args.retain)]
            if args.create_namespace
            else []
        )
        self.register_outputs({"namespace": args.namespace})


def _as_text(kubeconfig: object) -> str:
    """pulumi-eks has it as an object."""
    return kubeconfig if isinstance(kubeconfig, str) else json.dumps(kubeconfig)
