"""`leftovers`: what AWS still has of a stack, by the stack's own tags and by those of its cluster's controllers.

IAM roles are not looked at: the tagging service does not list them, and they cost nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError, ClientError

from components.aws_session import session as aws_session
from embedded.paths import PROJECT
from embedded.processes import Report
from ops import stack_config
from ops.embedded_stack import settings_of
from ops.errors import OpsError
from ops.own import Own, tags_of
from ops.stack_file import StackFile
from ops.sweep import sweep
from stacks.sections.cluster import AwsCluster, NewEksCluster
from stacks.sections.tags import TagSettings
from stacks.settings import Settings

_OVER = {"terminated", "shutting-down", "deleted", "deleting", "PendingDeletion"}
"""States of what is over or ends by itself, and costs nothing: AWS lists instances for an hour more, keys for days."""
_RETAINED = ("elasticfilesystem", "s3")
"""Services of what `cache.retain` keeps."""
_OF_CLUSTER = (
    "kubernetes.io/cluster/{}",
    "KubernetesCluster",
    "cluster.k8s.amazonaws.com/name",
    "elbv2.k8s.aws/cluster",
)
"""Tags that controllers of a cluster put on volumes, network interfaces and load balancers, by its name."""


class LeftoversError(OpsError):
    """Something is left, or AWS does not say what is."""


def leftovers(stack: Annotated[str, typer.Option(help="Stack, as in Pulumi.<stack>.yaml.")]) -> None:
    """List what AWS still has of a stack that was taken down; ends with 1 if there is something."""
    file = stack_config.load(PROJECT, stack)
    settings = settings_of(file)
    if not isinstance(settings.cluster, AwsCluster):
        typer.echo(f"{stack} makes nothing on AWS")
        return
    try:
        left = _left(file, settings, None, typer.echo)
    except (BotoCoreError, ClientError) as error:
        raise LeftoversError(f"AWS does not say what is left of {stack}: {error}") from None
    typer.echo(f"{len(left)} things with the tags of {stack} are in {settings.cluster.region}")
    if left:
        raise typer.Exit(1)


def check(file: StackFile, settings: Settings, mine: Own, report: Report) -> None:
    """Sweep up behind a stack that was just taken down, and name what else it left on AWS. mine: from its last state.

    Raises LeftoversError if that is more than it retains. An account that may not ask is told so, and no more.
    """
    if not isinstance(settings.cluster, AwsCluster):
        return
    said = settings.cluster
    try:
        if isinstance(said, NewEksCluster):
            # A name that is said is not the stack's alone: an earlier cluster of it may have left volumes to stay.
            session = aws_session(said.region, said.aws)
            sweep(session, mine, _tags(file), report, volumes=said.name is None)
        left = _left(file, settings, mine, report)
    except (BotoCoreError, ClientError) as error:
        report(f"AWS does not say what is left of {file.stack}: {error}")
        return
    if left:
        raise LeftoversError(
            f"--stack: {file.stack} is destroyed, but {len(left)} things with its tags are left and cost money: "
            f"{', '.join(left)}; delete what is yours and not to stay, and look again with `make leftovers "
            f"STACK={file.stack}`"
        )


def _tags(file: StackFile) -> dict[str, str]:
    """Those that all things of the stack have."""
    return TagSettings.fixed(project=file.project, stack=file.stack)


def _left(file: StackFile, settings: Settings, mine: Own | None, report: Report) -> list[str]:
    """ARNs of what is left and not retained; each is told, as what is kept is. Raises botocore's errors.

    mine: what the stack's state knew; None where nothing is known, and whatever has the stack's tags is told.
    """
    said = settings.cluster
    assert isinstance(said, AwsCluster), "the callers ask for no other"
    name = said.name or f"dynamo-{file.stack}" if isinstance(said, NewEksCluster) else None
    if mine is not None and name is None:
        mine = replace(mine, cluster=said.name)
    session = aws_session(said.region, said.aws)
    there = find(session, _tags(file), name, mine, report)
    kept = [arn for arn in there if settings.cache.retain and arn.split(":")[2] in _RETAINED]
    left = [arn for arn in there if arn not in kept]
    for word, arns in (("kept", kept), ("left", left)):
        for arn in arns:
            report(f"{word}  {arn}")
    return left


def find(
    session: Any,
    tags: Mapping[str, str],
    cluster: str | None,
    mine: Own | None = None,
    report: Report = lambda _: None,
) -> list[str]:
    """ARNs of what is there. tags: of the stack. cluster: what the name of one that it made begins with, before the
    characters that made it unlike any other. mine: what the stack's state knew; what has its tags and is neither known
    there nor of its cluster is told apart, unless the cluster's name is not known either. Raises botocore's errors.
    """
    filters = [[{"Key": key, "Values": [value]} for key, value in tags.items()]]
    if cluster is not None:
        exact = mine.cluster if mine is not None else None
        named = re.escape(exact) if exact else re.escape(cluster) + "(-[0-9a-f]{7})?"
        filters += [[each] for key in _OF_CLUSTER for each in _of_cluster(session, key, named)]
    listed = {arn: found for each in filters for arn, found in _listed(session, each)}
    if cluster is not None:
        listed |= _log_groups(session, named)
    there = sorted(arn for arn in listed if _is_there(session, arn))
    if mine is None or mine.cluster is None:
        return there
    others = [arn for arn in there if not mine.made(arn) and not mine.launched(listed[arn])]
    for arn in others:
        report(f"other {arn}: not in this state: of an earlier life, or of another's stack of that name")
    return [arn for arn in there if arn not in others]


def _of_cluster(session: Any, key: str, named: str) -> Iterator[dict[str, Any]]:
    """Filters for the tag of every cluster whose name matches, as far as there are any."""
    client = session.client("resourcegroupstaggingapi")
    if "{}" in key:
        keys = [k for page in client.get_paginator("get_tag_keys").paginate() for k in page["TagKeys"]]
        yield from ({"Key": k} for k in keys if re.fullmatch(re.escape(key).replace(r"\{\}", named), k))
        return
    pages = client.get_paginator("get_tag_values").paginate(Key=key)
    values = [value for page in pages for value in page["TagValues"] if re.fullmatch(named, value)]
    if values:
        yield {"Key": key, "Values": values}


def _log_groups(session: Any, named: str) -> dict[str, dict[str, str]]:
    """Those of clusters whose name matches, by a tag like that of other things: EKS makes them again without."""
    pages = (
        session.client("logs").get_paginator("describe_log_groups").paginate(logGroupNamePrefix="/aws/eks/")
    )
    found = [each for page in pages for each in page["logGroups"]]
    names = {each["arn"].removesuffix(":*"): each["logGroupName"].split("/")[3] for each in found}
    return {arn: {"KubernetesCluster": name} for arn, name in names.items() if re.fullmatch(named, name)}


def _listed(session: Any, filters: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, str]]]:
    """ARNs and tags of what the tagging service lists, which goes on listing for a while what is gone."""
    pages = (
        session.client("resourcegroupstaggingapi").get_paginator("get_resources").paginate(TagFilters=filters)
    )
    for page in pages:
        yield from ((each["ResourceARN"], tags_of(each["Tags"])) for each in page["ResourceTagMappingList"])


def _is_there(session: Any, arn: str) -> bool:
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


def _tagged(ec2: Any, name: str, _: str) -> bool:
    """EC2 forgets the tags of most things with the thing."""
    return bool(ec2.describe_tags(Filters=[{"Name": "resource-id", "Values": [name]}])["Tags"])


def _key(kms: Any, _: str, arn: str) -> bool:
    return kms.describe_key(KeyId=arn)["KeyMetadata"]["KeyState"] not in _OVER


def _cluster(eks: Any, name: str, _: str) -> bool:
    """A cluster, or what ends with it: the second part of both ARNs is the cluster's name."""
    status: str = eks.describe_cluster(name=name.partition("/")[0])["cluster"]["status"]
    return status != "DELETING"


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
    ("ec2", ""): _tagged,
    ("kms", ""): _key,
    ("eks", ""): _cluster,
    ("elasticfilesystem", "file-system"): _file_system,
    ("elasticfilesystem", "access-point"): _access_point,
    ("elasticloadbalancing", "loadbalancer"): _load_balancer,
    ("s3", ""): _bucket,
    ("logs", "log-group"): _log_group,
}
"""By service and kind in the ARN; an empty kind is for all others of the service."""
