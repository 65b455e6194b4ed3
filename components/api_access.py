"""The way to a new cluster's API server: who is let in, and the wait until it answers."""

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from components.api_reach import wait_for_api

PUBLIC_SECONDS, PRIVATE_SECONDS = 300, 1800
"""How long the API server may take to answer: until its name is known, or until somebody has connected the VPC."""


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
    *,
    public: Sequence[str],
    private: Sequence[str],
    after: Sequence[aws.vpc.SecurityGroupIngressRule],
) -> pulumi.Output[str]:
    """The kubeconfig, once the API server answers: no object is sent into the void, and who waits is told why.

    public, private: ranges that it lets in. A preview waits for nothing.
    """

    async def answered(known: Sequence[Any]) -> str:
        config, endpoint, authority, *_ = known
        if not pulumi.runtime.is_dry_run():
            seconds = PUBLIC_SECONDS if public else PRIVATE_SECONDS
            await wait_for_api(endpoint, authority["data"], [*public, *private], seconds=seconds)
        return str(config)

    return pulumi.Output.all(
        kubeconfig, cluster.endpoint, cluster.certificate_authority, *(rule.id for rule in after)
    ).apply(answered)
