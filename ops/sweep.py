"""What AWS and a cluster's controllers leave when a cluster is destroyed, and nobody else would ever delete."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from embedded.processes import Report

_NO_SUCH_GROUP = "ResourceNotFoundException"


def sweep(session: Any, cluster: str, report: Report) -> None:
    """Delete a destroyed cluster's log group and the volumes of its claims. cluster: a name that no other ever had.

    Late log streams make the group again, and it would keep them for ever. A volume's driver deletes it a moment after
    its claim, and goes with the cluster before that. Raises botocore's errors.
    """
    _log_group(session.client("logs"), f"/aws/eks/{cluster}/cluster", report)
    ec2 = session.client("ec2")
    for volume in _volumes(ec2, cluster):
        ec2.delete_volume(VolumeId=volume)
        report(f"deleted  volume {volume}, whose claim went with the cluster {cluster}")


def _log_group(logs: Any, name: str, report: Report) -> None:
    try:
        logs.delete_log_group(logGroupName=name)
    except ClientError as error:
        if error.response["Error"]["Code"] == _NO_SUCH_GROUP:
            return
        raise
    report(f"deleted  log group {name}, to which EKS had written once more")


def _volumes(ec2: Any, cluster: str) -> Iterator[str]:
    """Ids of those that nothing is attached to any more."""
    filters = [
        {"Name": "tag-key", "Values": [f"kubernetes.io/cluster/{cluster}"]},
        {"Name": "status", "Values": ["available"]},
    ]
    for page in ec2.get_paginator("describe_volumes").paginate(Filters=filters):
        yield from (each["VolumeId"] for each in page["Volumes"])
