"""EKS's add-ons, each with no more rights than it needs and in a version that stays until it is moved."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.aws import iam
from components.aws.held import held
from components.nodes.node_release import Versions


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What a pod identity gives: to which service account, and which policies."""

    service_account: str
    policies: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Addons:
    """Of one cluster. name: of the cluster, for names. tags: of volumes and interfaces, by which what is left is found.

    partition: the part of AWS, as ARNs have it. parent: owner of the resources.
    """

    name: str
    cluster: aws.eks.Cluster
    versions: Versions
    partition: str
    tags: Mapping[str, str]
    parent: pulumi.Resource

    def before_nodes(self) -> list[pulumi.Resource]:
        """DaemonSets that nodes need to become ready."""
        agent = self._addon("eks-pod-identity-agent")
        return [
            agent,
            self._addon("kube-proxy"),
            self._addon(
                "vpc-cni",
                Identity(service_account="aws-node", policies=iam.CNI_POLICIES),
                values={"env": {"ADDITIONAL_ENI_TAGS": json.dumps(dict(self.tags), sort_keys=True)}},
                after=[agent],
            ),
        ]

    def on_nodes(
        self, nodes: pulumi.Resource, file_system: str | None
    ) -> tuple[list[pulumi.Resource], pulumi.Output[str] | None]:
        """Add-ons whose pods need a node to run on, and the ARN of the role that nodes mount EFS with, if any does.

        file_system: driver for the model cache, "efs", "fsx" or None.
        """
        addons: list[pulumi.Resource] = [
            self._addon("coredns", after=[nodes]),
            # Tells EKS's node repair of broken GPUs, kernels and networks; without it only of nodes that are not ready.
            self._addon("eks-node-monitoring-agent", after=[nodes]),
            self._addon(
                "aws-ebs-csi-driver",
                Identity(service_account="ebs-csi-controller-sa", policies=iam.EBS_CSI_POLICIES),
                values={"controller": {"extraVolumeTags": dict(self.tags)}},
                after=[nodes],
            ),
        ]
        if file_system == "efs":
            driver, client_role = self._efs_driver(nodes)
            return [*addons, driver], client_role
        if file_system == "fsx":
            # It only mounts what the stack makes, which needs no rights on AWS.
            addons.append(self._addon("aws-fsx-csi-driver", after=[nodes]))
        return addons, None

    def _efs_driver(self, nodes: pulumi.Resource) -> tuple[aws.eks.Addon, pulumi.Output[str]]:
        """The EFS driver: its DaemonSet mounts as a role of its own, its controller serves other stacks' claims."""
        child = pulumi.ResourceOptions(parent=self.parent)
        role, attached = iam.role(
            f"{self.name}-efs-mounts", iam.POD_IDENTITY, iam.EFS_CLIENT_POLICIES, child, self.partition
        )
        # An association of its own: of the add-on's service accounts EKS lets it have one for the controller's alone
        # (aws-efs-csi-driver#1759). Before the driver, for a pod learns of its identity when it is made.
        mounts = aws.eks.PodIdentityAssociation(
            f"{self.name}-efs-mounts",
            cluster_name=self.cluster.name,
            namespace="kube-system",
            service_account="efs-csi-node-sa",
            role_arn=role.arn,
            opts=pulumi.ResourceOptions(parent=self.parent, depends_on=attached),
        )
        controller = Identity(service_account="efs-csi-controller-sa", policies=iam.EFS_CSI_POLICIES)
        return self._addon("aws-efs-csi-driver", controller, after=[nodes, mounts]), role.arn

    def _addon(
        self,
        addon: str,
        identity: Identity | None = None,
        values: Mapping[str, Any] | None = None,
        after: Sequence[pulumi.Resource] = (),
    ) -> aws.eks.Addon:
        """An add-on. identity: what one of its service accounts may do."""
        name, child = f"{self.name}-{addon}", pulumi.ResourceOptions(parent=self.parent)
        found = aws.eks.get_addon_version_output(
            addon_name=addon,
            kubernetes_version=self.versions.kubernetes,
            opts=pulumi.InvokeOutputOptions(parent=self.parent),
        )
        version = held(
            f"{name}-version", found.apply(lambda known: known.version), self.versions.until, child
        )
        needed, identities = [*after], []
        if identity is not None:
            role, attached = iam.role(name, iam.POD_IDENTITY, identity.policies, child, self.partition)
            needed += attached
            identities = [
                aws.eks.AddonPodIdentityAssociationArgs(
                    service_account=identity.service_account, role_arn=role.arn
                )
            ]
        return aws.eks.Addon(
            name,
            cluster_name=self.cluster.name,
            addon_name=addon,
            addon_version=version,
            configuration_values=None if values is None else json.dumps(values, sort_keys=True),
            pod_identity_associations=identities,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            opts=pulumi.ResourceOptions(parent=self.parent, depends_on=needed),
        )
