"""The way to a cluster's API server: its kubeconfig, who is let in, and the wait until it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.cluster.api_reach import wait_for_api, wait_until_known
from components.cluster.kubeconfig import Credentials
from components.cluster.kubeconfig import kubeconfig as kubeconfig_text

PUBLIC_SECONDS, PRIVATE_SECONDS = 300, 1800
"""How long the API server may take to answer: until its name is known, or until somebody has connected the VPC."""
ENTRY_SECONDS = 120
"""How long an access entry may take to be in force; EKS's are so after some seconds."""


@dataclass(frozen=True, kw_only=True)
class ApiAccess:
    """Who reaches the API server, and who administers the cluster."""

    public_from: Sequence[str] = ()
    """IPv4 ranges that reach it from the internet; none closes it to the internet."""
    private_from: Sequence[str] = ()
    """IPv4 ranges that reach it inside the VPC, besides the cluster's nodes."""
    admins: Sequence[str] = ()
    """ARNs of IAM roles and users that administer the cluster, besides whoever makes it."""
    maker_is_listed: bool = False
    """Whether whoever makes the cluster is one of `admins`; what that was when it was made stays."""


def private_access(
    name: str, group: pulumi.Input[str], ranges: Sequence[str], child: pulumi.ResourceOptions
) -> list[aws.vpc.SecurityGroupIngressRule]:
    """Rules that let ranges in inside the VPC; the group that EKS makes lets in its members alone."""
    return [
        aws.vpc.SecurityGroupIngressRule(
            f"{name}-api-{cidr}",
            security_group_id=group,
            description="The API server from networks of the stack's choice",
            cidr_ipv4=cidr,
            ip_protocol="tcp",
            from_port=443,
            to_port=443,
            opts=child,
        )
        for cidr in ranges
    ]


def once_it_answers(
    kubeconfig: pulumi.Output[str],
    cluster: aws.eks.Cluster,
    lets_in: ApiAccess,
    after: Sequence[pulumi.CustomResource],
) -> pulumi.Output[str]:
    """The kubeconfig, once the API server answers: no object is sent into the void, and who waits is told why.

    after: what else lets the caller in. A preview waits for nothing.
    """

    async def answered(known: Sequence[Any]) -> str:
        config, endpoint, authority, *_ = known
        if not pulumi.runtime.is_dry_run():
            seconds = PUBLIC_SECONDS if lets_in.public_from else PRIVATE_SECONDS
            ranges = [*lets_in.public_from, *lets_in.private_from]
            await wait_for_api(endpoint, authority["data"], ranges, seconds=seconds)
            await wait_until_known(config, endpoint, authority["data"], seconds=ENTRY_SECONDS)
        return str(config)

    return pulumi.Output.all(
        kubeconfig, cluster.endpoint, cluster.certificate_authority, *(each.id for each in after)
    ).apply(answered)


def kubeconfig_of(cluster: aws.eks.Cluster, region: str, caller: Credentials) -> pulumi.Output[str]:
    """The kubeconfig of a cluster that is made or read."""
    return pulumi.Output.all(cluster.name, cluster.endpoint, cluster.certificate_authority).apply(
        lambda known: kubeconfig_text(known[0], region, known[1], known[2]["data"], caller)
    )


def security_group_of(cluster: aws.eks.Cluster) -> pulumi.Output[str]:
    """The group that EKS makes for a cluster; known once the cluster is, unlike the rest of its vpc_config."""
    return pulumi.Output.all(cluster.id, cluster.vpc_config.cluster_security_group_id).apply(
        lambda known: str(known[1])
    )
