"""A rollout with scripted delays is measured as it happened, from what the cluster tells at its end.

Simulated: nodes, and a kubelet's events, statuses and times. Real: API server, scheduler and controllers, by whose
clock it happens. No step is shorter than its script; a busy machine makes it longer, so what is measured is held
against a witness: the objects themselves, read here without the program's code.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from embedded import nodes
from embedded.paths import PROJECT
from facts.hardware import INSTANCE_TYPES
from ops.evaluate import evaluate
from ops.rollout.measured import Measured, look, of_kept
from ops.rollout.observer import Observer
from ops.rollout.phases import Bound
from ops.stack.stack import Stack
from ops.synth import manifests
from ops.timeline import simulate
from tests.embedded.conftest import Cluster
from tests.embedded.test_watch import a_stack
from tests.ops.report import projects
from tests.waiting import PATIENCE, eventually

pytestmark = pytest.mark.xdist_group("embedded")
BOOT, PULL, COPY, LOAD, DOWNLOAD = 30, 12, 13, 13, 30
"""Seconds. On a quiet machine a step takes a second or two more: the simulation counts a node's from its last change
on, a Job's own controller takes its turn, too."""
SECOND = 1
"""To which Kubernetes rounds its times."""
_SIMULATE = "dynamo-gpt-oss/simulate-"
Object = dict[str, Any]


def pace(**seconds: float) -> Object:
    """Annotations that script it."""
    return {f"{_SIMULATE}{step}-after": f"{value}s" for step, value in seconds.items()}


def config(namespace: str) -> Object:
    """The published B200 system with a copy on each node, on nodes that are there for this namespace alone."""
    return {
        "graph": {"dynamoVersion": "1.2.1"},  # of the API version that the tests' cluster serves
        "cache": {"localCopy": "node"},
        "pool": {"nodeSelector": {"for": namespace}},
    }


def paced(rendered: Object) -> Object:
    """The object, with delays in its pods."""
    spec = rendered.get("spec", {})
    if rendered["kind"] == "Job":
        spec["template"].setdefault("metadata", {})["annotations"] = pace(complete=DOWNLOAD)
    elif rendered["kind"] == "DaemonSet":
        spec["template"]["metadata"]["annotations"] = pace(pull=1, prepare=COPY)
    elif rendered["kind"] == "DynamoGraphDeployment":
        for service in spec["services"].values():
            if service["componentType"] == "worker":
                metadata = service.setdefault("extraPodMetadata", {})
                metadata.setdefault("annotations", {}).update(pace(pull=PULL, prepare=2, ready=LOAD))
    return rendered


def apply(cluster: Cluster, *objects: Object) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    cluster.kubectl("apply", "--server-side", "--filename=-", stdin=text)


@pytest.fixture
def node(cluster: Cluster, namespace: str) -> Iterator[Object]:
    """Of eight B200, which takes its time to boot."""
    made = nodes.node(INSTANCE_TYPES["p6-b200.48xlarge"], f"{namespace}-0", "us-east-1a", {"for": namespace})
    made["metadata"]["annotations"] = pace(ready=BOOT)
    # As a kubelet registers it, so that no pod is put there before.
    made["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]
    yield made
    cluster.kubectl("delete", "node", made["metadata"]["name"])


def measured(cluster: Cluster, stack: Stack, folder: Path) -> Measured:
    """From one look at the end, as after plain `pulumi up`."""
    observer = Observer()
    look(stack, observer, cluster.state)
    observer.keep(stack, folder)
    found = of_kept(simulate(folder, stack.name, []), folder)
    assert found is not None
    return found


def between(start: str, end: str) -> float:
    """Seconds."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def since(conditions: list[Object], kind: str) -> str:
    """When the condition last changed."""
    return next(str(each["lastTransitionTime"]) for each in conditions if each["type"] == kind)


def witnessed(cluster: Cluster, namespace: str) -> dict[str, list[float]]:
    """Seconds of each step, by every object that took it."""

    def items(what: str) -> list[Object]:
        found = json.loads(cluster.kubectl("get", what, "--output=json", f"--namespace={namespace}"))["items"]
        return list(found)

    node = json.loads(cluster.kubectl("get", "node", f"{namespace}-0", "--output=json"))
    steps: dict[str, list[float]] = {"image pull": [], "weights copy": [], "model load": []}
    steps["GPU nodes"] = [
        between(node["metadata"]["creationTimestamp"], since(node["status"]["conditions"], "Ready"))
    ]
    jobs = {each["metadata"]["name"]: each["status"] for each in items("jobs")}
    steps["download"] = [
        between(jobs["model-download"]["startTime"], jobs["model-download"]["completionTime"])
    ]
    events = items("events")
    for pod in items("pods"):
        name, status = pod["metadata"]["name"], pod["status"]
        if any("nvidia.com/gpu" in each["resources"].get("limits", {}) for each in pod["spec"]["containers"]):
            main = next(each for each in status["containerStatuses"] if each["name"] == "main")
            ready = since(status["conditions"], "Ready")
            steps["model load"].append(between(main["state"]["running"]["startedAt"], ready))
            told = {
                each["reason"]: each.get("firstTimestamp") or each["eventTime"]
                for each in events
                if each["involvedObject"]["name"] == name
            }
            if "Pulling" in told and "Pulled" in told:
                steps["image pull"].append(between(told["Pulling"], told["Pulled"]))
        for each in status.get("initContainerStatuses", []):
            if name.startswith("model-copy") and each["name"] == "copy-weights":
                done = each["state"]["terminated"]
                steps["weights copy"].append(between(done["startedAt"], done["finishedAt"]))
    return steps


def test_phases_are_measured_as_they_happened(
    cluster: Cluster, namespace: str, node: Object, tmp_path: Path
) -> None:
    stack = a_stack(namespace, **config(namespace))
    sections = {
        "target": "trtllm-disagg-b200",
        "cluster": {"kind": "existing"},
        "platform": {"install": False},
    }
    projects.project(tmp_path, {**sections, **config(namespace)}, "mine")
    rendered = [paced(dict(resource.inputs)) for resource in manifests(evaluate(PROJECT, stack.file))]
    graphs = [each for each in rendered if each["kind"] == "DynamoGraphDeployment"]
    apply(cluster, node, *(each for each in rendered if each["kind"] != "Namespace" and each not in graphs))
    # As a stack's own: a worker that came before would be put there when the scheduler next tries, not at once.
    cluster.kubectl(
        "wait", "--for=condition=Ready", f"--timeout={PATIENCE}s", f"node/{node['metadata']['name']}"
    )
    apply(cluster, *graphs)

    def answers() -> bool:
        kind = "dynamographdeployments.nvidia.com"  # Other tests define the kind in groups of their own.
        graph = cluster.kubectl("get", kind, "--output=json", f"--namespace={namespace}")
        job = cluster.kubectl("get", "job/model-download", "--output=json", f"--namespace={namespace}")
        state = json.loads(graph)["items"][0].get("status", {}).get("state")
        return state == "successful" and "completionTime" in json.loads(job)["status"]

    eventually(answers)
    found = measured(cluster, stack, tmp_path)
    print(found.text())
    phases = {each.name: each for each in found.comparison.happened.phases}
    phases.pop("CPU nodes", None)  # of the tests' cluster, which may just have been started
    seconds = {name: phase.minutes * 60 for name, phase in phases.items()}
    scripted = {
        "download": DOWNLOAD,
        "GPU nodes": BOOT,
        "image pull": PULL,
        "weights copy": COPY,
        "model load": LOAD,
    }
    seen = witnessed(cluster, namespace)
    nearest = {name: min(seen[name], key=lambda each: abs(each - took)) for name, took in seconds.items()}
    assert seconds == pytest.approx(nearest, abs=SECOND), seen
    assert seconds.keys() == scripted.keys()
    assert {name: scripted[name] for name in scripted if seconds[name] < scripted[name] - SECOND} == {}
    assert [name for name, phase in phases.items() if phase.bound] == ["GPU nodes"]
    assert phases["GPU nodes"].bound is Bound.AT_LEAST
    assert "model-copy" in phases["weights copy"].source
    boot, pull, copy, load = (
        phases[each] for each in ("GPU nodes", "image pull", "weights copy", "model load")
    )
    assert boot.end <= pull.start < copy.end, "it is copied while the image is pulled"
    assert pull.end <= load.start
    assert found.simulated == "nodes and what runs on them"
    assert found.comparison.most_wrong is not None
    assert found.comparison.most_wrong.name == "download"
    assert found.comparison.ready is not None
    assert found.comparison.paid_gpu_minutes is not None
    assert found.comparison.paid_gpu_minutes >= 8 * (BOOT + PULL + LOAD - 3 * SECOND) / 60
