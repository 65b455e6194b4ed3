"""How KV cache travels: the default of every target, and what a plan says of its way."""

from typing import Any

import pytest

from facts.hardware import INSTANCE_TYPES
from stacks.rules.graphs import knob_problems
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from targets.resolve import beside_each_other
from targets.transport import KV_PATHS, Transport
from tests.plans import resolved

H100, B200, GB200 = "p5.48xlarge", "p6-b200.48xlarge", "p6e-gb200.36xlarge"
GUIDE, VLLM, MOCKER = "trtllm-disagg-b200", "vllm-disagg-h100", "mocker-disagg-cpu"
FIGURES = "upstream measured 98 s to the first token over TCP where RDMA took 0.2 to 0.5 s (8B model, 8,000 tokens in)"


def plan(target: str, instance: str, nodes: int = 1, *, efa: bool = True, **knobs: Any) -> GraphPlan:
    """efa: whether the cluster is AWS's. knobs: as in the stack's file, camelCase."""
    return resolved(target, instance, nodes, efa=efa, **{"dynamoVersion": "1.4.2", **knobs})


APART: dict[str, Any] = {"prefill": {"tensorParallel": 8}, "decode": {"tensorParallel": 8}}


def test_slow_ways_are_called_slow_and_unverified_ones_unverified() -> None:
    assert {transport for transport, path in KV_PATHS.items() if path.slow} == {"node", "tcp"}
    assert {transport for transport, path in KV_PATHS.items() if path.unverified} == {"nvlink"}
    assert KV_PATHS.keys() == set(Transport)


def test_a_plan_says_which_way_its_kv_cache_takes() -> None:
    assert plan(GUIDE, B200, 2, transport="tcp").kv_path is KV_PATHS[Transport.TCP]
    for without in (plan(MOCKER, "m7i.4xlarge"), plan("trtllm-agg-gb200", GB200)):
        assert without.kv_path.sentence.startswith("no KV cache travels")


@pytest.mark.parametrize("target", [name for name in TARGETS if TARGETS[name].disaggregated])
def test_workers_that_fit_one_node_are_in_one_pod(target: str) -> None:
    gpu = next(iter(TARGETS[target].gpu_models), None)
    node = next(each.name for each in INSTANCE_TYPES.values() if each.gpu is gpu and each.gpus in (0, 8))
    version = "0.4.1" if target.endswith("-0.4") else "1.4.2"
    separate = gpu is None or version == "0.4.1"
    found = plan(target, node, dynamoVersion=version)
    assert knob_problems(found) == []
    assert found.transport is (Transport.NODE if separate else Transport.POD)


@pytest.mark.parametrize(
    "said",
    [
        {"dynamoVersion": "1.0.2"},
        {"decode": {"tensorParallel": 2, "maxReplicas": 2}},
    ],
)
def test_workers_that_cannot_share_a_pod_share_a_node(said: dict[str, Any]) -> None:
    found = plan(VLLM, H100, **said)
    assert knob_problems(found) == []
    assert found.transport is Transport.NODE


def test_an_endpoint_picker_chooses_among_pods() -> None:
    assert resolved(VLLM, H100, inference_extension=True).transport is Transport.NODE


def test_workers_of_several_nodes_go_over_efa_on_aws_unless_said_otherwise() -> None:
    over = plan(GUIDE, B200, 2, **APART)
    assert over.transport is Transport.EFA
    assert over.uses_efa


@pytest.mark.parametrize(
    ("said", "grants"),
    [
        ({}, "privileged"),
        ({"decode": {"tensorParallel": 8, "nodes": 2}}, "capabilities"),
        ({"decode": {"tensorParallel": 1, "maxReplicas": 2}}, "capabilities"),
        (APART, "privileged"),
    ],
)
def test_over_efa_only_pods_that_are_alone_on_their_node_are_privileged(
    said: dict[str, Any], grants: str
) -> None:
    assert plan(GUIDE, B200, 2, transport="efa", **said).grants == grants


@pytest.mark.parametrize(
    ("other", "beside"),
    [
        (plan(GUIDE, B200, 2, transport="efa", name="changed"), "capabilities"),
        (plan("vllm-agg-agentic-b200", B200, 2, worker={"replicas": 1}), "capabilities"),
        (plan(GUIDE, B200, 2, transport="pod", name="whole"), "privileged"),
        (plan(GUIDE, B200, 3, transport="efa", name="in-another-pool"), "privileged"),
    ],
    ids=lambda value: value.name if isinstance(value, GraphPlan) else value,
)
def test_a_graph_beside_it_takes_the_privilege(other: GraphPlan, beside: str) -> None:
    both = beside_each_other([plan(GUIDE, B200, 2, transport="efa"), other])
    assert [each.grants for each in both] == [beside, beside if other.uses_efa else "none"]
