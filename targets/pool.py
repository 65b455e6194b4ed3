"""The nodes that graphs run on. Pure."""

import math
from dataclasses import dataclass

from facts.hardware import INSTANCE_TYPES, InstanceType
from targets.knobs import MAIN_POOL, Toleration
from targets.target import Target


@dataclass(frozen=True, kw_only=True)
class Pool:
    """The nodes a graph's workers may use."""

    instance: InstanceType
    """What each node is."""
    nodes: int
    """How many of them."""
    key: str = "pool"
    """Where it stands in the stack's config, for messages."""
    name: str = MAIN_POOL
    """Unique in the stack."""
    alike: tuple[str, ...] = ()
    """Names of the stack's other pools with GPUs of the same model, which the GPU's label does not tell it from."""
    runs: bool = True
    """Whether it has nodes now; graphs are not deployed onto one that has none."""
    node_selector: tuple[tuple[str, str], ...] = ()
    """More labels of its nodes, key and value."""
    tolerations: tuple[Toleration, ...] = ()
    """Its nodes' taints beside that of GPUs."""
    gpu_product: str | None = None
    """What its nodes' GPU product label says, None where it is GPU Feature Discovery's."""
    efa: bool = True
    """Whether its nodes have the EFA devices of their instance type, as AWS's have."""

    @property
    def gpus(self) -> int:
        """GPUs of all nodes."""
        return self.nodes * self.instance.gpus

    def __str__(self) -> str:
        return f"{self.nodes} × {self.instance.name} ({self.instance.gpus} × {self.instance.gpu} each)"


def usual_instance(target: Target) -> InstanceType:
    """What a target runs on where nobody says: the first type that has four GPUs of its model, or none."""
    gpu = target.gpu_models[0] if target.gpu_models else None
    return next(
        each for each in INSTANCE_TYPES.values() if each.gpu is gpu and (gpu is None or each.gpus >= 4)
    )


def nodes_for(target: Target, instance: InstanceType) -> int:
    """Nodes of that type that the published graph needs.

    Published replicas, not the user's: raising a knob must never add paid nodes that nobody asked for.
    """
    published = sum(worker.replicas * worker.gpus for worker in target.workers)
    return max(1, math.ceil(published / max(instance.gpus, 1)))
