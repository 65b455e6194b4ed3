"""Whether a thing on AWS is there: by its ARN, asked of its own service."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ClientError

_OVER = {"terminated", "shutting-down", "deleted", "deleting", "PendingDeletion"}
"""States of what is over or ends by itself, and costs nothing: AWS lists instances for an hour more, keys for days."""


def is_there(session: Any, arn: str) -> bool:
    """Asks the service itself, where it can be asked; of the others the tagging service is believed."""
    service, resource = arn.split(":", 5)[2::3]
    kind, name = re.split("[/:]", resource, maxsplit=1) if re.search("[/:]", resource) else ("", resource)
    look = _LOOKS.get((service, kind)) or _LOOKS.get((service, ""))
    if look is None:
        return True
    try:
        return look(session.client(_CLIENTS.get(service, service)), name, arn)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if "NotFound" in code or "NoSuch" in code:
            return False
        raise


def _instance(ec2: Any, name: str, _: str) -> bool:
    (found,) = ec2.describe_instances(InstanceIds=[name])["Reservations"]
    return found["Instances"][0]["State"]["Name"] not in _OVER


def _volume(ec2: Any, name: str, _: str) -> bool:
    (found,) = ec2.describe_volumes(VolumeIds=[name])["Volumes"]
    return found["State"] not in _OVER


def _nat_gateway(ec2: Any, name: str, _: str) -> bool:
    (found,) = ec2.describe_nat_gateways(NatGatewayIds=[name])["NatGateways"]
    return found["State"] not in _OVER


def _has_tags(ec2: Any, name: str, _: str) -> bool:
    """EC2 forgets the tags of most things with the thing."""
    return bool(ec2.describe_tags(Filters=[{"Name": "resource-id", "Values": [name]}])["Tags"])


def _key(kms: Any, _: str, arn: str) -> bool:
    return kms.describe_key(KeyId=arn)["KeyMetadata"]["KeyState"] not in _OVER


def _cluster(eks: Any, name: str, _: str) -> bool:
    """A cluster, or what ends with it: the second part of both ARNs is the cluster's name."""
    status: str = eks.describe_cluster(name=name.partition("/")[0])["cluster"]["status"]
    return status != "DELETING"


def _node_group(eks: Any, name: str, arn: str) -> bool:
    cluster, group, _ = name.split("/")
    found = eks.describe_nodegroup(clusterName=cluster, nodegroupName=group)["nodegroup"]
    return bool(found["nodegroupArn"] == arn and found["status"] != "DELETING")


def _addon(eks: Any, name: str, arn: str) -> bool:
    cluster, addon, _ = name.split("/")
    found = eks.describe_addon(clusterName=cluster, addonName=addon)["addon"]
    return bool(found["addonArn"] == arn and found["status"] != "DELETING")


def _pod_identity(eks: Any, name: str, _: str) -> bool:
    cluster, association = name.split("/")
    return bool(eks.describe_pod_identity_association(clusterName=cluster, associationId=association))


def _access_entry(eks: Any, name: str, arn: str) -> bool:
    """The ARN has the last part of the principal's name alone: its path is asked for."""
    cluster, kind, account, principal, _ = name.split("/")
    pages = eks.get_paginator("list_access_entries").paginate(clusterName=cluster)
    alike = re.compile(rf"arn:[a-z-]+:iam::{account}:{kind}/(.*/)?{re.escape(principal)}")
    return any(
        eks.describe_access_entry(clusterName=cluster, principalArn=each)["accessEntry"]["accessEntryArn"]
        == arn
        for page in pages
        for each in page["accessEntries"]
        if alike.fullmatch(each)
    )


def _file_system(efs: Any, name: str, _: str) -> bool:
    return bool(efs.describe_file_systems(FileSystemId=name)["FileSystems"])


def _access_point(efs: Any, name: str, _: str) -> bool:
    return bool(efs.describe_access_points(AccessPointId=name)["AccessPoints"])


def _bucket(s3: Any, name: str, _: str) -> bool:
    return bool(s3.get_bucket_location(Bucket=name))


def _load_balancer(elb: Any, _: str, arn: str) -> bool:
    return bool(elb.describe_load_balancers(LoadBalancerArns=[arn])["LoadBalancers"])


def _log_group(logs: Any, name: str, _: str) -> bool:
    found = logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    return any(each["logGroupName"] == name for each in found)


_CLIENTS = {"elasticfilesystem": "efs", "elasticloadbalancing": "elbv2"}
"""boto3's names of services that ARNs call otherwise."""
_LOOKS: Mapping[tuple[str, str], Callable[[Any, str, str], bool]] = {
    ("ec2", "instance"): _instance,
    ("ec2", "volume"): _volume,
    ("ec2", "natgateway"): _nat_gateway,
    ("ec2", ""): _has_tags,
    ("kms", ""): _key,
    ("eks", "nodegroup"): _node_group,
    ("eks", "addon"): _addon,
    ("eks", "podidentityassociation"): _pod_identity,
    ("eks", "access-entry"): _access_entry,
    ("eks", ""): _cluster,
    ("elasticfilesystem", "file-system"): _file_system,
    ("elasticfilesystem", "access-point"): _access_point,
    ("elasticloadbalancing", "loadbalancer"): _load_balancer,
    ("s3", ""): _bucket,
    ("logs", "log-group"): _log_group,
}
"""By service and kind in the ARN; an empty kind is for all others of the service."""
