"""Under which names a graph's workers register, and which of them its frontend sends requests to. Pure.

Source: `dynamo.<engine>` of each released `ai-dynamo` package.
"""

from targets.catalogue import Engine, Role
from targets.plan import GraphPlan
from targets.releases import Version

ONE_NAMESPACE_BEFORE = Version(1, 0)
"""Workers of 0.4 register in the Dynamo namespace `dynamo`, whatever their graph, and its frontends list them all."""
STRATEGIES_BEFORE = Version(1, 0)
"""Up to 0.4 one TensorRT-LLM worker hands requests on to the other; later frontends talk to both."""
PREFILL_FIRST, DECODE_FIRST = "prefill_first", "decode_first"


def strategy(plan: GraphPlan) -> str | None:
    """Value of `--disaggregation-strategy`: which worker comes first; None where the frontend decides."""
    chained = plan.target.engine is Engine.TRTLLM and plan.version < STRATEGIES_BEFORE
    if not (chained and plan.target.disaggregated):
        return None
    return plan.knobs.disaggregation_strategy or PREFILL_FIRST


def component_names(plan: GraphPlan) -> dict[Role, str]:
    """Name of the component that each role's workers register, as `/health` lists it.

    Under a strategy the first worker alone brings the model: the frontend lists it while the next is missing.
    """
    chain = strategy(plan)
    if chain is not None:
        first, following = (
            (Role.PREFILL, Role.DECODE) if chain == PREFILL_FIRST else (Role.DECODE, Role.PREFILL)
        )
        return {first: "tensorrt_llm", following: "tensorrt_llm_next"}
    serving = "tensorrt_llm" if plan.target.engine is Engine.TRTLLM else "backend"
    return {planned.role: "prefill" if planned.role is Role.PREFILL else serving for planned in plan.workers}
