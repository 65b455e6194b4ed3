"""Where Dynamo's profiler would have no answer. Pure.

Sources: the support matrices inside the packages that the profiler computes with (aiconfigurator 0.7 to 0.10,
aiconfigurator-core 0.12, aisimulate 0.13), and the profiler of each released `ai-dynamo` package.
"""

from collections.abc import Iterator

from facts.engines import Engine
from facts.hardware import Gpu
from facts.releases import LATEST_PATCH, Version
from facts.weights import MODEL_ID
from targets.engine_knobs import MODEL_CONTEXT
from targets.plan import GraphPlan
from targets.sizing import Sizing

_KNOWN_SINCE = Version(1, 6)
"""First release whose data hold GPT-OSS-120B for each engine on each of these GPUs (aisimulate 0.13)."""


_TRTLLM_KNOWN_SINCE = Version(1, 4)
"""For TensorRT-LLM on GPUs of a single node: 1.4 computes with aiconfigurator-core 0.11, and 0.10 and 0.12 hold it."""


_TRTLLM_KNOWN_ON = {Gpu.H100, Gpu.H200, Gpu.B200}


def sizing_problems(sizing: Sizing, plan: GraphPlan) -> Iterator[str]:
    """Why the profiler of the graph's platform cannot answer."""
    if plan.target.engine is Engine.MOCKER:
        yield (
            f"sizing: target {plan.target.name} simulates its engine, and the profiler knows vllm, sglang and trtllm; "
            "choose a target with an engine or leave the key out"
        )
    elif plan.pool.instance.gpu is not None:
        since = known_since(plan.target.engine, plan.pool.instance.gpu)
        platform = plan.operation.platform
        if platform < since:
            yield (
                f"sizing: the profiler of Dynamo {platform} is not known to have data of {MODEL_ID} with "
                f"{plan.target.engine} on {plan.pool.instance.gpu}; without, it looks at the size of the weights "
                f"alone; set platform.version to {LATEST_PATCH[since.line]} or newer, which runs earlier graphs too"
            )
    if sizing.isl + sizing.osl > MODEL_CONTEXT:
        yield (
            f"sizing.isl: {sizing.isl} tokens of prompt and {sizing.osl} of answer are more than the model's "
            f"{MODEL_CONTEXT}; lower sizing.isl or sizing.osl"
        )


def known_since(engine: Engine, gpu: Gpu) -> Version:
    """The first release whose profiler has performance data of the model; earlier ones ignore targets and traffic."""
    early = engine is Engine.TRTLLM and gpu in _TRTLLM_KNOWN_ON
    return _TRTLLM_KNOWN_SINCE if early else _KNOWN_SINCE
