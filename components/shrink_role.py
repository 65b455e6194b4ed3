"""What lets the end of a stack's time to live set its GPU node groups to size 0."""

import json
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components import iam
from graphs import time_to_live


@dataclass(frozen=True, kw_only=True)
class ShrinkRoleArgs:
    """cluster_name: EKS cluster. stack: value of the tag `stack` on its node groups."""

    cluster_name: pulumi.Input[str]
    namespace: str
    stack: str


class ShrinkRole(pulumi.ComponentResource):
    """A role for the CronJob's ServiceAccount, for node groups of the stack and nothing else."""

    def __init__(self, name: str, args: ShrinkRoleArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:ShrinkRole", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        role, _ = iam.role(name, iam.POD_IDENTITY, (), child)
        policy = aws.iam.RolePolicy(name, role=role.name, policy=json.dumps(_policy(args.stack)), opts=child)
        aws.eks.PodIdentityAssociation(
            name,
            cluster_name=args.cluster_name,
            namespace=args.namespace,
            service_account=time_to_live.NAME,
            role_arn=role.arn,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
        )
        self.register_outputs({})


def _policy(stack: str) -> dict[str, object]:
    own = {"StringEquals": {"aws:ResourceTag/stack": stack}}
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": ["eks:ListNodegroups", "eks:DescribeNodegroup"], "Resource": "*"},
            {"Effect": "Allow", "Action": "eks:UpdateNodegroupConfig", "Resource": "*", "Condition": own},
        ],
    }
