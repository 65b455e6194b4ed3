"""An EKS cluster with CPU nodes, ready for a platform and GPU pools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from components.aws import iam
from components.cluster import api_access, cluster_access
from components.cluster.api_access import ApiAccess
from components.cluster.eks_addons import Addons
from components.cluster.kubeconfig import Credentials
from components.manifests import resource
from components.nodes import launch_template
from components.nodes.node_release import Versions, node_release
from facts.hardware import INSTANCE_TYPES, ami_type
from manifests.cache.storage import default_storage_class
from targets.capacity import partition_of, region_of

_LOGS = ["api", "audit", "authenticator", "controllerManager", "scheduler"]
_ADMIN = "arn:{}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


class FileSystem(StrEnum):
    """Shared file systems on AWS."""

    EFS = "efs"
    """Amazon EFS."""
    FSX = "fsx"
    """Amazon FSx for Lustre."""


@dataclass(frozen=True, kw_only=True)
class ControlPlane:
    """What EKS runs of a cluster."""

    name: str | None = None
    """Its whole name, if it is to be that and no other."""
    log_retention_days: int = 30
    """How long its logs are kept."""
    extended_support: bool = False
    """Whether it may stay on a Kubernetes release that AWS charges more for."""
    protected: bool = False
    """Whether Pulumi and AWS refuse to delete it."""


@dataclass(frozen=True, kw_only=True)
class CpuNodes:
    """Nodes without GPUs, for platform, frontends and the download."""

    instance_type: str = field(default="m7i.4xlarge", metadata={"InstanceType": INSTANCE_TYPES})
    """EC2 instance type; graphs' images must be for its architecture."""
    count: int = 3
    """How many, in as many zones."""
    ssm: bool = False
    """Whether Session Manager reaches them."""


@dataclass(frozen=True, kw_only=True)
class EksClusterArgs:
    """The cluster that is wanted."""

    subnets: Mapping[str, pulumi.Input[str]]
    """Private subnets of control plane and CPU nodes, two or more: id by Availability Zone."""
    prefix: str | None = None
    """What names of resources begin with; by default the component's own name."""
    versions: Versions = field(default_factory=Versions)
    """Of control plane, add-ons and nodes."""
    control_plane: ControlPlane = field(default_factory=ControlPlane)
    """What EKS runs."""
    api: ApiAccess = field(default_factory=ApiAccess)
    """Who reaches the API server; by default nobody outside the VPC."""
    cpu_nodes: CpuNodes = field(default_factory=CpuNodes)
    """Nodes without GPUs."""
    file_system: FileSystem | None = None
    """Whose driver is installed, for a model cache; by default none."""
    namespace: str | None = None
    """A namespace to make; by default none."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Of launched instances, their volumes and interfaces; another tag takes other nodes."""
    credentials: Credentials = field(default_factory=Credentials)
    """As whom the cluster is reached."""


class EksCluster(pulumi.ComponentResource):
    """Control plane, add-ons and CPU nodes of an EKS cluster, with its default StorageClass."""

    name: pulumi.Output[str]
    """Name of the cluster."""
    arn: pulumi.Output[str]
    """ARN of the cluster."""
    kubeconfig: pulumi.Output[str]
    """JSON without a credential: whoever `aws eks get-token` finds. Known once the API server answers."""
    security_group_id: pulumi.Output[str]
    """The group that EKS makes; its members reach the control plane and each other."""
    efs_client_role: pulumi.Output[str] | None = None
    """ARN of the role that nodes mount EFS with; none without the driver."""

    def __init__(self, name: str, args: EksClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:EksCluster", name, None, opts)
        self._args, self._prefix = args, args.prefix or name
        self._child = pulumi.ResourceOptions(parent=self)
        region = region_of(next(iter(args.subnets)))
        self._partition = partition_of(region)
        cluster = self._control_plane()
        admins = self._admins(cluster)
        addons = Addons(
            name=self._prefix,
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
            self._prefix, self.security_group_id, args.api.private_from, self._child
        )
        self.kubeconfig = api_access.once_it_answers(
            api_access.kubeconfig_of(cluster, region, args.credentials),
            cluster,
            args.api,
            [*rules, *admins],
        )
        provider = cluster_access.provider(self, kubeconfig=self.kubeconfig)
        self.provider: kubernetes.Provider = provider
        self.keeper: kubernetes.Provider = provider
        there = [*admins, *network, nodes, *storage]
        on_nodes = pulumi.ResourceOptions(parent=self, provider=provider, depends_on=there)
        # What must be there before anything is put onto the cluster.
        self.ready: list[pulumi.Resource] = [*there, resource(default_storage_class(), on_nodes)]
        if args.namespace:
            self.ready.append(cluster_access.namespace(self, args.namespace, provider, after=there))
        self.register_outputs(
            {
                "name": self.name,
                "arn": self.arn,
                "kubeconfig": self.kubeconfig,
                "securityGroupId": self.security_group_id,
                "efsClientRole": self.efs_client_role,
            }
        )

    def _control_plane(self) -> aws.eks.Cluster:
        args, prefix, wanted = self._args, self._prefix, self._args.control_plane
        role, attached = iam.role(
            f"{prefix}-control-plane",
            "eks.amazonaws.com",
            iam.CLUSTER_POLICIES,
            self._child,
            self._partition,
        )
        key = aws.kms.Key(
            f"{prefix}-secrets",
            description=f"Kubernetes secrets of EKS cluster {prefix}",
            enable_key_rotation=True,
            deletion_window_in_days=7,
            opts=self._child,
        )
        # Another's log group, or an earlier life's that EKS makes again after it was deleted, has no such name.
        name = wanted.name or role.name.apply(lambda of_role: f"{prefix}-{of_role.rpartition('-')[2]}")
        # EKS would make the group itself, never to expire and never to be deleted.
        logs = aws.cloudwatch.LogGroup(
            f"{prefix}-control-plane",
            name=pulumi.Output.format("/aws/eks/{0}/cluster", name),
            retention_in_days=wanted.log_retention_days,
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=self._kept()),
        )
        return aws.eks.Cluster(
            prefix,
            name=name,
            version=args.versions.kubernetes,
            role_arn=role.arn,
            access_config={
                "authentication_mode": "API",
                # EKS lets its maker in by an entry of its own, beside which there can be no second one.
                "bootstrap_cluster_creator_admin_permissions": not args.api.maker_is_listed,
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
                endpoint_public_access=bool(args.api.public_from),
                public_access_cidrs=list(args.api.public_from) or None,
            ),
            upgrade_policy={"support_type": "EXTENDED" if wanted.extended_support else "STANDARD"},
            deletion_protection=wanted.protected,
            opts=pulumi.ResourceOptions(
                # AWS would refuse only once everything on the cluster is gone; Pulumi refuses before it begins.
                parent=self,
                protect=wanted.protected,
                ignore_changes=[*self._kept(), "accessConfig.bootstrapClusterCreatorAdminPermissions"],
                depends_on=[*attached, logs],
            ),
        )

    def _kept(self) -> list[str]:
        """A name that was chosen once stays; so does that of a cluster from before names were chosen."""
        return [] if self._args.control_plane.name else ["name"]

    def _admins(self, cluster: aws.eks.Cluster) -> list[pulumi.CustomResource]:
        made: list[pulumi.CustomResource] = []
        for arn in self._args.api.admins:
            name = f"{self._prefix}-{arn.rpartition(':')[2].replace('/', '-')}"
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
        args, name = self._args, f"{self._prefix}-cpu"
        instance, count = INSTANCE_TYPES[args.cpu_nodes.instance_type], args.cpu_nodes.count
        role, attached = iam.role(
            f"{name}-node",
            "ec2.amazonaws.com",
            iam.node_policies(ssm=args.cpu_nodes.ssm),
            self._child,
            self._partition,
        )
        template = aws.ec2.LaunchTemplate(
            name,
            instance_type=instance.name,
            metadata_options=launch_template.metadata_options(),
            block_device_mappings=launch_template.root_volume(instance),
            tag_specifications=launch_template.tag_specifications(args.tags),
            opts=self._child,
        )
        return aws.eks.NodeGroup(
            name,
            cluster_name=cluster.name,
            node_role_arn=role.arn,
            # No more zones than nodes: a volume's zone must always have one.
            subnet_ids=list(args.subnets.values())[:count],
            ami_type=ami_type(instance),
            version=args.versions.kubernetes,
            release_version=node_release(name, instance, args.versions, self._child),
            node_repair_config={"enabled": True},
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            scaling_config={"min_size": count, "max_size": count, "desired_size": count},
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[*network, *attached],
                # Other subnets are another group, whose nodes the volumes of this one's zones could not follow.
                ignore_changes=["subnet_ids"],
            ),
        )
