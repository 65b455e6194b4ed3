"""What a Dynamo platform cannot do for its graphs."""

from dataclasses import replace
from typing import Any

import pytest

from facts.releases import Version
from stacks.rules.platform import namespace_problems, platform_problems
from targets.plan import GraphPlan
from targets.platform import (
    Addon,
    Discovery,
    Platform,
    needed_discovery,
)
from tests.plans import resolved

PLATFORM = Platform(
    version=Version(1, 4, 2),
    discovery=Discovery.KUBERNETES,
    nats=False,
    etcd=False,
    grove=Addon.NONE,
    kai_scheduler=Addon.NONE,
    leader_worker_set=False,
    webhook_timeout_seconds=10,
    cert_manager=False,
    storage_class=None,
    prometheus=None,
)


def graph(version: str = "1.4.2", **knobs: Any) -> GraphPlan:
    return resolved("trtllm-disagg-b200", dynamoVersion=version, **knobs)


def problems(platform: Platform, *graphs: GraphPlan, install: bool = True) -> list[str]:
    return list(platform_problems(platform, graphs, install=install))


def test_todays_graphs_need_neither_nats_nor_etcd() -> None:
    assert problems(PLATFORM, graph()) == []
    assert needed_discovery(Version(1, 0)) is Discovery.KUBERNETES
    assert needed_discovery(Version(0, 4, 1)) is Discovery.ETCD


def test_the_oldest_graph_decides_what_the_platform_brings() -> None:
    older = graph("1.3.1", name="older")
    (problem,) = problems(PLATFORM, graph(), older)
    assert problem == (
        "platform.nats: false, but graphs of Dynamo 1.3.1 send events over NATS; leave the key out or use "
        "graph.dynamoVersion 1.4.0 or newer"
    )
    assert problems(replace(PLATFORM, nats=True), graph(), older) == []
    (etcd,) = problems(replace(PLATFORM, nats=True), graph("1.0.2"))
    assert etcd.startswith("platform.etcd: false, but graphs of Dynamo 1.0.2 need etcd")


def test_discovery_over_etcd_needs_one() -> None:
    over_etcd = replace(PLATFORM, discovery=Discovery.ETCD)
    assert problems(over_etcd, graph()) == [
        "platform.etcd: false, but platform.discovery is 'etcd'; leave the key out or choose 'kubernetes'"
    ]
    assert problems(replace(over_etcd, etcd=True), graph()) == []


def test_a_chart_that_cannot_be_installed_is_refused_and_one_that_is_there_is_not_judged() -> None:
    old = replace(PLATFORM, version=Version(0, 4, 1), nats=True, etcd=True)
    (problem,) = problems(old, graph())
    assert problem.startswith("platform.version: 0.4.1 cannot be installed")
    assert problems(replace(PLATFORM, version=Version(0, 4, 1)), graph("1.3.1"), install=False) == []


@pytest.mark.parametrize(
    ("platform", "starts"),
    [
        (PLATFORM, False),
        (replace(PLATFORM, grove=Addon.BUNDLED), True),
        (replace(PLATFORM, grove=Addon.EXTERNAL), True),
        (replace(PLATFORM, leader_worker_set=True), True),
    ],
)
def test_a_worker_that_spans_nodes_needs_who_starts_it(platform: Platform, starts: bool) -> None:
    spanning = resolved("trtllm-agg-gb200", "p6e-gb200.36xlarge", 2, worker={"tensorParallel": 8, "nodes": 2})
    found = problems(platform, spanning, install=False)
    assert [each.split(":")[0] for each in found] == ([] if starts else ["graph.worker.nodes"])


def test_a_picker_finds_pods_by_kubernetes_discovery_alone() -> None:
    behind = resolved("vllm-disagg-h100", "p5.48xlarge", inference_extension=True)
    (problem,) = problems(replace(PLATFORM, discovery=Discovery.ETCD), behind, install=False)
    assert problem.startswith("platform.discovery: 'etcd'")
    assert problems(PLATFORM, behind, install=False) == []


def test_a_name_must_fit_a_label_beside_its_namespace() -> None:
    """63 characters: the namespace, a dash, the graph."""
    named = graph(name="n" * 20)
    assert not list(namespace_problems([named], "s" * 42))
    (problem,) = namespace_problems([named], "s" * 43)
    assert "leaves room for 19 of them" in problem
