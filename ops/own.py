"""What is a stack's own on AWS, as only its state knows: another person may have a stack of the same name and tags."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_CLUSTER = "aws:eks/cluster:Cluster"


@dataclass(frozen=True)
class Own:
    """ids: ids and ARNs of what it made. cluster: name of the EKS cluster that it made, None if it made none."""

    ids: frozenset[str] = frozenset()
    cluster: str | None = None

    def made(self, arn: str) -> bool:
        """Whether the thing is in the state."""
        return arn in self.ids or arn.rpartition("/")[2] in self.ids or arn.rpartition(":")[2] in self.ids

    def launched(self, tags: Mapping[str, str]) -> bool:
        """Whether the thing bears the name of the cluster, as EKS and controllers give it to what they make."""
        return self.cluster is not None and (
            self.cluster in tags.values() or f"kubernetes.io/cluster/{self.cluster}" in tags
        )


def own(resources: Iterable[Mapping[str, Any]]) -> Own:
    """The own things of a stack. resources: of its state, as Pulumi exports them."""
    ids, cluster = set[str](), None
    for each in resources:
        if not str(each["type"]).startswith("aws:"):
            continue
        outputs = each.get("outputs") or {}
        ids |= {str(known) for known in (each.get("id"), outputs.get("arn")) if known}
        if each["type"] == _CLUSTER and not each.get("external"):
            cluster = str(outputs["name"])
    return Own(frozenset(ids), cluster)


def tags_of(listed: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Tags as most of AWS lists them, by key."""
    return {tag["Key"]: tag["Value"] for tag in listed}
