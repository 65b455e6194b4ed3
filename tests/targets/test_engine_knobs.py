"""From one field follow a knob's key, its place in a command line or engine file, and what is refused beside it."""

from typing import Any

import pytest
import yaml

from facts.engines import Engine
from manifests.graph.workers import engine_files, worker_command
from stacks.settings import ConfigError
from targets.catalogue import TARGETS
from targets.engine_knobs import KNOBS, EngineKnobs
from targets.knobs import RoleKnobs
from targets.plan import GraphPlan
from targets.target import Target
from tests import plans
from tests.targets.knob_values import least

TARGET = {
    Engine.VLLM: "vllm-disagg-h100",
    Engine.SGLANG: "sglang-disagg-h100",
    Engine.TRTLLM: "trtllm-disagg-b200",
    Engine.MOCKER: "mocker-disagg-cpu",
}
EACH = [(engine, name) for engine in Engine for name in KNOBS]


def plan(target: str, decode: dict[str, Any]) -> GraphPlan:
    return plans.graph(target, cluster={"kind": "existing"}, graph={"decode": decode})


def key(name: str) -> str:
    return str(EngineKnobs.model_fields[name].alias)


def problems(target: str, decode: dict[str, Any]) -> str:
    try:
        plan(target, decode)
    except ConfigError as error:
        return str(error)
    return ""


def resolved(target: str, **decode: Any) -> GraphPlan:
    """Whether or not that can work: the least of a value often cannot."""
    base = plan(target, {})
    return plans.resolved(base.target, pool=base.pool, decode=RoleKnobs(**decode), transport="node")


def test_every_field_is_a_knob_with_a_key_and_documentation() -> None:
    assert list(KNOBS) == list(EngineKnobs.model_fields)
    for name in KNOBS:
        assert RoleKnobs.model_fields[name].description


@pytest.mark.parametrize(("engine", "name"), EACH)
def test_a_knob_is_rendered_or_refused(engine: Engine, name: str) -> None:
    value, knob = least(name), KNOBS[name]
    if not knob.known_to(engine):
        assert f"graph.decode.{key(name)}: {value} has no meaning for {engine}" in problems(
            TARGET[engine], {key(name): value}
        )
        return
    graph = resolved(TARGET[engine], **{name: value})
    words = " ".join(worker_command(graph, graph.workers[1]).args)
    argument = knob.argument(engine)
    if argument is not None:
        assert f" {' '.join(argument.words(value))} " in f" {words} "
    else:
        assert knob.engine_file is not None
        assert reads(graph, knob.engine_file) == value


@pytest.mark.parametrize("name", [name for name, knob in KNOBS.items() if knob.engine_file])
def test_a_target_of_engine_files_has_every_knob_there(name: str) -> None:
    graph = resolved("trtllm-disagg-8k", **{name: least(name)})
    assert reads(graph, str(KNOBS[name].engine_file)) == least(name)
    flag = KNOBS[name].trtllm
    assert flag is None or not {*flag.spellings} & {*worker_command(graph, graph.workers[1]).args}


def reads(graph: GraphPlan, dotted: str) -> object:
    content: Any = yaml.safe_load(engine_files(graph)["decode.yaml"])
    for each in dotted.split("."):
        content = content[each]
    return content


@pytest.mark.parametrize(
    ("engine", "name", "spelling"),
    [
        (engine, name, spelling)
        for engine, name in EACH
        if (argument := KNOBS[name].argument(engine)) is not None
        for spelling in argument.spellings
    ],
)
def test_no_argument_says_what_a_knob_says(engine: Engine, name: str, spelling: str) -> None:
    refusal = f"graph.decode.extraArgs: {spelling!r} is set already; use graph.decode.{key(name)}"
    assert problems(TARGET[engine], {"extraArgs": [spelling, "2"]}) == f"dynamo-gpt-oss:{refusal}"


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_no_target_publishes_as_an_argument_what_is_a_knob(target: Target) -> None:
    """A user's value would come beside it, and the command line would say both."""
    knobs = {
        spelling
        for knob in KNOBS.values()
        if (argument := knob.argument(target.engine)) is not None
        for spelling in argument.spellings
    }
    for worker in target.workers:
        assert not knobs & {word.split("=")[0] for word in worker.arguments}
