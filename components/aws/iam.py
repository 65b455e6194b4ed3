"""IAM roles, each with no more than its one holder needs."""

import json
from collections.abc import Iterable

import pulumi
import pulumi_aws as aws

CLUSTER_POLICIES = ("AmazonEKSClusterPolicy",)
CNI_POLICIES = ("AmazonEKS_CNI_Policy",)
EBS_CSI_POLICIES = ("service-role/AmazonEBSCSIDriverPolicy",)
EFS_CSI_POLICIES = ("service-role/AmazonEFSCSIDriverPolicy",)
EFS_CLIENT_POLICIES = ("AmazonElasticFileSystemClientReadWriteAccess",)
"""Policies that AWS manages, by the end of their ARN."""
_NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
_SSM_POLICY = "AmazonSSMManagedInstanceCore"

POD_IDENTITY = "pods.eks.amazonaws.com"
"""The service that hands roles to pods."""


def node_policies(*, ssm: bool) -> tuple[str, ...]:
    """What EKS requires of a node; networking and storage drivers have identities of their own.

    ssm: and what Session Manager does, the way into a node that does not join.
    """
    return (*_NODE_POLICIES, _SSM_POLICY) if ssm else _NODE_POLICIES


def role(
    name: str, service: str, policies: Iterable[str], child: pulumi.ResourceOptions, partition: str = "aws"
) -> tuple[aws.iam.Role, list[pulumi.Resource]]:
    """A role that one AWS service may assume, and its attachments, which must outlive what uses the role.

    policies: such as AWS manages. partition: the part of AWS that the role is for, as ARNs have it.
    """
    actions = ["sts:AssumeRole", *(["sts:TagSession"] if service == POD_IDENTITY else [])]
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": actions}
    made = aws.iam.Role(
        name,
        assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
        opts=child,
    )
    attached: list[pulumi.Resource] = [
        aws.iam.RolePolicyAttachment(
            f"{name}-{policy.rpartition('/')[2]}",
            role=made.name,
            policy_arn=f"arn:{partition}:iam::aws:policy/{policy}",
            opts=child,
        )
        for policy in policies
    ]
    return made, attached
