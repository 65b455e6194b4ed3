"""A Kubernetes cluster that is already there."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from graphs.names import MANAGED_BY, RETAINED


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
    ready: list[pulumi.Resource]
    """What must be there before anything is put into the namespace."""

    def __init__(
        self, name: str, args: ExistingClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:ExistingCluster", name, None, opts)
        self.provider = kubernetes.Provider(
            "cluster",
            kubeconfig=args.kubeconfig,
            context=args.context,
            # In place: a new token or engine file must not take the old object away first.
            enable_secret_mutable=True,
            enable_config_map_mutable=True,
            upsert_existing_objects=args.retain,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.ready = [self._namespace(args)] if args.create_namespace else []
        self.register_outputs({"namespace": args.namespace})

    def _namespace(self, args: ExistingClusterArgs) -> kubernetes.core.v1.Namespace:
        return kubernetes.core.v1.Namespace(
            args.namespace,
            metadata={
                "name": args.namespace,
                "labels": MANAGED_BY | RETAINED if args.retain else dict(MANAGED_BY),
            },
            opts=pulumi.ResourceOptions(parent=self, provider=self.provider, retain_on_delete=args.retain),
        )
