"""Which operator the stand-in stands in for. Pure."""

from dataclasses import dataclass

from embedded.operator.components import Object
from targets.releases import Version

PROVIDER = "nvidia.com/workload-provider"


@dataclass(frozen=True, kw_only=True)
class Platform:
    """version: release of the operator. grove: whether Grove is on the cluster, so that graphs go to it."""

    version: Version
    grove: bool = False

    @property
    def has_priority_and_least(self) -> bool:
        """Whether graphs have priorityClassName and components minAvailable."""
        return self.version >= Version(1, 3)

    @property
    def reads_components_closely(self) -> bool:
        """Whether the webhook looks at shared memory, sidecar, Grove's update strategy and adapters taken away."""
        return self.version >= Version(1, 3)

    @property
    def keeps_provider(self) -> bool:
        """Whether the recorded provider of a graph cannot be changed."""
        return self.version >= Version(1, 4)

    @property
    def has_runtime_version(self) -> bool:
        """Whether components have runtimeVersionOverride, which an image without a semantic tag then needs.

        An image is demanded since then, too."""
        return self.version >= Version(1, 4)

    @property
    def names_roles(self) -> bool:
        """Whether pods of a v1alpha1 worker with a sub-type are of that type, and all workers' pods name both."""
        return self.version >= Version(1, 2)

    @property
    def reads_component_annotations(self) -> bool:
        """Whether a rollout heeds annotations of the graph and component too, not of the pod template alone."""
        return self.version >= Version(1, 4)

    @property
    def marks_grove_workers(self) -> bool:
        """Whether Grove's worker pods, too, have the hash of their generation."""
        return self.version >= Version(1, 5)


def provider(graph: Object, platform: Platform) -> str:
    """What runs the graph: `grove`, or `component` for Deployments. Once recorded it stays."""
    said = graph["metadata"].get("annotations", {})
    switched_off = said.get("nvidia.com/enable-grove", "").lower() == "false"
    return str(said.get(PROVIDER) or ("grove" if platform.grove and not switched_off else "component"))
