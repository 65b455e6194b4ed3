"""`leftovers`: what AWS still has of a stack, by the stack's own tags and by those of its cluster's controllers.

IAM roles are not looked at: the tagging service does not list them, and they cost nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import typer
from botocore.exceptions import BotoCoreError, ClientError

from components.aws.session import session as aws_session
from embedded.paths import PROJECT
from embedded.processes import Report
from ops import options
from ops.aws.own import Own, tags_of
from ops.aws.still_there import is_there
from ops.aws.sweep import sweep
from ops.progress import tell
from ops.pulumi import stack_config
from ops.pulumi.stack_file import StackFile
from ops.stack.on_embedded import plan_of
from stacks.plan import StackPlan
from stacks.sections.cluster import AwsCluster, NewEksClusterSettings
from stacks.sections.tags import TagSettings
from targets.errors import UserError

_RETAINED = ("elasticfilesystem", "s3")
"""Services of what `cache.retain` keeps."""
_OF_CLUSTER = (
    "kubernetes.io/cluster/{}",
    "KubernetesCluster",
    "cluster.k8s.amazonaws.com/name",
    "elbv2.k8s.aws/cluster",
)
"""Tags that controllers of a cluster put on volumes, network interfaces and load balancers, by its name."""


class LeftoversError(UserError):
    """Something is left, or AWS does not say what is."""


def leftovers(stack: options.Stack, json_: options.Json = False) -> None:
    """List what AWS still has of a stack that was taken down; ends with 1 if there is something."""
    file = stack_config.load(PROJECT, stack)
    plan = plan_of(file)
    if not isinstance(plan.cluster, AwsCluster):
        nothing = json.dumps({"stack": stack, "region": None, "left": []})
        typer.echo(nothing if json_ else f"{stack} makes nothing on AWS")
        return
    region = plan.cluster.region
    try:
        left = _left(aws_session(region, plan.cluster.aws), file, plan, None, tell if json_ else typer.echo)
    except (BotoCoreError, ClientError) as error:
        raise LeftoversError(f"AWS does not say what is left of {stack}: {error}") from None
    if json_:
        typer.echo(json.dumps({"stack": stack, "region": region, "left": left}, indent=1))
    else:
        typer.echo(f"{len(left)} things with the tags of {stack} are in {region}")
    if left:
        raise typer.Exit(1)


def check(file: StackFile, plan: StackPlan, mine: Own, report: Report) -> None:
    """Sweep up behind a stack that was just taken down, and name what else it left on AWS. mine: from its last state.

    Raises LeftoversError if that is more than it retains. An account that may not ask is told so, and no more.
    """
    if not isinstance(plan.cluster, AwsCluster):
        return
    cluster = plan.cluster
    session = aws_session(cluster.region, cluster.aws)
    try:
        if isinstance(cluster, NewEksClusterSettings):
            # A name that is given is not the stack's alone: an earlier cluster of it may have left volumes to stay.
            sweep(session, mine, _tags(file), report, volumes=cluster.name is None)
        left = _left(session, file, plan, mine, report)
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
    return TagSettings.immutable(project=file.project, stack=file.stack)


def _left(session: Any, file: StackFile, plan: StackPlan, mine: Own | None, report: Report) -> list[str]:
    """ARNs of what is left and not retained; each is told, as what is kept is. Raises botocore's errors.

    mine: what the stack's state knew; None where nothing is known, and whatever has the stack's tags is told.
    """
    cluster = plan.cluster
    assert isinstance(cluster, AwsCluster), "the callers ask for no other"
    name = cluster.name or f"dynamo-{file.stack}" if isinstance(cluster, NewEksClusterSettings) else None
    # Of an earlier life, or of yours: in no state.
    named = {each for each in (plan.cache.bucket, plan.cache.file_system) if each}
    if mine is not None:
        mine = replace(mine, ids=mine.ids | named, cluster=cluster.name if name is None else mine.cluster)
    there = find(session, _tags(file), name, mine, report)
    kept = [
        arn
        for arn in there
        if re.split("[/:]", arn)[-1] in named or (plan.cache.retain and arn.split(":")[2] in _RETAINED)
    ]
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
    listed = {arn: found for each in filters for arn, found in _tagged_resources(session, each)}
    if cluster is not None:
        listed |= _log_groups(session, named)
    there = sorted(arn for arn in listed if is_there(session, arn))
    if mine is None or mine.cluster is None:
        return there
    others = [arn for arn in there if not mine.holds(arn) and not mine.has_cluster_name(listed[arn])]
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


def _tagged_resources(session: Any, filters: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, str]]]:
    """ARNs and tags of what the tagging service lists, which goes on listing for a while what is gone."""
    pages = (
        session.client("resourcegroupstaggingapi").get_paginator("get_resources").paginate(TagFilters=filters)
    )
    for page in pages:
        yield from ((each["ResourceARN"], tags_of(each["Tags"])) for each in page["ResourceTagMappingList"])
