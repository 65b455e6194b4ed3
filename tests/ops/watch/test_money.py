"""What has been spent, and an estimate of the rest."""

from typing import Any

import pytest

from manifests.gpu_nodes import GPU_PRODUCT_LABEL
from ops.stack.stack import Stack
from ops.watch.money import first_gpu, minutes_left, nodes_of, spent
from targets.assumptions import Assumptions
from targets.timeline import Setting, our_order
from tests.ops.stacks import stack
from tests.ops.watch.seen import AT, existing, pod, seen

EKS: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "eks", "region": "us-east-1"},
    "pool": {"zones": ["us-east-1a"], "capacity": {"kind": "on-demand"}},
}
COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}]}
DOWNLOADED = {"kind": "Job", "metadata": {"name": "model-download"}, "status": COMPLETE}
GRAPH = {"kind": "DynamoGraphDeployment", "metadata": {"name": "g"}}


def node(name: str = "n1", since: str = "2026-11-22T16:24:00Z", **labels: str) -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {
            "name": name, "labels": {GPU_PRODUCT_LABEL: "NVIDIA-B200", **labels}, "creationTimestamp": since
        },
        "status": {
            "allocatable": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }  # fmt: skip


def eks(**more: Any) -> Stack:
    return stack({**EKS, **more})


def test_an_hour_costs_its_price() -> None:
    plan = eks(prices={"p6-b200.48xlarge": 100.0}).plan
    text = spent(plan, seen(node()), embedded=False)
    usd, per_hour = text.split()[0], text.split(" at ")[1].split()[0]
    assert usd == per_hour
    assert 100 < float(usd) < 105, "the nodes and the cluster around them"


def test_a_price_that_no_list_has_is_named() -> None:
    plan = eks(
        pool={
            "capacity": {"kind": "capacity-block", "reservationId": "cr-0123456789abcdef0"},
            "zones": ["us-east-1a"],
        }
    ).plan
    assert "USD/h + what `prices` does not say of 1 × p6-b200.48xlarge" in spent(
        plan, seen(node()), embedded=False
    )


def test_before_the_first_gpu_nothing_is_counted() -> None:
    assert spent(eks().plan, seen(), embedded=False).startswith("no GPU node yet; ")


def test_nodes_that_somebody_else_pays_and_simulated_ones_cost_nothing() -> None:
    assert spent(existing().plan, seen(node()), embedded=False) == ""
    assert spent(existing().plan, seen(node()), embedded=True) == "0 USD: the nodes are simulated"


def test_nodes_are_of_the_pool_that_their_labels_say() -> None:
    plan = existing(pools=[{"name": "copy"}], graphs=[{"name": "c", "pool": "copy"}]).plan
    found = seen(node("main"), node("other", **{"dynamo-gpt-oss/pool": "copy"}))
    assert [[each.name for each in nodes_of(one.pool, found)] for one in plan.pools] == [["main"], ["other"]]


def test_the_first_gpu_node_is_the_oldest() -> None:
    assert first_gpu(existing().plan, seen()) is None
    early = node("early", "2026-11-22T10:00:00Z")
    since = first_gpu(existing().plan, seen(node(), early))
    assert since is not None
    assert since.hour == 10


@pytest.mark.parametrize(
    ("there", "steps"),
    [
        ([], ("CPU nodes", "platform", "download", "GPU nodes", "image pull", "model load")),
        ([node(), GRAPH], ("download", "image pull", "model load")),
        ([node(), GRAPH, DOWNLOADED], ("image pull", "model load")),
        ([node(), GRAPH, DOWNLOADED, pod(containerStatuses=[{"state": {"running": {"startedAt": AT.isoformat()}}}])],
         ("model load",)),
    ],
)  # fmt: skip
def test_the_rest_is_what_has_not_ended(there: list[dict[str, Any]], steps: tuple[str, ...]) -> None:
    minutes = {step.name: step.end - step.start for step in our_order(Assumptions(), Setting(gpus=8)).steps}
    left = minutes_left(existing().plan, seen(*there))
    assert left is not None
    overlapping = minutes["platform"] if "platform" in steps else 0  # runs beside the download
    assert left == pytest.approx(sum(minutes[step] for step in steps) - overlapping)


def test_what_has_run_for_a_while_has_less_left() -> None:
    running = pod(containerStatuses=[{"state": {"running": {"startedAt": "2026-11-22T17:14:00Z"}}}])
    assert minutes_left(existing().plan, seen(node(), GRAPH, DOWNLOADED, running)) == pytest.approx(12.5)


def test_nothing_is_left_of_a_graph_that_has_loaded() -> None:
    ready = pod(conditions=[{"type": "Ready", "status": "True"}])
    assert minutes_left(existing().plan, seen(node(), ready)) is None
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    assert minutes_left(existing().plan, seen(node(), GRAPH | {"status": status})) is None


def test_nothing_is_estimated_of_workers_without_gpus() -> None:
    assert minutes_left(existing(target="mocker-disagg-cpu").plan, seen(GRAPH)) is None
