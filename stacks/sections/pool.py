"""`pool` and `pools`: the GPU nodes."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from facts.hardware import INSTANCE_TYPES
from targets.capacity import CapacityKind, CapacityKnobs, Zone
from targets.knobs import LabelKey, LabelValue, PoolName, Toleration
from targets.strict import Strict


def _instance_type(name: str) -> str:
    if name not in INSTANCE_TYPES:
        raise ValueError(f"no such instance type here; choose one of {', '.join(INSTANCE_TYPES)}")
    return name


class AnyPool(Strict):
    """What every pool may say."""

    instance_type: (
        Annotated[
            str,
            AfterValidator(_instance_type),
            WithJsonSchema({"type": "string", "enum": [*INSTANCE_TYPES]}),
        ]
        | None
    ) = None
    """EC2 instance type, or the one that an existing cluster's nodes are like; by default the target's."""
    nodes: int | None = Field(default=None, ge=1, le=64)
    """GPU nodes; by default as many as the published graph needs, or as the UltraServer has."""
    efa_devices: int | None = Field(default=None, ge=1, le=32)
    """EFA devices a node, where the instance type leaves a choice (p6e-gb200: 4 × 400 Gbps or 8 × 200)."""
    capacity: CapacityKnobs = CapacityKnobs()
    """How the instances are bought."""
    zones: tuple[Zone, ...] = ()
    """Zones the nodes may be in. By default a reservation's, or the cluster's; for several nodes the first of those."""
    root_volume_type: Literal["gp3", "gp2"] = "gp3"
    """EBS type of the nodes' root. Whether a Local Zone offers gp3 is not known here; where EC2 refuses it, say gp2."""
    parallel_pull: bool = False
    """Whether nodes pull an image's layers in many parts at once, and unpack several: nodeadm's `FastImagePull`, which
    AWS calls experimental. Changing it replaces the nodes."""
    active: bool | None = None
    """Whether nodes run. Off, the pool has size 0 and no graph is deployed: for the days before a Capacity Block starts
    (there the default), and before node upgrades of a block, which EKS does only at size 0."""
    node_selector: Mapping[LabelKey, LabelValue] = {}
    """Labels that nodes must have besides those of their GPUs; for nodes that the stack does not make."""
    tolerations: tuple[Toleration, ...] = ()
    """Taints of the nodes besides `nvidia.com/gpu`; for nodes that the stack does not make."""
    gpu_product: LabelValue | None = None
    """Value of the nodes' label `nvidia.com/gpu.product`, where it is not GPU Feature Discovery's for the model."""

    @property
    def runs(self) -> bool:
        """Whether nodes run."""
        return self.capacity.kind is not CapacityKind.CAPACITY_BLOCK if self.active is None else self.active


class PoolSettings(AnyPool):
    """The GPU nodes. On a cluster of kind `existing` or `stack` they are there already, and only described here."""

    enablement: bool = True
    """Whether the stack installs GPU operator, EFA device plugin and, for GB200, the DRA driver, for all its pools."""


class AdditionalPool(AnyPool):
    """GPU nodes beside the main pool, for the graphs that name them."""

    name: PoolName
    """What graphs call it; unique in the stack."""
