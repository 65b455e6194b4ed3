"""What every kind of cluster needs: a provider, and the namespace that the stack works in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pulumi
import pulumi_kubernetes as kubernetes

from components.manifests import resource
from manifests import objects
from manifests.names import RETAINED


class Cluster(Protocol):
    """Any kind of cluster, to those who only put objects onto it."""

    provider: kubernetes.Provider
    keeper: kubernetes.Provider
    """The provider of what may outlive the stack, which takes over what an earlier one left."""
    ready: list[pulumi.Resource]
    """What must be there before anything is put onto the cluster."""


@dataclass(frozen=True, kw_only=True)
class WorkNamespace:
    """The namespace that a stack works in."""

    name: str
    make: bool = True
    """Whether it is made."""
    retain: bool = False
    """Whether a made one outlives the stack with what is kept in it, to be taken over by a later one."""


class Access(NamedTuple):
    """What a `Cluster` has."""

    provider: kubernetes.Provider
    keeper: kubernetes.Provider
    ready: list[pulumi.Resource]


def access(
    parent: pulumi.Resource,
    wanted: WorkNamespace,
    kubeconfig: pulumi.Input[str] | None,
    context: str | None = None,
) -> Access:
    """Access to a cluster that is there, and the namespace on it."""
    own = provider(parent, kubeconfig=kubeconfig, context=context)
    keeper = own
    if wanted.retain:
        keeper = provider(parent, kubeconfig=kubeconfig, context=context, takes_over=True)
    made = [namespace(parent, wanted.name, keeper, retain=wanted.retain)] if wanted.make else []
    return Access(own, keeper, made)


def provider(
    parent: pulumi.Resource,
    *,
    kubeconfig: pulumi.Input[str] | None,
    context: str | None = None,
    takes_over: bool = False,
) -> kubernetes.Provider:
    """The provider of the stack's cluster. takes_over: one more, for what an earlier stack left for this one alone."""
    return kubernetes.Provider(
        "cluster-retained" if takes_over else "cluster",
        kubeconfig=kubeconfig,
        context=context,
        # In place: a new token or engine file must not take the old object away first.
        enable_secret_mutable=True,
        enable_config_map_mutable=True,
        # Of all other objects one that is there already is somebody else's.
        upsert_existing_objects=takes_over,
        opts=pulumi.ResourceOptions(parent=parent),
    )


def namespace(
    parent: pulumi.Resource,
    name: str,
    by: kubernetes.Provider,
    *,
    retain: bool = False,
    after: list[pulumi.Resource] | None = None,
) -> pulumi.Resource:
    """The namespace. retain: it outlives the stack with what is kept in it."""
    return resource(
        objects.namespace(name, RETAINED if retain else None),
        pulumi.ResourceOptions(parent=parent, provider=by, depends_on=after, retain_on_delete=retain),
    )


def on(cluster: Cluster, needed: Sequence[pulumi.Resource] = ()) -> pulumi.ResourceOptions:
    """For components on the cluster."""
    return pulumi.ResourceOptions(
        providers={"kubernetes": cluster.provider}, depends_on=[*cluster.ready, *needed]
    )


def directly_on(cluster: Cluster) -> pulumi.ResourceOptions:
    """For single objects on the cluster."""
    return pulumi.ResourceOptions(provider=cluster.provider, depends_on=list(cluster.ready))
