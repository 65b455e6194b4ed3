"""An EKS cluster that is already there."""

from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from components.cluster import cluster_access
from components.cluster.api_access import kubeconfig_of, security_group_of
from targets.aws_access import AwsAccess


@dataclass(frozen=True, kw_only=True)
class ExistingEksClusterArgs:
    """name, region: of the cluster. access: as whom it is reached.

    namespace: made by the stack unless create_namespace is False.
    retain: whether the namespace outlives the stack with what is kept in it, to be taken over by a later one.
    """

    name: str
    region: str
    namespace: str
    create_namespace: bool
    retain: bool
    access: AwsAccess = field(default_factory=AwsAccess)


class ExistingEksCluster(pulumi.ComponentResource):
    """The provider for the cluster, the stack's namespace, and what a GPU pool must know of the cluster."""

    provider: kubernetes.Provider
    keeper: kubernetes.Provider
    ready: list[pulumi.Resource]
    kubeconfig: pulumi.Output[str]
    name: pulumi.Output[str]
    arn: pulumi.Output[str]
    vpc_id: pulumi.Output[str]
    security_group_id: pulumi.Output[str]
    efs_client_role: pulumi.Output[str] | None = None
    """The cluster's driver is not the stack's, nor is its role."""

    def __init__(
        self, name: str, args: ExistingEksClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:ExistingEksCluster", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        cluster = aws.eks.Cluster.get(args.name, args.name, opts=child)
        self.name, self.arn = cluster.name, cluster.arn
        self.vpc_id = cluster.vpc_config.vpc_id
        self.security_group_id = security_group_of(cluster)
        self.kubeconfig = kubeconfig_of(cluster, args.region, args.access)
        self.provider = cluster_access.provider(self, kubeconfig=self.kubeconfig)
        self.keeper = (
            cluster_access.provider(self, kubeconfig=self.kubeconfig, takes_over=True)
            if args.retain
            else self.provider
        )
        self.ready = (
            [cluster_access.namespace(self, args.namespace, self.keeper, retain=args.retain)]
            if args.create_namespace
            else []
        )
        self.register_outputs({"name": self.name, "kubeconfig": self.kubeconfig})
