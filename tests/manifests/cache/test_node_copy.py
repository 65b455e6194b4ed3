"""What makes one copy of the weights on each GPU node, and the workers that share it."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from facts.weights import CacheUse
from manifests.cache import bucket, local_copy, node_copy
from manifests.graph.deployment import graph_deployment
from manifests.names import CACHE_CLAIM, CACHE_PATH
from targets.plan import GraphPlan
from tests.plans import resolved

B200, FOLDER = "p6-b200.48xlarge", "/var/lib/kubelet/dynamo-gpt-oss/dynamo"


def copying(**more: Any) -> GraphPlan:
    use = CacheUse(local_copy=True, node_folder=node_copy.folder("dynamo"), **more)
    return resolved("trtllm-disagg-b200", B200, 2, weights=use)


def daemon_set(*plans: GraphPlan) -> Any:
    return node_copy.manifests(plans, "dynamo", {})[-1]


def workers(plan: GraphPlan) -> list[Any]:
    graph = graph_deployment(plan, "dynamo")["spec"]
    pods = [
        {**each["extraPodSpec"], "containers": [each["extraPodSpec"]["mainContainer"]]}
        for each in graph.get("services", {}).values()
    ] or [each["podTemplate"]["spec"] for each in graph["components"]]
    return [pod for pod in pods if "initContainers" in pod]


def test_the_copier_comes_with_its_nodes_and_asks_for_the_disk_once() -> None:
    made = daemon_set(copying())
    pod = made["spec"]["template"]["spec"]
    (worker, *_) = workers(copying())
    assert made["metadata"]["name"] == "model-copy"
    assert pod["tolerations"] == worker["tolerations"]
    assert pod["affinity"]["nodeAffinity"] == worker["affinity"]["nodeAffinity"]
    disks = [
        each["resources"]["requests"]["ephemeral-storage"]
        for each in (pod["initContainers"][1], *pod["containers"])
    ]
    assert disks == ["67Gi", "67Gi"]
    assert all("resources" not in each for pod in workers(copying()) for each in pod["initContainers"])


def test_workers_share_the_folder_that_the_copier_fills() -> None:
    pod = daemon_set(copying())["spec"]["template"]["spec"]
    source = {"path": FOLDER, "type": "DirectoryOrCreate"}
    for each in (pod, *workers(copying())):
        volumes = {volume["name"]: volume for volume in each["volumes"]}
        assert volumes[local_copy.VOLUME]["hostPath"] == source
        copier = next(
            container for container in each["initContainers"] if container["name"] == "copy-weights"
        )
        assert {"name": "OF_NODE", "value": "1"} in copier["env"]
        assert copier["volumeMounts"] == local_copy.mounts()
    for worker in workers(copying()):
        mounts = {mount["name"]: mount for mount in worker["containers"][0]["volumeMounts"]}
        assert mounts[local_copy.VOLUME] == {
            "name": local_copy.VOLUME, "mountPath": CACHE_PATH, "readOnly": True
        }  # fmt: skip


def test_the_copier_reads_what_the_workers_read() -> None:
    def models(containers: list[Any]) -> Any:
        found = next(each for each in containers if each["name"] == "copy-weights")
        return next(each["value"] for each in found["env"] if each["name"] == "MODELS")

    pod = daemon_set(copying())["spec"]["template"]["spec"]
    assert {models(worker["initContainers"]) for worker in workers(copying())} == {
        models(pod["initContainers"])
    }


@pytest.mark.parametrize("from_bucket", [False, True])
def test_on_arm64_everything_runs_in_the_graph_s_image(from_bucket: bool) -> None:
    """Nobody knows whether AIPerf's is for ARM64, and workers wait for the copy for ever."""
    use = CacheUse(
        local_copy=True,
        node_folder=FOLDER,
        compiled_folder=node_copy.compiled_folder("dynamo"),
        from_bucket=from_bucket,
    )
    plan = resolved("trtllm-agg-gb200", "p6e-gb200.36xlarge", 9, weights=use)
    for made, image in ({}, plan.image.reference), ({plan.name: "ours@sha256:1"}, "ours@sha256:1"):
        pod: Any = node_copy.manifests([plan], "dynamo", {plan.name: []}, made)[-1]
        pod = pod["spec"]["template"]["spec"]
        ours = [each for each in (*pod["initContainers"], *pod["containers"]) if each["name"] != "aws-cli"]
        assert {each["name"] for each in ours} == {"own-root", "copy-weights", "keep-copy"}
        for each in ours:
            assert (each["image"], each["command"][0]) == (image, "python3")
            # Of an engine's image: no GPU for what only copies.
            assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in each["env"]


def test_on_x86_64_the_small_image_is_enough() -> None:
    pod = daemon_set(copying())["spec"]["template"]["spec"]
    for each in (*pod["initContainers"], *pod["containers"]):
        assert each["image"].startswith("nvcr.io/nvidia/ai-dynamo/aiperf:")


def test_a_claim_of_ones_own_is_copied_from() -> None:
    volumes = daemon_set(copying(claim="ours"))["spec"]["template"]["spec"]["volumes"]
    assert {"name": CACHE_CLAIM, "persistentVolumeClaim": {"claimName": "ours", "readOnly": True}} in volumes


def test_its_account_may_see_the_daemon_sets_of_the_copies_alone() -> None:
    other = copying()
    other = replace(other, name="other", pool=replace(other.pool, name="second"))
    account, role, binding, scripts, *sets = node_copy.manifests([copying(), other], "dynamo", {})
    names = [each["metadata"]["name"] for each in sets]
    assert names == ["model-copy", "model-copy-second"]
    assert role["rules"] == [
        {"apiGroups": ["apps"], "resources": ["daemonsets"], "resourceNames": names, "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ]
    assert binding["subjects"][0]["name"] == account["metadata"]["name"]
    assert {*scripts["data"]} == {"copy_weights.py", "keep_copy.py"}
    assert [each["spec"]["template"]["spec"]["serviceAccountName"] for each in sets] == ["model-copy"] * 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_the_folder_is_given_away_once(tmp_path: Path) -> None:
    """As the container does it, but with every capability of root."""
    (give, *_) = daemon_set(copying())["spec"]["template"]["spec"]["initContainers"]
    assert give["command"][-1] == CACHE_PATH
    for _ in range(2):
        subprocess.run([sys.executable, *give["command"][1:-1], str(tmp_path)], check=True)
        found = tmp_path.stat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (1000, 0, 0o775)
    assert give["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["CHOWN"]}


@pytest.mark.parametrize("use", [CacheUse(), CacheUse(local_copy=True)])
def test_without_a_folder_of_the_nodes_there_is_nothing(use: CacheUse) -> None:
    assert node_copy.manifests([resolved("trtllm-disagg-b200", B200, weights=use)], "dynamo", {}) == []


def test_a_bucket_is_copied_from_with_an_identity_of_the_copiers_own() -> None:
    plan = copying(from_bucket=True)
    pod = daemon_set(plan)["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] in bucket.readers((plan.name,), picker=False, more=(node_copy.NAME,))
    source = {"path": FOLDER, "type": "DirectoryOrCreate"}
    for each in (pod, *workers(plan)):
        volumes = {volume["name"]: volume for volume in each["volumes"]}
        assert volumes[CACHE_CLAIM].get("hostPath", source) == source
    give, cli, fetch = pod["initContainers"]
    assert give["volumeMounts"] == [{"name": CACHE_CLAIM, "mountPath": CACHE_PATH}]
    assert cli["name"] == "aws-cli"
    assert fetch["command"][1:] == ["-m", "bucket.fetch"]
    assert fetch["resources"]["requests"]["ephemeral-storage"] == "67Gi"
    weights = [each for each in workers(plan) if "hostPath" in str(each["volumes"])]
    assert len(weights) == len([*plan.pod_roles])
    for worker in weights:
        _, own = worker["initContainers"]
        said = {each["name"]: each.get("value") for each in own["env"]}
        copier = {each["name"]: each.get("value") for each in fetch["env"]}
        assert said == copier
        assert said["OF_NODE"] == "1"
        assert "resources" not in own
