"""What `ops diff` says that a graph's change costs."""

from collections.abc import Mapping
from typing import Any

import pytest

from manifests.graph.deployment import graph_deployment
from ops.diff.changes import DiffFormat
from ops.diff.compare import resource_changes
from ops.diff.diff import StackDiff, render
from targets.timeline import Copy, Setting
from tests import plans

PLAIN = Setting(gpus=8)
MINUTES = "min by the timeline's assumption)"


def synth(target: str, **said: Any) -> dict[str, Any]:
    manifest = graph_deployment(plans.graph(target, platform={}, **said), "dynamo")
    kind = f"kubernetes:{manifest['apiVersion']}:{manifest['kind']}"
    graph = {"urn": "u", "type": kind, "name": "graph", "parent": "", "inputs": manifest}
    return {"resources": [graph | {"replaceOnChanges": ["spec.backendFramework"]}]}


def said(before: Mapping[str, Any], after: Mapping[str, Any], setting: Setting = PLAIN) -> str:
    (change,) = resource_changes(before, after, {"gpu-nodes": setting})
    return change.downtime


@pytest.mark.parametrize("version", ["1.2.1", "1.6.1"])
def test_one_knob_of_one_role_restarts_the_workers_of_both(version: str) -> None:
    before = synth("trtllm-disagg-b200", graph={"dynamoVersion": version, "transport": "node"})
    after = synth(
        "trtllm-disagg-b200",
        graph={
            "dynamoVersion": version,
            "transport": "node",
            "decode": {"maxBatchSize": 64, "env": {"A": "b"}},
        },
    )
    message = f"restarts 2 workers of graph gpt-oss-disagg: no answer for about one load time (~22 {MINUTES}"
    assert said(before, after) == message
    (change,) = resource_changes(before, after, {"gpu-nodes": PLAIN})
    shown = StackDiff(stack="prod", state="changed", resources=(change,))
    assert f"        {message}\n" in render([shown], "main", DiffFormat.TEXT)
    assert f"  - **{message}**\n" in render([shown], "main", DiffFormat.MD)


@pytest.mark.parametrize(
    ("target", "base", "change", "message"),
    [
        (
            "vllm-agg-agentic-b200",
            {},
            {"worker": {"maxBatchSize": 128}},
            "restarts 8 workers of graph turbo-gptoss-120b-agg-b200-agentic, 4 at a time: the others answer, for "
            f"about 2 load times (~45 {MINUTES}",
        ),
        (
            "trtllm-agg-gb200",
            {"surge": True},
            {"surge": True, "worker": {"maxBatchSize": 400}},
            f"restarts 1 worker of graph gpt-oss-agg, new ones first: it answers throughout (~22 {MINUTES}",
        ),
        (
            "trtllm-disagg-b200",
            {},
            {"decode": {"maxBatchSize": 64}},
            f"restarts all workers of graph gpt-oss-disagg: no answer for about one load time (~22 {MINUTES}",
        ),
        (
            "trtllm-disagg-b200",
            {"transport": "node"},
            {},
            f"restarts all workers of graph gpt-oss-disagg: no answer for about one load time (~22 {MINUTES}",
        ),
        ("trtllm-agg-gb200", {}, {"worker": {"replicas": 2}}, ""),
        ("trtllm-disagg-b200", {}, {"frontend": {"replicas": 2, "env": {"A": "b"}}}, ""),
        ("mocker-disagg-cpu", {}, {"logLevel": "debug"}, ""),
    ],
)
def test_what_each_kind_of_change_costs(
    target: str, base: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    nodes = {"nodes": 2}
    assert said(synth(target, graph=base, pool=nodes), synth(target, graph=change, pool=nodes)) == message


@pytest.mark.parametrize(
    ("setting", "minutes"),
    [
        (PLAIN, 22),
        (Setting(gpus=8, copy=Copy.POD), 8),
        (Setting(gpus=8, cache="efs", copy=Copy.POD), 6),
        (Setting(gpus=8, cache="s3", copy=Copy.POD), 5),
        (Setting(gpus=8, cache="s3", copy=Copy.NODE), 4),
        (Setting(gpus=8, cache="fsx", cache_rate=300), 7),
    ],
)
def test_a_restart_takes_as_long_as_the_stack_s_timeline_says(setting: Setting, minutes: int) -> None:
    """A pod of its own makes a copy anew; that of the node is there."""
    after = synth("trtllm-disagg-b200", graph={"decode": {"maxBatchSize": 64}})
    text = said(synth("trtllm-disagg-b200"), after, setting)
    assert text.endswith(f"no answer for about one load time (~{minutes} {MINUTES}")


def test_another_engine_makes_the_graph_anew() -> None:
    before, after = synth("vllm-disagg-h100"), synth("sglang-disagg-h100")
    after["resources"][0]["type"] = before["resources"][0]["type"]
    assert said(before, after) == (
        f"makes graph gpt-oss-disagg anew: no answer for about one load time (~22 {MINUTES}"
    )
