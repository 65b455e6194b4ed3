"""Objects, Jobs and pods are written in one place, and so are a GPU pool and its taint."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from manifests import objects
from manifests.gpu_nodes import GPU_TAINT, GpuNodes, node_affinity
from manifests.names import MANAGED_BY, POOL_LABEL
from targets.knobs import MAIN_POOL
from tests.project import PROGRAM, PROJECT

WRITERS = {"manifests/objects.py"}
"""Where an object's metadata and a pod's pull Secrets are written."""


def written_by_hand(path: Path) -> Iterator[str]:
    """What a module spells out that `objects` says: labels of ours, pull Secrets, when a pod restarts."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Dict):
            keys = {str(key.value) for key in node.keys if isinstance(key, ast.Constant)}
            ours = any(isinstance(each, ast.Name) and each.id == "MANAGED_BY" for each in ast.walk(node))
            yield from keys & {"imagePullSecrets", "restartPolicy"}
            if "labels" in keys and ours:
                yield "labels"


def test_no_renderer_writes_metadata_or_a_pod_by_hand() -> None:
    wrong = {
        str(path.relative_to(PROJECT)): found
        for folder in PROGRAM
        for path in sorted((PROJECT / folder).rglob("*.py"))
        if str(path.relative_to(PROJECT)) not in WRITERS and (found := sorted(written_by_hand(path)))
    }
    assert wrong == {"manifests/benchmark/job.py": ["restartPolicy"]}, "a pod without a Job"


def test_an_object_says_who_manages_it() -> None:
    made = objects.manifest("v1", "ConfigMap", "a", "b", labels={"x": "y"}, data={"k": "v"})
    metadata = {"name": "a", "namespace": "b", "labels": {**MANAGED_BY, "x": "y"}}
    assert made == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "v"}}
    assert objects.namespace("a")["metadata"] == {"name": "a", "labels": MANAGED_BY}


def test_a_job_s_pods_are_never_restarted_in_place() -> None:
    container = objects.container("main", "image:1", ["true"])
    made = objects.job("a", "b", objects.pod([None], containers=[container]), backoffLimit=2)
    assert made["spec"]["backoffLimit"] == 2
    pod = made["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "imagePullSecrets" not in pod


def test_pull_secrets_are_those_that_are_there() -> None:
    assert objects.pod(["a", None])["imagePullSecrets"] == [{"name": "a"}]


def tolerated(taint: dict[str, str], toleration: dict[str, str]) -> bool:
    """As Kubernetes compares them."""
    assert toleration["operator"] == "Exists"
    return (taint["key"], taint["effect"]) == (toleration["key"], toleration["effect"])


def test_a_taint_makes_its_toleration() -> None:
    assert tolerated(GPU_TAINT.on_node, GPU_TAINT.toleration)
    assert GPU_TAINT.on_node_group == {"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}


@pytest.mark.parametrize(
    ("pool", "alike", "other"),
    [(MAIN_POOL, (), None), (MAIN_POOL, ("b",), "b"), ("b", (MAIN_POOL,), MAIN_POOL), ("b", ("c",), "c")],
)
def test_a_pool_s_selector_finds_its_labels_and_not_those_of_others(
    pool: str, alike: tuple[str, ...], other: str | None
) -> None:
    nodes = GpuNodes(product="NVIDIA-B200", pool=pool, alike=alike)
    arch = {"kubernetes.io/arch": "amd64"}

    def selects(labels: dict[str, str]) -> bool:
        return all(
            (labels.get(each["key"]) in each["values"]) is (each["operator"] == "In")
            for each in nodes.selector("amd64")
        )

    assert selects(nodes.labels | arch)
    assert not selects(GpuNodes(product="NVIDIA-H200", pool=pool).labels | arch)
    if other is not None:
        assert not selects(GpuNodes(product="NVIDIA-B200", pool=other).labels | arch)


def test_nodes_that_were_there_need_no_label_of_ours() -> None:
    assert POOL_LABEL not in GpuNodes(product="NVIDIA-B200").labels
    assert POOL_LABEL not in {each["key"] for each in GpuNodes(product="x", pool="b").selector("arm64")}


def test_affinity_that_nobody_asks_for_is_not_written() -> None:
    assert node_affinity() == {"nodeAffinity": {}}
