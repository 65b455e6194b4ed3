"""An EKS cluster with CPU nodes, ready for a platform and GPU pools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from components import cluster_access, iam, launch_template
from components.kubeconfig import kubeconfig
from graphs.names import MANAGED_BY
from targets.aws_access import AwsAccess
from targets.hardware import InstanceType, ami_type

_LOGS = ["api", "audit", "authenticator", "controllerManager", "scheduler"]
_ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


@dataclass(frozen=True, kw_only=True)
class EksClusterArgs:
    """subnets: private subnet ids by zone, of the control plane and CPU nodes. admins: IAM ARNs besides the deployer.

    public_access_from: IPv4 ranges that reach the control plane from the internet; none closes it to the internet.
    cpu_instance: type of the CPU nodes. file_system: driver to install for the model cache, "efs", "fsx" or None.
    log_retention_days: of control-plane logs. tags: for launched instances. access: as whom the cluster is reached.
    """

    name: str
    region: str
    version: str
    subnets: Mapping[str, pulumi.Input[str]]
    public_access_from: tuple[str, ...]
    admins: tuple[str, ...]
    cpu_instance: InstanceType
    cpu_nodes: int
    file_system: str | None
    log_retention_days: int
    namespace: str
    create_namespace: bool
    tags: Mapping[str, str]
    access: AwsAccess = field(default_factory=AwsAccess)


class EksCluster(pulumi.ComponentResource):
    """Control plane, add-ons, CPU nodes, the provider for them and the stack's namespace."""

    provider: kubernetes.Provider
    ready: list[pulumi.Resource]
    """What must be there before anything is put into the namespace."""
    kubeconfig: pulumi.Output[str]
    name: pulumi.Output[str]
    security_group_id: pulumi.Output[str]
    """The group that EKS makes; its members reach the control plane and each other."""
    efs_client_role: pulumi.Output[str] | None = None
    """ARN of the role that nodes mount EFS with; None without the driver."""

    def __init__(self, name: str, args: EksClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:EksCluster", name, None, opts)
        self._args = args
        self._child = pulumi.ResourceOptions(parent=self)
        cluster = self._control_plane()
        admins = self._admins(cluster)
        network = self._node_addons(cluster)
        nodes = self._cpu_nodes(cluster, network)
        storage = self._workload_addons(cluster, nodes)
        self.name = cluster.name
        self.security_group_id = security_group_of(cluster)
        self.kubeconfig = kubeconfig_of(cluster, args.region, args.access)
        self.provider = cluster_access.provider(self, kubeconfig=self.kubeconfig)
        there = [*admins, *network, nodes, *storage]
        self.ready = [*there, self._default_storage_class(there)]
        if args.create_namespace:
            self.ready.append(cluster_access.namespace(self, args.namespace, self.provider, after=there))
        self.register_outputs({"name": self.name, "kubeconfig": self.kubeconfig})

    def _control_plane(self) -> aws.eks.Cluster:
        args = self._args
        role, attached = iam.role(
            f"{args.name}-control-plane", "eks.amazonaws.com", iam.CLUSTER_POLICIES, self._child
        )
        key = aws.kms.Key(
            f"{args.name}-secrets",
            description=f"Kubernetes secrets of EKS cluster {args.name}",
            enable_key_rotation=True,
            deletion_window_in_days=7,
            opts=self._child,
        )
        # EKS would make the group itself, never to expire and never to be deleted.
        logs = aws.cloudwatch.LogGroup(
            f"{args.name}-control-plane",
            name=f"/aws/eks/{args.name}/cluster",
            retention_in_days=args.log_retention_days,
            opts=self._child,
        )
        return aws.eks.Cluster(
            args.name,
            name=args.name,
            version=args.version,
            role_arn=role.arn,
            access_config={
                "authentication_mode": "API",
                "bootstrap_cluster_creator_admin_permissions": True,
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
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*attached, logs]),
        )

    def _admins(self, cluster: aws.eks.Cluster) -> list[pulumi.Resource]:
        made: list[pulumi.Resource] = []
        for arn in self._args.admins:
            name = f"{self._args.name}-{arn.rpartition(':')[2].replace('/', '-')}"
            entry = aws.eks.AccessEntry(name, cluster_name=cluster.name, principal_arn=arn, opts=self._child)
            made.append(
                aws.eks.AccessPolicyAssociation(
                    name,
                    cluster_name=cluster.name,
                    principal_arn=entry.principal_arn,
                    policy_arn=_ADMIN,
                    access_scope={"type": "cluster"},
                    opts=self._child,
                )
            )
        return made

    def _node_addons(self, cluster: aws.eks.Cluster) -> list[pulumi.Resource]:
        """DaemonSets that nodes need to become ready, so before any node."""
        agent = self._addon(cluster, "eks-pod-identity-agent")
        return [
            agent,
            self._addon(cluster, "kube-proxy"),
            self._addon(cluster, "vpc-cni", ("aws-node", iam.CNI_POLICIES), after=[agent]),
        ]

    def _workload_addons(self, cluster: aws.eks.Cluster, nodes: pulumi.Resource) -> list[pulumi.Resource]:
        """Add-ons whose pods need a node to run on."""
        addons = [
            self._addon(cluster, "coredns", after=[nodes]),
            self._addon(
                cluster, "aws-ebs-csi-driver", ("ebs-csi-controller-sa", iam.EBS_CSI_POLICIES), after=[nodes]
            ),
        ]
        if self._args.file_system == "efs":
            addons.append(self._efs_driver(cluster, nodes))
        elif self._args.file_system == "fsx":
            # It only mounts what the stack makes, which needs no rights on AWS.
            addons.append(self._addon(cluster, "aws-fsx-csi-driver", after=[nodes]))
        return list(addons)

    def _efs_driver(self, cluster: aws.eks.Cluster, nodes: pulumi.Resource) -> aws.eks.Addon:
        """The EFS driver: its DaemonSet mounts as a role of its own, its controller serves other stacks' claims."""
        role, attached = iam.role(
            f"{self._args.name}-efs-mounts", iam.POD_IDENTITY, iam.EFS_CLIENT_POLICIES, self._child
        )
        self.efs_client_role = role.arn
        mounts = aws.eks.AddonPodIdentityAssociationArgs(service_account="efs-csi-node-sa", role_arn=role.arn)
        controller = ("efs-csi-controller-sa", iam.EFS_CSI_POLICIES)
        return self._addon(
            cluster, "aws-efs-csi-driver", controller, after=[nodes, *attached], identities=[mounts]
        )

    def _addon(
        self,
        cluster: aws.eks.Cluster,
        addon: str,
        identity: tuple[str, tuple[str, ...]] | None = None,
        after: list[pulumi.Resource] | None = None,
        identities: Sequence[aws.eks.AddonPodIdentityAssociationArgs] = (),
    ) -> aws.eks.Addon:
        """An add-on, in AWS's default version for the cluster's Kubernetes.

        identity: its service account, and the policies of the role that it gets. identities: of its other accounts.
        """
        name, needed = f"{self._args.name}-{addon}", list(after or [])
        identities = list(identities)
        if identity is not None:
            account, policies = identity
            role, attached = iam.role(name, iam.POD_IDENTITY, policies, self._child)
            needed += attached
            identities.append(
                aws.eks.AddonPodIdentityAssociationArgs(service_account=account, role_arn=role.arn)
            )
        return aws.eks.Addon(
            name,
            cluster_name=cluster.name,
            addon_name=addon,
            pod_identity_associations=identities,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            opts=pulumi.ResourceOptions(parent=self, depends_on=needed),
        )

    def _cpu_nodes(self, cluster: aws.eks.Cluster, network: list[pulumi.Resource]) -> aws.eks.NodeGroup:
        args = self._args
        name = f"{args.name}-cpu"
        role, attached = iam.role(f"{name}-node", "ec2.amazonaws.com", iam.NODE_POLICIES, self._child)
        template = aws.ec2.LaunchTemplate(
            name,
            instance_type=args.cpu_instance.name,
            metadata_options=launch_template.metadata_options(),
            block_device_mappings=launch_template.root_volume(),
            tag_specifications=launch_template.tag_specifications(args.tags),
            opts=self._child,
        )
        return aws.eks.NodeGroup(
            name,
            cluster_name=cluster.name,
            node_role_arn=role.arn,
            subnet_ids=list(args.subnets.values()),
            ami_type=ami_type(args.cpu_instance),
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            scaling_config={
                "min_size": args.cpu_nodes,
                "max_size": args.cpu_nodes,
                "desired_size": args.cpu_nodes,
            },
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*network, *attached]),
        )

    def _default_storage_class(self, there: list[pulumi.Resource]) -> kubernetes.storage.v1.StorageClass:
        """EKS marks none as default, and its own class does not encrypt."""
        return kubernetes.storage.v1.StorageClass(
            "gp3",
            metadata={
                "name": "gp3",
                "labels": dict(MANAGED_BY),
                "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
            },
            provisioner="ebs.csi.aws.com",
            parameters={"type": "gp3", "encrypted": "true"},
            volume_binding_mode="WaitForFirstConsumer",
            opts=pulumi.ResourceOptions(parent=self, provider=self.provider, depends_on=there),
        )


def kubeconfig_of(cluster: aws.eks.Cluster, region: str, access: AwsAccess) -> pulumi.Output[str]:
    """The kubeconfig of a cluster that is made or read."""
    return pulumi.Output.all(cluster.name, cluster.endpoint, cluster.certificate_authority).apply(
        lambda known: kubeconfig(known[0], region, known[1], known[2]["data"], access)
    )


def security_group_of(cluster: aws.eks.Cluster) -> pulumi.Output[str]:
    """The group that EKS makes for a cluster; known once the cluster is, unlike the rest of its vpc_config."""
    return pulumi.Output.all(cluster.id, cluster.vpc_config.cluster_security_group_id).apply(
        lambda known: str(known[1])
    )
