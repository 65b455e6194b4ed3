"""What is a stack's own on AWS, as only its state knows: another person may have a stack of the same name and tags."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_STACK = "pulumi:pulumi:Stack"
_CLUSTER = "aws:eks/cluster:Cluster"
_LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
_NAMESPACE = "kubernetes:core/v1:Namespace"
_RELEASE = "kubernetes:helm.sh/v3:Release"
_REGIONAL = {"ec2", "eks", "logs"}
"""Services whose things stand where the cluster does; images may be built in another region."""


@dataclass(frozen=True)
class Own:
    """ids: ids and ARNs of what it made. cluster: name of the EKS cluster that it made, None if none is known.

    region: where its things stand, None if there are none. namespaces: those that it makes on its cluster and that end
    with the stack.
    """

    ids: frozenset[str] = frozenset()
    cluster: str | None = None
    region: str | None = None
    namespaces: frozenset[str] = frozenset()

    def holds(self, arn: str) -> bool:
        """Whether the thing is in the state."""
        return arn in self.ids or arn.rpartition("/")[2] in self.ids or arn.rpartition(":")[2] in self.ids

    def has_cluster_name(self, tags: Mapping[str, str]) -> bool:
        """Whether the thing bears the name of the cluster, as EKS and controllers give it to what they make."""
        return self.cluster is not None and (
            self.cluster in tags.values() or f"kubernetes.io/cluster/{self.cluster}" in tags
        )


def find_own(resources: Iterable[Mapping[str, Any]]) -> Own:
    """The own things of a stack. resources: of its state, as Pulumi exports them.

    A destroy that was broken off took cluster and namespaces out of the state; the stack's outputs go last.
    """
    there = [each for each in resources if not each.get("external")]
    of_aws = [each for each in there if str(each["type"]).startswith("aws:")]
    arns = {str(_outputs(each).get("arn") or "") for each in of_aws}
    outputs = next((_outputs(each) for each in there if each["type"] == _STACK), {})
    retained = {name for each in there if each.get("retainOnDelete") for name in _namespaces(each)}
    regions = {arn.split(":")[3] for arn in arns if arn and arn.split(":")[2] in _REGIONAL}
    return Own(
        ids=frozenset(({str(each.get("id") or "") for each in of_aws} | arns) - {""}),
        cluster=next(_cluster_names(of_aws), None) or outputs.get("cluster"),
        region=min(regions, default=None),
        namespaces=frozenset(
            {name for each in there for name in _namespaces(each)} | set(outputs.get("namespaces") or ())
        )
        - retained,
    )


def _outputs(resource: Mapping[str, Any]) -> Mapping[str, Any]:
    return resource.get("outputs") or {}


def _cluster_names(of_aws: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """As the cluster says it, and as its log group does, which goes later."""
    for each in of_aws:
        name = str(_outputs(each).get("name"))
        if each["type"] == _CLUSTER:
            yield name
        elif each["type"] == _LOG_GROUP and name.startswith("/aws/eks/"):
            yield name.split("/")[3]


def _namespaces(resource: Mapping[str, Any]) -> Iterator[str]:
    """Those that a resource makes."""
    inputs = resource.get("inputs") or {}
    if resource["type"] == _NAMESPACE:
        yield inputs["metadata"]["name"]
    elif resource["type"] == _RELEASE and inputs.get("createNamespace"):
        yield inputs["namespace"]


def tags_of(listed: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Tags as most of AWS lists them, by key."""
    return {tag["Key"]: tag["Value"] for tag in listed}
