"""Where Dynamo's profiler would have no answer."""

from dataclasses import replace

import pytest

from facts.engines import Engine
from facts.hardware import Gpu
from facts.releases import Version
from stacks.rules.sizing import known_since, sizing_problems
from targets.engine_knobs import MODEL_CONTEXT
from targets.plan import GraphPlan
from targets.sizing import Sizing
from tests.plans import resolved

QUESTION = Sizing(ttft=2.0, itl=0.03, isl=8192, osl=1024)
B200 = resolved("trtllm-disagg-b200", "p6-b200.48xlarge")


def on(platform: str, graph: GraphPlan = B200) -> list[str]:
    operation = replace(graph.operation, platform=Version.parse(platform))
    return list(sizing_problems(QUESTION, replace(graph, operation=operation)))


@pytest.mark.parametrize(
    ("engine", "gpu", "since"),
    [
        (Engine.TRTLLM, Gpu.B200, Version(1, 4)),
        (Engine.TRTLLM, Gpu.GB200, Version(1, 6)),
        (Engine.VLLM, Gpu.B200, Version(1, 6)),
        (Engine.SGLANG, Gpu.H100, Version(1, 6)),
    ],
)
def test_a_combination_is_known_from_some_release_on(engine: Engine, gpu: Gpu, since: Version) -> None:
    assert known_since(engine, gpu) == since


def test_a_platform_without_data_of_the_model_is_refused_by_the_release_that_has_them() -> None:
    assert on("1.4.0") == on("1.6.1") == []
    (problem,) = on("1.3.1")
    assert "the profiler of Dynamo 1.3.1 is not known to have data" in problem
    assert "set platform.version to 1.4." in problem
    (later,) = on("1.4.2", resolved("vllm-disagg-h100", "p5.48xlarge"))
    assert "set platform.version to 1.6." in later


def test_a_simulated_engine_has_no_size() -> None:
    (problem,) = on("1.6.1", resolved("mocker-disagg-cpu", "m7i.4xlarge"))
    assert problem.startswith("sizing: target mocker-disagg-cpu simulates its engine")


def test_traffic_that_the_model_cannot_hold_is_refused() -> None:
    newest = replace(B200, operation=replace(B200.operation, platform=Version(1, 6, 1)))
    fits = replace(QUESTION, isl=MODEL_CONTEXT - 1024)
    assert not list(sizing_problems(fits, newest))
    (problem,) = sizing_problems(replace(fits, osl=1025), newest)
    assert problem.endswith(f"are more than the model's {MODEL_CONTEXT}; lower sizing.isl or sizing.osl")
