"""Nodes with labels and taints of their own, on clusters that the stack does not make nodes for."""

from typing import Any

import pytest

from manifests.graph.deployment import graph_deployment
from stacks.load import parse
from stacks.settings import ConfigError
from tests.manifests.graphs import components
from tests.plans import apart

TAINT = {"key": "team", "operator": "Equal", "value": "llm", "effect": "NoExecute"}


def test_workers_follow_the_pools_labels_and_bear_its_taints() -> None:
    for version in ("1.2.1", "1.6.1"):
        graph = apart(
            "vllm-disagg-h100",
            graph={"dynamoVersion": version},
            pool={
                "nodeSelector": {"example.com/zone": "gpu-a"},
                "tolerations": [TAINT, {"operator": "Exists", "key": "x"}],
                "gpuProduct": "NVIDIA-H100-SXM",
            },
        )
        for name, (_, pod, _) in components(graph_deployment(graph, "dynamo")).items():
            if name == "Frontend":
                assert not {"nodeSelector", "tolerations"} & pod.keys(), "it runs on nodes without GPUs"
                continue
            assert pod["nodeSelector"] == {"example.com/zone": "gpu-a"}
            gpus, *others = pod["tolerations"]
            assert gpus["key"] == "nvidia.com/gpu"
            assert others == [TAINT, {"operator": "Exists", "key": "x"}]
            terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            products = [
                each["values"]
                for each in terms["nodeSelectorTerms"][0]["matchExpressions"]
                if each["key"] == "nvidia.com/gpu.product"
            ]
            assert products == [["NVIDIA-H100-SXM"]]


def test_the_mocker_bears_taints_too() -> None:
    graph = apart("mocker-disagg-cpu", pool={"tolerations": [TAINT]})
    found = components(graph_deployment(graph, "dynamo"))
    assert [pod["tolerations"] for name, (_, pod, _) in found.items() if name != "Frontend"] == [[TAINT]] * 2


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            {"cluster": {"kind": "eks", "region": "us-east-2"}, "pool": {"nodeSelector": {"a": "b"}}},
            "pool.nodeSelector: the stack makes these nodes, and labels and taints them itself; leave it out, it is "
            "for cluster.kind existing or stack",
        ),
        (
            {"pool": {"tolerations": [{"operator": "Exists", "key": "a", "value": "b"}]}},
            "pool.tolerations[0]: {operator, key, value}: operator Exists takes no value; leave it out, or choose "
            "Equal",
        ),
        (
            {"pool": {"tolerations": [{"value": "b"}]}},
            "pool.tolerations[0]: {value}: operator Equal needs a key; name the taint's, or choose Exists",
        ),
    ],
)
def test_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse({"target": "trtllm-disagg-b200", "cluster": {"kind": "existing"}, **said}, set())
    assert str(refused.value).splitlines() == [f"dynamo-gpt-oss:{message}"]
