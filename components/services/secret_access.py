"""Access of External Secrets to secrets in AWS Secrets Manager. Only EKS stacks import this module."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws import iam
from facts.versions import EXTERNAL_SECRETS
from manifests.services.charts import EXTERNAL_SECRETS_ACCOUNT
from manifests.services.secrets import AwsSecret
from targets.capacity import partition_of

_ANY_SUFFIX = "-??????"
"""Secrets Manager adds a hyphen and six characters to the name in an ARN."""


@dataclass(frozen=True, kw_only=True)
class SecretAccessArgs:
    """Who may read what."""

    cluster_name: pulumi.Input[str]
    """Name of the EKS cluster."""
    secrets: Sequence[AwsSecret]
    """Those that may be read, and no others."""


class SecretAccess(pulumi.ComponentResource):
    """A pod identity for External Secrets' service account that reads the named secrets.

    A secret encrypted with a customer's own KMS key needs kms:Decrypt on it in the key's policy besides.
    """

    def __init__(self, name: str, args: SecretAccessArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:SecretAccess", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        role, _ = iam.role(name, iam.POD_IDENTITY, (), child)
        policy = aws.iam.RolePolicy(
            name, role=role.name, policy=json.dumps(policy_document(args.secrets)), opts=child
        )
        aws.eks.PodIdentityAssociation(
            name,
            cluster_name=args.cluster_name,
            namespace=EXTERNAL_SECRETS.namespace,
            service_account=EXTERNAL_SECRETS_ACCOUNT,
            role_arn=role.arn,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
        )
        self.register_outputs({})


def policy_document(secrets: Sequence[AwsSecret]) -> dict[str, object]:
    """An IAM policy that reads these secrets."""
    statement = {
        "Effect": "Allow",
        "Action": ["secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret"],
        "Resource": sorted({_arn(secret) for secret in secrets}),
    }
    return {"Version": "2012-10-17", "Statement": [statement]}


def _arn(secret: AwsSecret) -> str:
    if secret.name.startswith("arn:"):
        return secret.name
    # Another account's secret of that name stays closed unless its own policy opens it.
    return f"arn:{partition_of(secret.region)}:secretsmanager:{secret.region}:*:secret:{secret.name}{_ANY_SUFFIX}"
