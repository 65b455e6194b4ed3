"""A namespace as records, from what a real control plane answered."""

from ops.watch.pods import Stage
from ops.watch.snapshot import snapshot
from tests.ops.watch.seen import AT, event, pod, recorded, seen


def test_a_stack_without_gpus_as_it_was_recorded() -> None:
    found = recorded("full_pool")
    assert [(job.name, job.state) for job in found.jobs] == [("model-download", "Complete")]
    assert [(claim.name, claim.phase) for claim in found.claims] == [("model-cache", "Bound")]
    assert [(graph.name, graph.ready) for graph in found.graphs] == [("gpt-oss-disagg", False)]
    assert [(each.role, each.stage) for each in found.pods] == [
        ("job", Stage.COMPLETE),
        ("frontend", Stage.READY),
        ("worker", Stage.PENDING),
    ]
    assert {node.name: node.gpus for node in found.gpu_nodes if node.product == "NVIDIA-B200"} == {
        "b200-0": 8
    }
    assert found.classes == {"embedded-rwx": True}


def test_an_image_is_pulled_until_its_node_says_that_it_is_there() -> None:
    pulling = event("Pod", "g-decode-0", "Pulling", "image", "2026-11-22T17:21:00Z")
    pulled = event("Pod", "g-decode-0", "Pulled", "image", "2026-11-22T17:22:00Z")
    assert seen(pod(), pulling).pods[0].stage is Stage.PULLING
    assert seen(pod(), pulled, pulling).pods[0].stage is Stage.SCHEDULED


def test_a_graph_of_the_generation_before_is_not_ready() -> None:
    graph = {
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "g", "generation": 2},
        "status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    assert not seen(graph).graphs[0].ready


def test_a_job_is_what_it_ended_as() -> None:
    def job(*conditions: str) -> str:
        ended = [{"type": each, "status": "True", "message": "m"} for each in conditions]
        return seen({"kind": "Job", "metadata": {"name": "j"}, "status": {"conditions": ended}}).jobs[0].state

    assert job() == job("SuccessCriteriaMet") == "Running"
    assert job("SuccessCriteriaMet", "Complete") == "Complete"
    assert job("FailureTarget", "Failed") == "Failed"


def test_classes_are_unknown_where_the_cluster_may_not_be_looked_at() -> None:
    assert snapshot([], "ns", AT).classes is None
    node = {"kind": "Node", "metadata": {"name": "n"}}
    assert snapshot([node], "ns", AT).classes == {}


def test_only_warnings_are_events() -> None:
    found = seen(event("Pod", "p", "Pulled", "m"), event("Pod", "p", "FailedMount", " a\n b "))
    assert [(each.about, each.reason, each.message) for each in found.events] == [
        ("Pod/p", "FailedMount", "a b")
    ]
