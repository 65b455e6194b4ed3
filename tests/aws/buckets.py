"""Buckets: a Pulumi resource's inputs made into the calls that its provider would make."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.aws import botocheck

if TYPE_CHECKING:
    from tests.aws.adapters import Account

Made = tuple[str, dict[str, Any]]


class NotFound(Exception):
    """What a data source answers where it finds nothing."""


def made(account: "Account", _: str, given: dict[str, Any]) -> Made:
    """A bucket; the provider ends a prefix with characters of its own."""
    name = f"{given['bucketPrefix']}{account.number():026d}"
    # us-east-1 is where a bucket is that names no region.
    place = None if account.region == "us-east-1" else {"LocationConstraint": account.region}
    account.call("s3", "CreateBucket", Bucket=name, CreateBucketConfiguration=place)
    return name, {"bucket": name, "arn": f"arn:aws:s3:::{name}"}


def gone(account: "Account", name: str, state: dict[str, Any]) -> None:
    """S3 refuses to delete one with objects in it; told to, the provider deletes those first."""
    if state["forceDestroy"]:
        for each in account.call("s3", "ListObjectsV2", Bucket=name).get("Contents", []):
            account.call("s3", "DeleteObject", Bucket=name, Key=each["Key"])
    account.call("s3", "DeleteBucket", Bucket=name)


def closed(account: "Account", _: str, given: dict[str, Any]) -> Made:
    """The block of public access."""
    said = {key[0].upper() + key[1:]: value for key, value in given.items() if key != "bucket"}
    account.call("s3", "PutPublicAccessBlock", Bucket=given["bucket"], PublicAccessBlockConfiguration=said)
    return given["bucket"], {}


def owned(account: "Account", _: str, given: dict[str, Any]) -> Made:
    """Whose the objects are."""
    rules = {"Rules": [{"ObjectOwnership": given["rule"]["objectOwnership"]}]}
    account.call("s3", "PutBucketOwnershipControls", Bucket=given["bucket"], OwnershipControls=rules)
    return given["bucket"], {}


def encrypted(account: "Account", _: str, given: dict[str, Any]) -> Made:
    """How objects are encrypted."""
    (rule,) = given["rules"]
    algorithm = rule["applyServerSideEncryptionByDefault"]["sseAlgorithm"]
    said = {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": algorithm}}]}
    account.call("s3", "PutBucketEncryption", Bucket=given["bucket"], ServerSideEncryptionConfiguration=said)
    return given["bucket"], {}


def ended(account: "Account", _: str, given: dict[str, Any]) -> Made:
    """What S3 ends by itself."""
    rules = [
        {
            "ID": each["id"],
            "Status": each["status"],
            "Filter": {"Prefix": each["filter"]["prefix"]},
            "AbortIncompleteMultipartUpload": {
                "DaysAfterInitiation": int(each["abortIncompleteMultipartUpload"]["daysAfterInitiation"])
            },
        }
        for each in given["rules"]
    ]
    account.call(
        "s3",
        "PutBucketLifecycleConfiguration",
        Bucket=given["bucket"],
        LifecycleConfiguration={"Rules": rules},
    )
    return given["bucket"], {}


def let_in(_: "Account", __: str, given: dict[str, Any]) -> Made:
    """The bucket's policy. moto would obey it without its conditions, and let nobody in; botocore checks the call."""
    for statement in json.loads(given["policy"])["Statement"]:
        assert all(arn.startswith(f"arn:aws:s3:::{given['bucket']}") for arn in statement["Resource"])
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    botocheck.check("s3", "PutBucketPolicy", {"Bucket": given["bucket"], "Policy": given["policy"]})
    return given["bucket"], {}


def not_let_in(_: "Account", name: str, __: dict[str, Any]) -> None:
    """The policy goes."""
    botocheck.check("s3", "DeleteBucketPolicy", {"Bucket": name})


def found(account: "Account", arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The data source getBucket, which heads the bucket in its own region and follows no redirect."""
    name = arguments["bucket"]
    place = account.call("s3", "GetBucketLocation", Bucket=name)["LocationConstraint"] or "us-east-1"
    if place != account.region:
        raise NotFound(
            f"reading S3 Bucket ({name}): operation error S3: HeadBucket, https response error StatusCode: 301, "
            "api error MovedPermanently: Moved Permanently"
        )
    return {"id": name, "bucket": name, "bucketRegion": place}
