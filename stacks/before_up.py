"""What an EKS stack must say before anything is made of it. A synth asks AWS nothing, and demands nothing."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from shutil import which

import pulumi
import pulumi_aws as aws

from components.cluster import api_reach
from components.cluster.kubeconfig import HOW_TO_GET_AWS_CLI
from facts.kubernetes_support import STANDARD_SUPPORT_ENDS, in_extended_support, newest
from stacks.plan import StackPlan
from stacks.sections.cluster import AUTO, NewEksClusterSettings
from stacks.settings import PROJECT
from targets.capacity import CapacityKind


def public_ranges(stack: StackPlan, caller: aws.GetCallerIdentityResult) -> tuple[str, ...]:
    """The ranges that reach the API server from the internet, the caller's own address among them where asked for.

    Raises RunError, before any resource, with a line for everything that a deployment of the stack lacks.
    """
    cluster = stack.cluster
    ranges = cluster.public_access_from if isinstance(cluster, NewEksClusterSettings) else ()
    if caller.account_id is None:
        return ranges  # nobody was asked: this is a synth
    if found := [*problems(stack, datetime.now(UTC).date()), *_tools(stack)]:
        raise pulumi.RunError("\n".join(f"{PROJECT}:{problem}" for problem in found))
    return tuple(dict.fromkeys(_own_range() if each == AUTO else each for each in ranges))


def problems(stack: StackPlan, today: date) -> Iterator[str]:
    """A sentence for everything that the stack does not say and a deployment needs. It begins with the key."""
    cluster = stack.cluster
    if isinstance(cluster, NewEksClusterSettings):
        if not cluster.public_access_from and not cluster.private_access_from:
            yield _nobody_gets_in()
        if in_extended_support(cluster.version, today) and not cluster.extended_support:
            yield (
                f"cluster.version: {cluster.version} left EKS's standard support on "
                f"{STANDARD_SUPPORT_ENDS[cluster.version]}; choose a newer release, such as {newest()}, one minor "
                "version at a time, or set cluster.extendedSupport to true and pay 0.60 USD an hour for it"
            )
    if stack.billing.tags.ttl is None:
        yield from _endless(stack)


def _tools(stack: StackPlan) -> Iterator[str]:
    if which("aws") is None:
        yield (
            f"cluster.kind: {stack.cluster.kind} clusters are reached with tokens from the AWS CLI, and no `aws` is "
            f"on PATH; {HOW_TO_GET_AWS_CLI}"
        )


def _nobody_gets_in() -> str:
    """The API server of a new cluster lets in nobody but its own nodes, and everything on it is made through it."""
    here = api_reach.own_address_if_known()
    yours = (
        f"this machine calls from {here}: [{here}/32]"
        if here
        else f"`curl {api_reach.OWN_ADDRESS}` says from where this machine calls"
    )
    return (
        f"cluster.publicAccessFrom: missing, so nobody would reach the cluster to put anything onto it. Name the "
        f"ranges that may ({yours}, or [{AUTO}] for the address of whoever deploys), or for a private one set "
        "cluster.privateAccessFrom to ranges that are connected to its VPC"
    )


def _endless(stack: StackPlan) -> Iterator[str]:
    kinds = (CapacityKind.ON_DEMAND, CapacityKind.SPOT)
    for each in stack.pools:
        if each.pool.instance.gpus and each.pool.runs and each.capacity.kind in kinds:
            yield (
                f"tags.ttl: missing, and {each.pool.nodes} × {each.pool.instance.name} ({each.pool.key}) would be paid "
                "for until somebody ends them; say how long the stack may live, for example 24h, or never"
            )
            return


def _own_range() -> str:
    here = api_reach.own_address_if_known()
    if here is None:
        raise pulumi.RunError(
            f"{PROJECT}:cluster.publicAccessFrom: {AUTO}, but {api_reach.OWN_ADDRESS} did not say from where this "
            "machine calls; name the ranges instead, for example [203.0.113.7/32]"
        )
    return f"{here}/32"
