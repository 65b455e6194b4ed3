"""IAM roles, each with no more than its one holder needs."""

import json
from collections.abc import Iterable

import pulumi
import pulumi_aws as aws

_MANAGED = "arn:aws:iam::aws:policy"
NODE_POLICIES = (f"{_MANAGED}/AmazonEKSWorkerNodePolicy", f"{_MANAGED}/AmazonEC2ContainerRegistryPullOnly")
"""What EKS requires of a node. Networking and storage drivers have identities of their own."""
CLUSTER_POLICIES = (f"{_MANAGED}/AmazonEKSClusterPolicy",)
CNI_POLICIES = (f"{_MANAGED}/AmazonEKS_CNI_Policy",)
EBS_CSI_POLICIES = (f"{_MANAGED}/service-role/AmazonEBSCSIDriverPolicy",)
EFS_CSI_POLICIES = (f"{_MANAGED}/service-role/AmazonEFSCSIDriverPolicy",)
EFS_CLIENT_POLICIES = (f"{_MANAGED}/AmazonElasticFileSystemClientReadWriteAccess",)
"""What mounting with `iam` needs."""

POD_IDENTITY = "pods.eks.amazonaws.com"
"""The service that hands roles to pods."""


def role(
    name: str, service: str, policies: Iterable[str], child: pulumi.ResourceOptions
) -> tuple[aws.iam.Role, list[pulumi.Resource]]:
    """A role that one AWS service may assume, and its attachments, which must outlive what uses the role."""
    actions = ["sts:AssumeRole", *(["sts:TagSession"] if service == POD_IDENTITY else [])]
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": actions}
    made = aws.iam.Role(
        name,
        assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
        opts=child,
    )
    attached: list[pulumi.Resource] = [
        aws.iam.RolePolicyAttachment(
            f"{name}-{policy.rpartition('/')[2]}", role=made.name, policy_arn=policy, opts=child
        )
        for policy in policies
    ]
    return made, attached
