"""Which operator the stand-in stands in for. Pure."""

from dataclasses import dataclass
from typing import Literal

from embedded import nodes
from embedded.operator.components import Object
from facts.releases import Version

GraphVersion = Literal["v1alpha1", "v1beta1"]
"""The API version of DynamoGraphDeployment that is served."""

SIMULATED = {nodes.SIMULATED: "true"}
"""Label of everything that the stand-in creates."""

PROVISIONER = "dynamo-gpt-oss.embedded/rwx"
"""Of the StorageClass whose claims the stand-in binds."""
STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {
        "name": "embedded-rwx",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    },
    "provisioner": PROVISIONER,
    "volumeBindingMode": "Immediate",
}
"""The default class; the stand-in binds its claims, ReadWriteMany ones too."""
PROVIDER = "nvidia.com/workload-provider"


@dataclass(frozen=True, kw_only=True)
class Platform:
    """version: release of the operator. grove: whether Grove is on the cluster, so that graphs go to it."""

    version: Version
    grove: bool = False

    @property
    def names_roles(self) -> bool:
        """Whether pods of a v1alpha1 worker with a sub-type are of that type, and all workers' pods name both."""
        return self.version >= Version(1, 2)

    @property
    def marks_grove_workers(self) -> bool:
        """Whether Grove's worker pods, too, have the hash of their generation."""
        return self.version >= Version(1, 5)


def provider(graph: Object, platform: Platform) -> str:
    """What runs the graph: `grove`, or `component` for Deployments. Once recorded it stays."""
    recorded = graph["metadata"].get("annotations", {}).get(PROVIDER)
    return str(recorded or ("grove" if platform.grove else "component"))
