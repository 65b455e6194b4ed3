"""What a cluster that is there is asked before a stack goes onto it, from what kubectl answers."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from ops.checks.existing_cluster import drivers, services
from stacks.plan import StackPlan
from tests import plans

PRODUCT = "nvidia.com/gpu.product"


def settings(target: str, pool: Mapping[str, Any] | None = None, **graph: Any) -> StackPlan:
    return plans.stack(target, cluster={"kind": "existing"}, pool=pool or {}, graph=graph)


class Cluster:
    """kubectl against a cluster of these nodes and pods (name to readiness), by `app.kubernetes.io/name`."""

    def __init__(
        self, nodes: Mapping[str, Mapping[str, str]] | None = None, **pods: Mapping[str, bool]
    ) -> None:
        self.nodes, self.pods = nodes or {}, pods

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        if arguments[1] == "nodes":
            items = [{"metadata": {"name": name, "labels": dict(each)}} for name, each in self.nodes.items()]
            return json.dumps({"items": items})
        name = next(a for a in arguments if a.startswith("--selector=")).rpartition("=")[2]
        return json.dumps({"items": [pod(*each) for each in self.pods.get(name, {}).items()]})


def pod(name: str, ready: bool) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {
        "metadata": {"namespace": "dynamo-system", "name": name},
        "status": {"conditions": conditions},
    }


def cuda(
    major: str, minor: str, product: str = "NVIDIA-B200", style: str = "runtime-version"
) -> dict[str, str]:
    kind = f"nvidia.com/cuda.{style}"
    return {PRODUCT: product, f"{kind}.major": major, f"{kind}.minor": minor}


@pytest.mark.parametrize("style", ["runtime-version", "runtime"])
def test_a_driver_that_is_too_old_for_the_graph_is_named(style: str) -> None:
    nodes = {"old": cuda("12", "4", style=style), "new": cuda("13", "0", style=style)}
    assert list(drivers(settings("trtllm-disagg-b200").graphs, Cluster(nodes))) == [
        "graph: node old has a driver for CUDA 12.4, but gpt-oss-disagg needs 12.8 or newer; install a newer NVIDIA "
        "driver there"
    ]


@pytest.mark.parametrize(
    ("target", "labels"),
    [
        ("trtllm-disagg-b200", cuda("12", "8")),
        ("trtllm-disagg-b200", {PRODUCT: "NVIDIA-B200"}),
        ("trtllm-disagg-b200", cuda("12", "4", product="NVIDIA-H100-80GB-HBM3")),
        ("vllm-disagg-h100", cuda("12", "4", product="NVIDIA-H100-80GB-HBM3")),
        ("mocker-disagg-cpu", cuda("12", "4")),
    ],
    ids=["new enough", "says nothing", "another GPU", "another engine", "no GPU"],
)
def test_other_nodes_are_no_problem(target: str, labels: dict[str, str]) -> None:
    assert not list(drivers(settings(target).graphs, Cluster({"node": labels})))


def test_nodes_are_chosen_as_the_workers_choose_them() -> None:
    cluster = Cluster(
        {
            "theirs": cuda("12", "4"),
            "ours": cuda("12", "4", product="B200-SXM") | {"team": "llm"},
        }
    )
    pool = {"gpuProduct": "B200-SXM", "nodeSelector": {"team": "llm"}}
    [problem] = drivers(settings("trtllm-disagg-b200", pool).graphs, cluster)
    assert problem.startswith("graph: node ours has a driver for CUDA 12.4")


def test_services_that_are_there_and_not_ready_are_named() -> None:
    made = settings("vllm-disagg-h100", dynamoVersion="0.4.1")
    platform = made.platform.wanted
    broken = Cluster(nats={"nats-0": False, "nats-1": True}, etcd={"etcd-0": False})
    assert list(services(platform, broken)) == [
        "platform: its graphs need etcd, but none of its pods is ready (dynamo-system/etcd-0); see their logs"
    ]
    assert not list(services(platform, Cluster())), "they may be outside of the cluster"


def test_services_that_no_graph_needs_are_not_asked_for() -> None:
    made = settings("vllm-disagg-h100", dynamoVersion="1.4.2")
    assert not list(services(made.platform.wanted, Cluster(nats={"nats-0": False})))
