"""What a watched `up` says of realistic mistakes, on an embedded cluster.

Real: API server, scheduler, volume controller and their words. Simulated: nodes, and kubelet's word of an image.
"""

import json
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from embedded.paths import PROJECT
from ops.evaluate import evaluate
from ops.stack.stack import Stack
from ops.synth import manifests
from ops.watch.look import Look
from ops.watch.made import Made
from ops.watch.plain import PlainView
from ops.watch.watch import Watch
from tests.embedded.conftest import Cluster
from tests.ops.stacks import stack
from tests.waiting import PATIENCE

pytestmark = pytest.mark.xdist_group("embedded")


def a_stack(namespace: str, **sections: Any) -> Stack:
    """The published B200 system in a namespace of the test's own; nothing looks at the cluster before."""
    cluster = {"kind": "existing", "kubeconfig": ".embedded/kubeconfig", "namespace": namespace}
    config = {
        "target": "trtllm-disagg-b200",
        "cluster": cluster,
        "platform": {"install": False},
        "verify": "off",
    }
    return replace(stack({**config, **sections}), embedded=True)


def apply(cluster: Cluster, made: Stack, *kinds: str) -> None:
    """The stack's objects of these kinds, as `up` would have made them."""
    rendered = [resource.inputs for resource in manifests(evaluate(PROJECT, made.file))]
    items = [each for each in rendered if each["kind"] in kinds]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    cluster.kubectl("apply", "--server-side", "--filename=-", stdin=text)


def told(cluster: Cluster, made: Stack, words: str, meanwhile: Callable[[], object] = lambda: None) -> str:
    """The first line with the words that a watched `up` tells; prints how long it took."""
    lines: list[str] = []
    there = threading.Event()

    def report(line: str) -> None:
        lines.append(line)
        if words in line:
            there.set()

    look = Look(cluster.kubectl, made.namespace, logs=False)
    watch = Watch(made.plan, look, PlainView(report), embedded=True, made=Made(1))
    began = time.monotonic()
    with watch.running():
        meanwhile()
        assert there.wait(PATIENCE), lines
        print(f"told after {time.monotonic() - began:.1f} s")
    assert len(lines) == len(set(lines)), "each line once"
    return next(line for line in lines if words in line)


def test_a_storage_class_that_went_away_after_the_look(cluster: Cluster, namespace: str) -> None:
    made = a_stack(namespace, cache={"kind": "class", "storageClass": "shared-rwx"})
    apply(cluster, made, "ConfigMap", "PersistentVolumeClaim", "Job")
    line = told(cluster, made, "shared-rwx is not there")
    assert line == (
        "cannot go on: claim model-cache: StorageClass shared-rwx is not there; name one in cache.storageClass "
        "(there: embedded-rwx)"
    )


def gpu_pod(namespace: str, name: str, graph: str) -> dict[str, Any]:
    """A worker of a graph with all GPUs of a B200 node, as an operator makes it."""
    product = {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-B200"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [product]}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {
                "nvidia.com/dynamo-graph-deployment-name": graph,
                "nvidia.com/dynamo-component-type": "worker",
            },
        },
        "spec": {
            "tolerations": [{"operator": "Exists"}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
            "containers": [
                {"name": "main", "image": "nvcr.io/x:1", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
            ],
        },
    }


def make(cluster: Cluster, obj: dict[str, Any]) -> None:
    cluster.kubectl("apply", "--server-side", "--filename=-", stdin=json.dumps(obj))


def test_no_gpu_that_is_free(cluster: Cluster, namespace: str) -> None:
    made = a_stack(namespace)
    make(cluster, gpu_pod(namespace, "holder", "theirs"))
    cluster.kubectl(
        "wait",
        "--for=condition=PodScheduled",
        "pod/holder",
        f"--namespace={namespace}",
        f"--timeout={PATIENCE}s",
    )
    make(cluster, gpu_pod(namespace, "late", "gpt-oss-disagg"))
    line = told(cluster, made, "none has them free")
    assert line.startswith(
        "cannot go on: worker (pod late): needs 8 GPUs on one node, and none has them free: node "
    )
    assert f"8 × NVIDIA-B200, 8 taken by theirs in {namespace} (8)" in line
    assert "(pool.nodes), or make the graph smaller (graph.*.replicas, tensorParallel)" in line


def test_an_image_that_cannot_be_pulled(cluster: Cluster, namespace: str) -> None:
    """Simulated: kubelet's status, which no simulated node writes by itself."""
    made = a_stack(namespace)
    name = f"worker-{uuid.uuid4().hex[:6]}"
    pod = gpu_pod(namespace, name, "gpt-oss-disagg")
    pod["spec"] |= {"nodeName": "no-such-node", "affinity": {}}
    make(cluster, pod)
    words = "nvcr.io/x:1: not found"
    waiting = {"reason": "ErrImagePull", "message": words}
    container = {
        "name": "main", "image": "nvcr.io/x:1", "imageID": "", "ready": False, "restartCount": 0,
        "state": {"waiting": waiting},
    }  # fmt: skip
    patch = json.dumps({"status": {"phase": "Pending", "containerStatuses": [container]}})

    def as_kubelet() -> None:
        where = (f"pod/{name}", f"--namespace={namespace}", "--subresource=status", "--type=merge")
        cluster.kubectl("patch", *where, f"--patch={patch}")

    line = told(cluster, made, "cannot be pulled", as_kubelet)
    assert line == (
        f"cannot go on: worker (pod {name}): image nvcr.io/x:1 cannot be pulled: the registry has no such image: "
        f"{words}; correct graph.image.repository, tag or digest, or graph.dynamoVersion"
    )
