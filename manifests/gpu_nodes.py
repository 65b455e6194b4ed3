"""Nodes with GPUs: one record each for a pool and for its taint, in the words of all that speak of them. Pure.

Node groups on EKS put labels and taint on, pods select and tolerate them, simulated nodes have them.
"""

from dataclasses import dataclass
from typing import Any

from manifests.names import POOL_LABEL
from targets.knobs import MAIN_POOL

GPU_PRESENT_LABEL = "nvidia.com/gpu.present"
GPU_PRODUCT_LABEL = "nvidia.com/gpu.product"
ARCH_LABEL = "kubernetes.io/arch"


@dataclass(frozen=True)
class Taint:
    """What keeps off a node whoever does not say that it may be there. effect: as Kubernetes spells it."""

    key: str
    value: str
    effect: str = "NoSchedule"

    @property
    def on_node(self) -> dict[str, str]:
        """As a Node has it."""
        return {"key": self.key, "value": self.value, "effect": self.effect}

    @property
    def on_node_group(self) -> dict[str, str]:
        """As EKS is asked for it, with a spelling of its own."""
        return {**self.on_node, "effect": {"NoSchedule": "NO_SCHEDULE"}[self.effect]}

    @property
    def toleration(self) -> dict[str, str]:
        """Of pods: whatever the taint's value, which differs between clusters."""
        return {"key": self.key, "operator": "Exists", "effect": self.effect}


GPU_TAINT = Taint("nvidia.com/gpu", "true")


@dataclass(frozen=True, kw_only=True)
class GpuNodes:
    """The nodes of a GPU pool. product: the GPU's, as GPU Feature Discovery writes it. pool: its name.

    alike: other pools of that product, from which a label tells it apart. Elsewhere the product is enough, so that
    nodes of a cluster that was there need no label of ours.
    """

    product: str
    pool: str = MAIN_POOL
    alike: tuple[str, ...] = ()

    @property
    def labels(self) -> dict[str, str]:
        """What a node of the pool is labelled with."""
        return {GPU_PRESENT_LABEL: "true", GPU_PRODUCT_LABEL: self.product, **pool_labels(self.pool)}

    def selector(self, arch: str) -> list[dict[str, Any]]:
        """Match expressions that hold for nodes of the pool and no others."""
        found = [
            among(GPU_PRESENT_LABEL, "true"),
            among(GPU_PRODUCT_LABEL, self.product),
            among(ARCH_LABEL, arch),
        ]
        if self.alike and self.pool == MAIN_POOL:
            return [*found, {**among(POOL_LABEL, *self.alike), "operator": "NotIn"}]
        return [*found, among(POOL_LABEL, self.pool)] if self.alike else found


def pool_labels(name: str) -> dict[str, str]:
    """Labels of a pool's nodes that tell it from the others; the main pool is the one without."""
    return {} if name == MAIN_POOL else {POOL_LABEL: name}


def among(key: str, *values: str) -> dict[str, Any]:
    """A match expression: the label has one of the values."""
    return {"key": key, "operator": "In", "values": list(values)}


def node_affinity(*required: dict[str, Any], off_gpus: bool = False) -> dict[str, Any]:
    """A pod's nodeAffinity. off_gpus: rather where no GPU is."""
    affinity: dict[str, Any] = {}
    if required:
        terms = [{"matchExpressions": list(required)}]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if off_gpus:
        without = {"matchExpressions": [{"key": GPU_PRESENT_LABEL, "operator": "DoesNotExist"}]}
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [{"weight": 100, "preference": without}]
    return {"nodeAffinity": affinity}
