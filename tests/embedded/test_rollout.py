"""A rollout with scripted delays is measured as it was scripted, from what the cluster tells at its end.

Simulated: nodes, and a kubelet's events, statuses and times. Real: API server, scheduler and controllers, by whose
clock it happens. Times are whole seconds there, so what is to be within a tenth takes more than ten of them.
"""

import json
from collections.abc import Iterator
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
from tests.waiting import eventually

pytestmark = pytest.mark.xdist_group("embedded")
BOOT, PULL, COPY, LOAD, DOWNLOAD = 30, 12, 13, 13, 30
"""Seconds. The simulation counts a node's from its last change on, which Kubernetes makes a second or two after it
joined; a Job's own controller takes its second, too."""
WITHIN = 0.1
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


def test_phases_are_measured_as_they_were_scripted(
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
    cluster.kubectl("wait", "--for=condition=Ready", "--timeout=60s", f"node/{node['metadata']['name']}")
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
    assert seconds == pytest.approx(scripted, rel=WITHIN)
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
    assert found.comparison.paid_gpu_minutes >= 8 * (1 - WITHIN) * (BOOT + PULL + LOAD) / 60
