"""A bucket for models, and who may use it. Only EKS stacks import this module."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.aws import iam
from manifests.cache import bucket
from targets.capacity import partition_of

_PREFIX = "dynamo-gpt-oss-models-"
"""What the bucket's name begins with; AWS adds 26 characters, for names are unique to the world."""
_READ = ("s3:GetObject",)
_WRITE = ("s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload")
_DAYS_OF_AN_UPLOAD = 1


@dataclass(frozen=True, kw_only=True)
class ModelBucketArgs:
    """The bucket, and who uses it."""

    cluster_name: pulumi.Input[str]
    """Name of the EKS cluster that the pods are on."""
    namespace: pulumi.Input[str]
    """Namespace of the pods."""
    region: str
    """Region of the cluster, and of the bucket."""
    readers: Sequence[str]
    """ServiceAccounts of the pods that read."""
    writer: str
    """ServiceAccount of the Job that fills it."""
    bucket: str | None = None
    """Name of one that is there; None for one of the stack's own."""
    retain: bool = False
    """Whether one of the stack's own stays when the stack goes."""


class ModelBucket(pulumi.ComponentResource):
    """The bucket, an identity that reads it for pods of graphs, and one that fills it for the download Job."""

    bucket: pulumi.Output[str]
    """Its name."""

    def __init__(self, name: str, args: ModelBucketArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:ModelBucket", name, None, opts)
        self._name, self._args = name, args
        self.bucket = self._made() if args.bucket is None else self._found(args.bucket)
        self._access("reader", _READ, args.readers)
        self._access("writer", _WRITE, (args.writer,))
        self.register_outputs({"bucket": self.bucket})

    def _found(self, name: str) -> pulumi.Output[str]:
        """Its name, once the cluster's region has answered for it. Nothing about it is changed. Raises RunError."""
        try:
            aws.s3.get_bucket(bucket=name, opts=pulumi.InvokeOptions(parent=self))
        except Exception as error:  # The SDK has no narrower one for what a provider answers.
            raise pulumi.RunError(
                f"{self._name}.bucket: {why_not(name, str(error), self._args.region)}"
            ) from None
        return pulumi.Output.from_input(name)

    def _made(self) -> pulumi.Output[str]:
        """Private and encrypted, for its owner alone, over TLS alone. AWS keeps no versions unless it is asked to."""
        retain = self._args.retain
        kept = pulumi.ResourceOptions(parent=self, retain_on_delete=retain)
        made = aws.s3.Bucket(self._name, bucket_prefix=_PREFIX, force_destroy=not retain, opts=kept)
        closed = aws.s3.BucketPublicAccessBlock(
            self._name,
            bucket=made.bucket,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=kept,
        )
        aws.s3.BucketOwnershipControls(
            self._name, bucket=made.bucket, rule={"object_ownership": "BucketOwnerEnforced"}, opts=kept
        )
        aws.s3.BucketServerSideEncryptionConfiguration(
            self._name,
            bucket=made.bucket,
            rules=[{"apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"}}],
            opts=kept,
        )
        aws.s3.BucketLifecycleConfiguration(
            self._name,
            bucket=made.bucket,
            rules=[
                {
                    "id": "uploads-that-were-cut-off",
                    "status": "Enabled",
                    "filter": {"prefix": ""},
                    "abort_incomplete_multipart_upload": {"days_after_initiation": _DAYS_OF_AN_UPLOAD},
                }
            ],
            opts=kept,
        )
        aws.s3.BucketPolicy(
            self._name,
            bucket=made.bucket,
            policy=made.arn.apply(lambda arn: json.dumps(tls_alone(arn))),
            # S3 refuses one change of a bucket's access while another is under way.
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=retain, depends_on=[closed]),
        )
        return made.bucket

    def _access(self, kind: str, actions: tuple[str, ...], accounts: Sequence[str]) -> None:
        name, child = f"{self._name}-{kind}", pulumi.ResourceOptions(parent=self)
        role, _ = iam.role(name, iam.POD_IDENTITY, (), child)
        partition = partition_of(self._args.region)
        policy = aws.iam.RolePolicy(
            name,
            role=role.name,
            policy=self.bucket.apply(
                lambda made: json.dumps(policy_document(f"arn:{partition}:s3:::{made}", actions))
            ),
            opts=child,
        )
        for account in accounts:
            aws.eks.PodIdentityAssociation(
                f"{self._name}-{account}",
                cluster_name=self._args.cluster_name,
                namespace=self._args.namespace,
                service_account=account,
                role_arn=role.arn,
                opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
            )


def why_not(name: str, answer: str, region: str) -> str:
    """What keeps a bucket from being the models'. answer: of AWS in the cluster's region to the question for it.

    S3 answers for a bucket of another region with a redirect (301), which the provider does not follow.
    """
    if "StatusCode: 301" in answer:
        return (
            f"{name} is not in {region}, where the cluster is: every node would copy the weights between regions, "
            "which costs; name a bucket of the cluster's region, or none"
        )
    return f"{name} cannot be used: {answer}; name a bucket that this account may read, or none"


def tls_alone(arn: str) -> Mapping[str, Any]:
    """A bucket's policy that lets nobody in without TLS. arn: the bucket's."""
    statement = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [arn, f"{arn}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return {"Version": "2012-10-17", "Statement": [statement]}


def policy_document(arn: str, actions: tuple[str, ...]) -> Mapping[str, Any]:
    """An IAM policy for what is below the prefix, and for the list of it. arn: the bucket's."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": list(actions), "Resource": f"{arn}/{bucket.KEYS}"},
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": arn,
                "Condition": {"StringLike": {"s3:prefix": bucket.KEYS}},
            },
        ],
    }
