"""Under which names a graph's workers register, and which of them its frontend sends requests to. Pure.

Source: `dynamo.<engine>` of each released `ai-dynamo` package.
"""

from facts.engines import Engine, Role
from facts.releases import Version
from targets.plan import GraphPlan
from targets.target import Target

ONE_NAMESPACE_BEFORE = Version(1, 0)
"""Workers of 0.4 register in the Dynamo namespace `dynamo`, whatever their graph, and its frontends list them all."""
STRATEGIES_BEFORE = Version(1, 0)
"""Up to 0.4 one TensorRT-LLM worker hands requests on to the other; later frontends talk to both."""
PREFILL_FIRST, DECODE_FIRST = "prefill_first", "decode_first"


def takes_strategy(target: Target, version: Version) -> bool:
    """Whether one of its workers hands requests on to the other, so that something says which comes first."""
    return target.engine is Engine.TRTLLM and version < STRATEGIES_BEFORE and target.disaggregated


def component_names(plan: GraphPlan) -> dict[Role, str]:
    """Name of the component that each role's workers register, as `/health` lists it.

    Under a strategy the first worker alone brings the model: the frontend lists it while the next is missing.
    """
    chain = plan.handover.strategy
    if chain is not None:
        first, following = (
            (Role.PREFILL, Role.DECODE) if chain == PREFILL_FIRST else (Role.DECODE, Role.PREFILL)
        )
        return {first: "tensorrt_llm", following: "tensorrt_llm_next"}
    serving = "tensorrt_llm" if plan.target.engine is Engine.TRTLLM else "backend"
    return {planned.role: "prefill" if planned.role is Role.PREFILL else serving for planned in plan.workers}
