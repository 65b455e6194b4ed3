"""A stack on the embedded cluster is the same graph: what is of a cloud goes, what is of the graph stays."""

import json
from typing import Any

import pytest

from embedded.paths import KUBECONFIG
from ops.pulumi.stack_file import StackFile, stacks
from ops.stack.on_embedded import is_embedded, on_embedded, plan_of
from tests.plans import stack_file
from tests.project import PROJECT

EKS = {"kind": "eks", "region": "us-east-2", "publicAccessFrom": ["192.0.2.0/24"]}


def moved(**config: Any) -> dict[str, Any]:
    """The config of the moved stack by key."""
    config = {"target": "trtllm-disagg-b200", "cluster": EKS, **config}
    texts = on_embedded(stack_file("mine", **config)).config
    return {
        key.partition(":")[2]: text if key.endswith(":target") else json.loads(text)
        for key, text in texts.items()
    }


@pytest.mark.parametrize("name", stacks(PROJECT))
def test_every_shipped_stack_keeps_its_graphs(name: str) -> None:
    """Same targets, releases, workers and GPUs; only an autoscaler's room is not taken over."""
    file = StackFile.load(PROJECT, name)
    own, there = plan_of(file), plan_of(on_embedded(file))
    for before, after in zip(own.graphs, there.graphs, strict=True):
        assert (after.target, after.version, after.gpus) == (before.target, before.version, before.gpus)
        assert [w.worker for w in after.workers] == [w.worker for w in before.workers]
        assert after.transport == before.transport
    assert [p.pool.instance for p in there.pools] == [p.pool.instance for p in own.pools]
    assert is_embedded(there, PROJECT)


def test_each_stack_has_a_namespace_of_its_own() -> None:
    assert moved()["cluster"]["namespace"] == "mine"
    assert moved(cluster=EKS | {"namespace": "serving"})["cluster"]["namespace"] == "mine"


def test_nothing_of_aws_secrets_or_charts_is_taken_along() -> None:
    config = moved(
        tags={"ttl": "24h", "owner": "me"},
        monitoring={"kind": "install"},
        pool={"nodes": 2, "zones": ["us-east-2a"], "capacity": {"kind": "spot"}},
        cache={"kind": "fsx", "size": "200Gi", "retain": True},
        huggingFace={"token": "hf_1", "refreshMinutes": 5},
        platform={"version": "1.6.1", "etcd": True},
    )
    assert set(config) == {"target", "cluster", "platform", "verify", "pool", "cache", "huggingFace"}
    assert config["pool"] == {"nodes": 2}
    assert config["cache"] == {"size": "200Gi", "retain": True}
    assert config["huggingFace"] == {"token": "hf_1"}
    assert config["platform"] == {"install": False, "version": "1.6.1"}


def test_nothing_is_built_or_scaled_there() -> None:
    config = moved(
        graph={
            "image": {
                "build": {"region": "us-east-1"},
                "mirror": {"region": "us-east-1"},
                "pullSecret": "ngc",
            },
            "decode": {"maxReplicas": 2},
        },
        graphs=[{"name": "b", "decode": {"maxReplicas": 3, "replicas": 2}}],
    )
    assert config["graph"] == {"image": {"pullSecret": "ngc"}, "decode": {}}
    assert config["graphs"] == [{"name": "b", "decode": {"replicas": 2}}]


@pytest.mark.parametrize(
    ("cluster", "efa"),
    [(EKS, True), ({"kind": "existing"}, False), ({"kind": "existing", "efa": True}, True)],
)
def test_simulated_nodes_have_the_network_of_the_stacks_own(cluster: dict[str, Any], efa: bool) -> None:
    assert moved(cluster=cluster)["cluster"]["efa"] is efa


def test_a_stack_is_embedded_by_its_kubeconfig() -> None:
    own = {"kind": "existing", "kubeconfig": str(KUBECONFIG.relative_to(KUBECONFIG.parent.parent))}
    base = {"target": "trtllm-disagg-b200", "platform": {"install": False}}
    for cluster, embedded in (
        (own, True),
        ({**own, "kubeconfig": "other"}, False),
        ({"kind": "existing"}, False),
    ):
        assert is_embedded(plan_of(stack_file("mine", cluster=cluster, **base)), PROJECT) is embedded
