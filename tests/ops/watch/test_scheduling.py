"""Why a pod finds no node, in numbers."""

from typing import Any

import pytest

from manifests.gpu_nodes import GPU_PRODUCT_LABEL
from ops.watch.scheduling import no_room
from tests.ops.stacks import stack
from tests.ops.watch.seen import existing, pod, recorded, seen

UNTOLERATED = "0/1 nodes are available: 1 node(s) had untolerated taint(s)."


def demanding(**labels: str) -> dict[str, Any]:
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
    made = pod(node=None)
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}  # fmt: skip  # noqa: E501
    made["spec"]["affinity"] = {"nodeAffinity": required}
    return made


def node(product: str = "NVIDIA-B200", *taints: dict[str, str]) -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {"name": "n1", "labels": {GPU_PRODUCT_LABEL: product}},
        "spec": {"taints": list(taints)},
        "status": {
            "allocatable": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def test_a_full_pool_as_it_was_recorded_names_who_holds_what() -> None:
    found = recorded("full_pool")
    says = no_room(found.pods[-1], found.pods[-1].trouble[0].message, found, existing().plan)
    assert says.startswith(
        "needs 8 GPUs on one node, and none has them free: node b200-0 has 8 × NVIDIA-B200, 8 taken by "
        "gpt-oss-disagg in dynamo (8); free some, add nodes (pool.nodes), or make the graph smaller (graph.*.replicas, "
        "tensorParallel); the scheduler says: 0/5 nodes are available: 1 Insufficient cpu"
    )


@pytest.mark.parametrize(
    ("wanted", "there", "says"),
    [
        (
            {GPU_PRODUCT_LABEL: "NVIDIA-B200"},
            node("NVIDIA-H100"),
            "the cluster has no node with NVIDIA-B200 (GPUs there: NVIDIA-H100); say what is there in pool.gpuProduct",
        ),
        (
            {GPU_PRODUCT_LABEL: "NVIDIA-B200", "dynamo-gpt-oss/pool": "copy"},
            node(),
            "no node with NVIDIA-B200 and label dynamo-gpt-oss/pool in (copy) (GPUs there: NVIDIA-B200); label the",
        ),
        (
            {GPU_PRODUCT_LABEL: "NVIDIA-B200"},
            node("NVIDIA-B200", {"key": "team", "value": "a", "effect": "NoSchedule"}),
            "its nodes have taints: team=a:NoSchedule; bear them by pool.tolerations; the scheduler says",
        ),
    ],
    ids=["model", "pool's label", "taint"],
)
def test_no_node_of_its_kind(wanted: dict[str, str], there: dict[str, Any], says: str) -> None:
    found = seen(demanding(**wanted), there)
    assert says in no_room(found.pods[0], UNTOLERATED, found, existing().plan)


def test_on_aws_the_node_group_is_still_at_it() -> None:
    config = {
        "target": "trtllm-disagg-b200",
        "cluster": {"kind": "eks", "region": "us-east-1"},
        "pool": {"zones": ["us-east-1a"], "capacity": {"kind": "on-demand"}},
    }
    found = seen(demanding(**{GPU_PRODUCT_LABEL: "NVIDIA-B200"}), node("NVIDIA-H100"))
    says = no_room(found.pods[0], "0/1", found, stack(config).plan)
    assert "no node with NVIDIA-B200 yet; its node group is asked for 1 (pool)" in says


def test_a_pod_without_gpus_is_told_in_the_scheduler_s_words() -> None:
    without = pod(node=None)
    without["spec"]["containers"][0]["resources"] = {}
    found = seen(without)
    assert no_room(found.pods[0], "0/3 nodes", found, existing().plan) == "cannot be placed: 0/3 nodes"
