"""A user's argument that the command line has already is refused, whatever the engine."""

from typing import Any

import pytest

from graphs.deployment import worker_command
from stacks.settings import ConfigError, parse
from targets.catalogue import TARGETS
from targets.plan import GraphPlan


def plan(target: str, graph: dict[str, Any]) -> GraphPlan:
    platform = {"install": False, "grove": "external"}
    stack = {"target": target, "cluster": {"kind": "existing"}, "platform": platform, "graph": graph}
    return parse(stack, set()).plan()


@pytest.mark.parametrize(
    ("target", "section", "argument", "remedy"),
    [
        ("trtllm-disagg-b200", "frontend", "--http-port=9000", "leave it out"),
        ("trtllm-disagg-b200", "frontend", "--router-mode=kv", "use graph.frontend.routerMode"),
        ("vllm-disagg-h100", "prefill", "--kv-transfer-config={}", "leave it out"),
        ("vllm-disagg-h100", "decode", "--kv_transfer_config={}", "leave it out"),
        ("vllm-agg-agentic-h200", "worker", "--no-enable-prefix-caching", "leave it out"),
        ("sglang-disagg-h100", "prefill", "--host=127.0.0.1", "leave it out"),
        ("sglang-disagg-h100", "decode", "--disaggregation-bootstrap-port=1", "leave it out"),
        ("mocker-disagg-cpu", "decode", "--speedup-ratio=2", "leave it out"),
    ],
)
def test_what_is_set_already_is_refused(target: str, section: str, argument: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        plan(target, {section: {"extraArgs": [argument]}})
    flag = argument.split("=", maxsplit=1)[0]
    assert str(refusal.value) == (
        f"dynamo-gpt-oss:graph.{section}.extraArgs: {flag!r} is set already; {remedy}"
    )


def test_a_value_is_no_argument() -> None:
    plan("trtllm-disagg-b200", {"frontend": {"extraArgs": ["--metrics-prefix", "http-port"]}})


@pytest.mark.parametrize("target", TARGETS)
def test_no_command_line_says_an_argument_twice(target: str) -> None:
    graph = plan(target, {})
    for planned in graph.workers:
        flags = [word for word in worker_command(graph, planned).args if word.startswith("--")]
        assert sorted(flags) == sorted(set(flags))
