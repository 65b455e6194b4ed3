"""A Kubernetes cluster that is already there."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.cluster.cluster_access import namespace, provider


@dataclass(frozen=True, kw_only=True)
class ExistingClusterArgs:
    """kubeconfig: path, None for kubectl's default. namespace: made by the stack unless create_namespace is False.

    retain: whether the namespace outlives the stack with what is kept in it, to be taken over by a later one.
    """

    kubeconfig: str | None
    context: str | None
    namespace: str
    create_namespace: bool
    retain: bool = False


class ExistingCluster(pulumi.ComponentResource):
    """The provider for the cluster and the namespace that the stack works in."""

    provider: kubernetes.Provider
    keeper: kubernetes.Provider
    ready: list[pulumi.Resource]
    """What must be there before anything is put into the namespace."""

    def __init__(
        self, name: str, args: ExistingClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:ExistingCluster", name, None, opts)
        self.provider = provider(self, kubeconfig=args.kubeconfig, context=args.context)
        self.keeper = (
            provider(self, kubeconfig=args.kubeconfig, context=args.context, takes_over=True)
            if args.retain
            else self.provider
        )
        made = (
            namespace(self, args.namespace, self.keeper, retain=args.retain)
            if args.create_namespace
            else None
        )
        self.ready = [made] if made else []
        self.register_outputs({"namespace": args.namespace})
