"""What AWS and a cluster's controllers leave when a cluster is destroyed, and nobody else would ever delete."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from embedded.processes import Report
from ops.aws.own import Own, tags_of

_NAMESPACE = "kubernetes.io/created-for/pvc/namespace"
"""Tag that the EBS driver gives a volume: the namespace of its claim."""


def sweep(session: Any, mine: Own, tags: Mapping[str, str], report: Report, *, volumes: bool = True) -> None:
    """Delete a destroyed cluster's log group, and the volumes of claims in namespaces that went with the stack.

    Late log streams make the group again, and it would keep them for ever. A volume's driver deletes it a moment after
    its claim, and goes with the cluster before that. mine: by the stack's last state. tags: of the stack. volumes:
    False where the cluster's name may have been another's. What AWS refuses is told, and stays.
    """
    cluster = mine.cluster
    if cluster is None or not _is_gone(session.client("eks"), cluster, report):
        return
    group = f"/aws/eks/{cluster}/cluster"
    if _done(
        f"log group {group}", partial(session.client("logs").delete_log_group, logGroupName=group), report
    ):
        report(f"deleted  log group {group}, to which EKS had written once more")
    if not volumes:
        return
    ec2, found = session.client("ec2"), list[str]()
    _done("volumes of claims", lambda: found.extend(_volumes(ec2, mine, tags)), report)
    for volume in found:
        if _done(f"volume {volume}", partial(ec2.delete_volume, VolumeId=volume), report):
            report(f"deleted  volume {volume}, whose claim went with the cluster {cluster}")


def _is_gone(eks: Any, cluster: str, report: Report) -> bool:
    try:
        eks.describe_cluster(name=cluster)
    except (BotoCoreError, ClientError) as error:
        if isinstance(error, ClientError) and error.response["Error"]["Code"] == "ResourceNotFoundException":
            return True
        report(f"nothing is swept up: AWS does not say that cluster {cluster} is gone: {error}")
        return False
    report(f"nothing is swept up: cluster {cluster} is there")
    return False


def _done(what: str, work: Callable[[], object], report: Report) -> bool:
    """Whether it was done; what is gone already needs nothing done, and what AWS refuses is told."""
    try:
        work()
    except (BotoCoreError, ClientError) as error:
        if not (isinstance(error, ClientError) and "NotFound" in error.response["Error"]["Code"]):
            report(f"not swept up  {what}: {error}")
        return False
    return True


def _volumes(ec2: Any, mine: Own, tags: Mapping[str, str]) -> list[str]:
    """Ids of those with the stack's tags that nothing is attached to any more, of claims in its own namespaces.

    A cluster has others too: whoever uses it may have claims whose volumes are to outlive it.
    """
    filters = [
        {"Name": "tag-key", "Values": [f"kubernetes.io/cluster/{mine.cluster}"]},
        {"Name": "status", "Values": ["available"]},
        *({"Name": f"tag:{key}", "Values": [value]} for key, value in tags.items()),
    ]
    pages = ec2.get_paginator("describe_volumes").paginate(Filters=filters)
    there = [each for page in pages for each in page["Volumes"]]
    return [each["VolumeId"] for each in there if tags_of(each["Tags"]).get(_NAMESPACE) in mine.namespaces]
