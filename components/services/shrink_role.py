"""What lets the end of a stack's time to live set its GPU node groups to size 0."""

import json
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws import iam
from manifests.services import time_to_live


@dataclass(frozen=True, kw_only=True)
class ShrinkRoleArgs:
    """Whose node groups, and who sets their size."""

    cluster_name: pulumi.Input[str]
    """Name of the EKS cluster."""
    cluster_arn: pulumi.Input[str]
    """ARN of the EKS cluster."""
    namespace: pulumi.Input[str]
    """Namespace of the ServiceAccount."""
    stack: str
    """Value of the tag `stack` on the node groups."""


class ShrinkRole(pulumi.ComponentResource):
    """A role for the CronJob's ServiceAccount, for node groups of the stack and nothing else."""

    def __init__(self, name: str, args: ShrinkRoleArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:ShrinkRole", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        role, _ = iam.role(name, iam.POD_IDENTITY, (), child)
        policy = aws.iam.RolePolicy(
            name,
            role=role.name,
            policy=pulumi.Output.from_input(args.cluster_arn).apply(lambda arn: _policy(arn, args.stack)),
            opts=child,
        )
        aws.eks.PodIdentityAssociation(
            name,
            cluster_name=args.cluster_name,
            namespace=args.namespace,
            service_account=time_to_live.NAME,
            role_arn=role.arn,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
        )
        self.register_outputs({})


def _policy(cluster: str, stack: str) -> str:
    """Rights on one cluster's node groups. cluster: its ARN."""
    groups = f"{cluster.replace(':cluster/', ':nodegroup/')}/*"
    own = {"StringEquals": {"aws:ResourceTag/stack": stack}}
    return json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {"Effect": "Allow", "Action": "eks:ListNodegroups", "Resource": cluster},
                {"Effect": "Allow", "Action": "eks:DescribeNodegroup", "Resource": groups},
                {
                    "Effect": "Allow",
                    "Action": "eks:UpdateNodegroupConfig",
                    "Resource": groups,
                    "Condition": own,
                },
            ],
        }
    )
