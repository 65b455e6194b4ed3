"""An EKS cluster that is already there."""

from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws

from components.cluster import cluster_access
from components.cluster.api_access import kubeconfig_of, security_group_of
from components.cluster.cluster_access import WorkNamespace
from components.cluster.kubeconfig import Credentials


@dataclass(frozen=True, kw_only=True)
class ExistingEksClusterArgs:
    """Which cluster it is."""

    name: str
    region: str
    namespace: WorkNamespace
    """The namespace on it."""
    credentials: Credentials = field(default_factory=Credentials)
    """As whom it is reached."""


class ExistingEksCluster(pulumi.ComponentResource):
    """The provider for the cluster, the stack's namespace, and what a GPU pool must know of the cluster."""

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
        self.kubeconfig = kubeconfig_of(cluster, args.region, args.credentials)
        self.provider, self.keeper, self.ready = cluster_access.access(self, args.namespace, self.kubeconfig)
        self.register_outputs(
            {
                "name": self.name,
                "arn": self.arn,
                "kubeconfig": self.kubeconfig,
                "vpcId": self.vpc_id,
                "securityGroupId": self.security_group_id,
            }
        )
