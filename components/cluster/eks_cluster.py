"""An EKS cluster with CPU nodes, ready for a platform and GPU pools."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from components.aws import iam
from components.cluster import api_access, cluster_access
from components.cluster.eks_addons import Addons
from components.manifests import resource
from components.nodes import launch_template
from components.nodes.node_release import Versions, node_release
from facts.hardware import InstanceType, ami_type
from manifests.cache.storage import default_storage_class
from targets.aws_access import AwsAccess
from targets.capacity import partition_of

_LOGS = ["api", "audit", "authenticator", "controllerManager", "scheduler"]
_ADMIN = "arn:{}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


@dataclass(frozen=True, kw_only=True)
class EksClusterArgs:
    """subnets: private subnet ids by zone, of the control plane and CPU nodes. admins: IAM ARNs besides the deployer's.

    listed: whether who deploys is one of them; what that was when the cluster was made stays, whoever deploys later.

    name: what names begin with. whole_name: the cluster's, if it is to be that and no other.
    public_access_from: IPv4 ranges that reach the control plane from the internet; none closes it to the internet.
    private_access_from: those that reach it inside the VPC, besides its nodes.
    cpu_instance: type of the CPU nodes. file_system: driver to install for the model cache, "efs", "fsx" or None.
    log_retention_days: of control-plane logs. tags: for launched instances, such as never change. ssm: whether Session
    Manager reaches nodes. extended_support: whether the cluster may stay on a Kubernetes release that AWS charges more
    for. protected: whether cluster and stack refuse to be deleted. access: as whom the cluster is reached.
    """

    name: str
    whole_name: str | None
    region: str
    versions: Versions
    subnets: Mapping[str, pulumi.Input[str]]
    public_access_from: tuple[str, ...]
    private_access_from: tuple[str, ...]
    admins: tuple[str, ...]
    listed: bool
    cpu_instance: InstanceType
    cpu_nodes: int
    file_system: str | None
    log_retention_days: int
    namespace: str
    create_namespace: bool
    ssm: bool
    extended_support: bool
    protected: bool
    tags: Mapping[str, str]
    access: AwsAccess = field(default_factory=AwsAccess)


class EksCluster(pulumi.ComponentResource):
    """Control plane, add-ons, CPU nodes, the provider for them and the stack's namespace."""

    provider: kubernetes.Provider
    keeper: kubernetes.Provider
    ready: list[pulumi.Resource]
    """What must be there before anything is put into the namespace."""
    kubeconfig: pulumi.Output[str]
    name: pulumi.Output[str]
    arn: pulumi.Output[str]
    security_group_id: pulumi.Output[str]
    """The group that EKS makes; its members reach the control plane and each other."""
    efs_client_role: pulumi.Output[str] | None = None
    """ARN of the role that nodes mount EFS with; None without the driver."""

    def __init__(self, name: str, args: EksClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:EksCluster", name, None, opts)
        self._args = args
        self._child = pulumi.ResourceOptions(parent=self)
        self._partition = partition_of(args.region)
        cluster = self._control_plane()
        admins = self._admins(cluster)
        addons = Addons(
            name=args.name,
            cluster=cluster,
            versions=args.versions,
            partition=self._partition,
            tags=args.tags,
            parent=self,
        )
        network = addons.before_nodes()
        nodes = self._cpu_nodes(cluster, network)
        storage, self.efs_client_role = addons.on_nodes(nodes, args.file_system)
        self.name, self.arn = cluster.name, cluster.arn
        self.security_group_id = api_access.security_group_of(cluster)
        rules = api_access.private_access(
            args.name, self.security_group_id, args.private_access_from, self._child
        )
        self.kubeconfig = api_access.once_it_answers(
            api_access.kubeconfig_of(cluster, args.region, args.access),
            cluster,
            public=args.public_access_from,
            private=args.private_access_from,
            after=[*rules, *admins],
        )
        self.provider = self.keeper = cluster_access.provider(self, kubeconfig=self.kubeconfig)
        there = [*admins, *network, nodes, *storage]
        on_nodes = pulumi.ResourceOptions(parent=self, provider=self.provider, depends_on=there)
        self.ready = [*there, resource(default_storage_class(), on_nodes)]
        if args.create_namespace:
            self.ready.append(cluster_access.namespace(self, args.namespace, self.provider, after=there))
        self.register_outputs({"name": self.name, "kubeconfig": self.kubeconfig})

    def _control_plane(self) -> aws.eks.Cluster:
        args = self._args
        role, attached = iam.role(
            f"{args.name}-control-plane",
            "eks.amazonaws.com",
            iam.CLUSTER_POLICIES,
            self._child,
            self._partition,
        )
        key = aws.kms.Key(
            f"{args.name}-secrets",
            description=f"Kubernetes secrets of EKS cluster {args.name}",
            enable_key_rotation=True,
            deletion_window_in_days=7,
            opts=self._child,
        )
        # Another's log group, or an earlier life's that EKS makes again after it was deleted, has no such name.
        name = args.whole_name or role.name.apply(lambda of_role: f"{args.name}-{of_role.rpartition('-')[2]}")
        # EKS would make the group itself, never to expire and never to be deleted.
        logs = aws.cloudwatch.LogGroup(
            f"{args.name}-control-plane",
            name=pulumi.Output.format("/aws/eks/{0}/cluster", name),
            retention_in_days=args.log_retention_days,
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=self._kept()),
        )
        return aws.eks.Cluster(
            args.name,
            name=name,
            version=args.versions.kubernetes,
            role_arn=role.arn,
            access_config={
                "authentication_mode": "API",
                # EKS lets its maker in by an entry of its own, beside which there can be no second one.
                "bootstrap_cluster_creator_admin_permissions": not args.listed,
            },
            # Ours are pinned to the add-on API and given identities of their own.
            bootstrap_self_managed_addons=False,
            enabled_cluster_log_types=_LOGS,
            encryption_config=aws.eks.ClusterEncryptionConfigArgs(
                provider=aws.eks.ClusterEncryptionConfigProviderArgs(key_arn=key.arn),
                resources=["secrets"],
            ),
            vpc_config=aws.eks.ClusterVpcConfigArgs(
                subnet_ids=list(args.subnets.values()),
                endpoint_private_access=True,
                endpoint_public_access=bool(args.public_access_from),
                public_access_cidrs=list(args.public_access_from) or None,
            ),
            upgrade_policy={"support_type": "EXTENDED" if args.extended_support else "STANDARD"},
            deletion_protection=args.protected,
            opts=pulumi.ResourceOptions(
                # AWS would refuse only once everything on the cluster is gone; Pulumi refuses before it begins.
                parent=self,
                protect=args.protected,
                ignore_changes=[*self._kept(), "accessConfig.bootstrapClusterCreatorAdminPermissions"],
                depends_on=[*attached, logs],
            ),
        )

    def _kept(self) -> list[str]:
        """A name that was chosen once stays; so does that of a cluster from before names were chosen."""
        return [] if self._args.whole_name else ["name"]

    def _admins(self, cluster: aws.eks.Cluster) -> list[pulumi.CustomResource]:
        made: list[pulumi.CustomResource] = []
        for arn in self._args.admins:
            name = f"{self._args.name}-{arn.rpartition(':')[2].replace('/', '-')}"
            entry = aws.eks.AccessEntry(name, cluster_name=cluster.name, principal_arn=arn, opts=self._child)
            made.append(
                aws.eks.AccessPolicyAssociation(
                    name,
                    cluster_name=cluster.name,
                    principal_arn=entry.principal_arn,
                    policy_arn=_ADMIN.format(self._partition),
                    access_scope={"type": "cluster"},
                    opts=self._child,
                )
            )
        return made

    def _cpu_nodes(self, cluster: aws.eks.Cluster, network: list[pulumi.Resource]) -> aws.eks.NodeGroup:
        args = self._args
        name = f"{args.name}-cpu"
        role, attached = iam.role(
            f"{name}-node",
            "ec2.amazonaws.com",
            iam.node_policies(ssm=args.ssm),
            self._child,
            self._partition,
        )
        template = aws.ec2.LaunchTemplate(
            name,
            instance_type=args.cpu_instance.name,
            metadata_options=launch_template.metadata_options(),
            block_device_mappings=launch_template.root_volume(args.cpu_instance),
            tag_specifications=launch_template.tag_specifications(args.tags),
            opts=self._child,
        )
        return aws.eks.NodeGroup(
            name,
            cluster_name=cluster.name,
            node_role_arn=role.arn,
            # No more zones than nodes: a volume's zone must always have one.
            subnet_ids=list(args.subnets.values())[: args.cpu_nodes],
            ami_type=ami_type(args.cpu_instance),
            version=args.versions.kubernetes,
            release_version=node_release(name, args.cpu_instance, args.versions, self._child),
            node_repair_config={"enabled": True},
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            scaling_config={
                "min_size": args.cpu_nodes,
                "max_size": args.cpu_nodes,
                "desired_size": args.cpu_nodes,
            },
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[*network, *attached],
                # Other subnets are another group, whose nodes the volumes of this one's zones could not follow.
                ignore_changes=["subnet_ids"],
            ),
        )
