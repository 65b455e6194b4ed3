"""The stacks and graphs of tests, from a few words of config."""

from facts.hardware import INSTANCE_TYPES
from targets.catalogue import TARGETS
from targets.knobs import GraphKnobs
from targets.plan import GraphPlan
from targets.pool import Pool
from targets.resolve import resolve


def resolved(
    target: str = "trtllm-disagg-b200",
    instance: str = "p6-b200.48xlarge",
    nodes: int = 1,
    *,
    efa: bool = False,
    **knobs: object,
) -> GraphPlan:
    """A target on nodes of some type, whether or not that can work. knobs: as a stack's `graph` says them."""
    pool = Pool(instance=INSTANCE_TYPES[instance], nodes=nodes, efa=efa)
    return resolve(TARGETS[target], GraphKnobs.model_validate(knobs), pool)
