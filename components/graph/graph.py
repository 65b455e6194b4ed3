"""A graph as components take it: a published system by its name, the knobs that are turned, the nodes it runs on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from facts.hardware import INSTANCE_TYPES
from facts.releases import Version
from facts.weights import CacheUse
from targets.catalogue import TARGETS
from targets.knobs import GraphKnobs, Toleration
from targets.plan import GraphPlan
from targets.pool import Pool, nodes_for, usual_instance
from targets.resolve import resolve
from targets.target import Target


@dataclass(frozen=True, kw_only=True)
class GraphPool:
    """The nodes that a graph runs on."""

    instance_type: str | None = field(default=None, metadata={"InstanceType": INSTANCE_TYPES})
    """EC2 instance type, or the one that the nodes are like; by default the target's."""
    nodes: int | None = None
    """How many there are; by default as many as the published graph needs."""
    efa: bool = True
    """Whether they have the EFA devices of their instance type, as AWS's have."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    """Labels that they have besides those of their GPUs."""
    tolerations: Sequence[Mapping[str, str]] = ()
    """Their taints besides `nvidia.com/gpu`, each as in a pod's `tolerations`."""
    gpu_product: str | None = None
    """Their label `nvidia.com/gpu.product`, where it is not GPU Feature Discovery's for the model."""

    def resolved(self, target: Target) -> Pool:
        """The nodes, with what the target says of them."""
        instance = INSTANCE_TYPES[self.instance_type] if self.instance_type else usual_instance(target)
        return Pool(
            instance=instance,
            nodes=nodes_for(target, instance) if self.nodes is None else self.nodes,
            key="graph.pool",
            efa=self.efa,
            node_selector=tuple(sorted(self.node_selector.items())),
            tolerations=tuple(Toleration.model_validate(each) for each in self.tolerations),
            gpu_product=self.gpu_product,
        )


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A published system, with what is turned on it."""

    target: str = field(metadata={"Target": TARGETS})
    """The published system."""
    knobs: Mapping[str, Any] = field(default_factory=dict)
    """What is turned on it, by the names of `docs/targets.md`: `dynamoVersion`, `decode: { maxBatchSize: 64 }`."""
    pool: GraphPool = field(default_factory=GraphPool)
    """The nodes it runs on."""
    platform_version: str | None = None
    """Release of the cluster's Dynamo platform; by default the graph's."""
    local_copy: bool = False
    """Whether every worker pod copies the weights to its node's disks before the engine starts."""
    from_bucket: bool = False
    """Whether every pod copies what it reads from the bucket of the model cache; no claim holds it then."""

    @classmethod
    def of(cls, plan: GraphPlan) -> Self:
        """A graph that is resolved already."""
        graph = cls(target=plan.target.name)
        graph.__dict__["plan"] = plan
        return graph

    @cached_property
    def plan(self) -> GraphPlan:
        """The graph, resolved, whether or not it can work. Raises ValidationError for knobs that are none."""
        target = TARGETS[self.target]
        return resolve(
            target,
            GraphKnobs.model_validate(dict(self.knobs)),
            self.pool.resolved(target),
            key="graph.knobs",
            cache=CacheUse(local_copy=self.local_copy or self.from_bucket, from_bucket=self.from_bucket),
            platform=None if self.platform_version is None else Version.parse(self.platform_version),
        )
