"""`ops doctor` for a cluster that is there, from what a kubectl on PATH answers."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest

from ops.doctor import DoctorError, check, examine
from ops.pulumi.automation import NoStackError, State
from ops.stack.stack import Stack
from tests.ops.stacks import stack

PRODUCT = "nvidia.com/gpu.product"
GRAPHS = {"spec": {"versions": [{"name": "v1alpha1", "served": True}, {"name": "v1beta1", "served": True}]}}
READS = ("nodes", "pods", "storageclasses", "secrets")


def node(gpus: int = 8, **labels: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "n1", "labels": {PRODUCT: "NVIDIA-B200", **labels}},
        "spec": {},
        "status": {"allocatable": {"nvidia.com/gpu": str(gpus)}},
    }


def pod(namespace: str, gpus: int) -> dict[str, Any]:
    container = {"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    return {
        "metadata": {"name": "p", "namespace": namespace},
        "spec": {"nodeName": "n1", "containers": [container]},
        "status": {"phase": "Running"},
    }


def storage_class(name: str, provisioner: str, default: bool = True) -> dict[str, Any]:
    said = {"storageclass.kubernetes.io/is-default-class": str(default).lower()}
    return {"metadata": {"name": name, "annotations": said}, "provisioner": provisioner}


HEALTHY: dict[str, Any] = {
    "nodes": [node()],
    "pods": [],
    "storageclasses": [storage_class("efs", "efs.csi.aws.com")],
    "secrets": [],
    "customresourcedefinition": GRAPHS,
    "/version": {"gitVersion": "v1.35.0"},
}


def examined(
    folder: Path, monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, Any], **config: Any
) -> list[str]:
    """The lines about a stack on a cluster whose kubectl gives these answers; None as an answer is a refusal."""
    program = folder / "kubectl"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\nif '--context=ours' not in sys.argv: sys.exit('wrong cluster')\n"
        f"for word, answer in json.loads({json.dumps(dict(answers))!r}).items():\n"
        "    if word in sys.argv:\n"
        "        if answer is None: sys.exit('forbidden')\n"
        f"        print(json.dumps({{'items': answer}} if word in {READS} else answer))\n"
        "        sys.exit()\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return [
        str(finding) for finding in examine(stack_of(**config), State(nowhere)) if finding.about != "Pulumi"
    ]


def stack_of(**config: Any) -> Stack:
    return stack(
        {
            "target": "trtllm-disagg-b200",
            "cluster": {"kind": "existing", "context": "ours"},
            "platform": {"install": False},
            **config,
        }
    )


def nowhere() -> NoReturn:
    raise NoStackError("there is none")


def test_a_cluster_that_has_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert examined(tmp_path, monkeypatch, HEALTHY) == [
        "ok           cluster: Kubernetes v1.35.0 answers",
        "ok           drivers and services: none that is too old or not ready",
        "ok           what the stack names: Secrets and platform are there",
        "ok           GPUs of pool: the stack wants 8, 8 of 8 on 1 nodes are free",
        "ok           storage class: efs (efs.csi.aws.com), whose claims must be able to be ReadWriteMany",
        "ok           Hugging Face token: none; the model is not gated, but a token (huggingFace.token) lifts download "
        "limits",
        "ok           price: nothing by the hour: cluster and nodes are there already",
    ]


OLD_DRIVER = {"nvidia.com/cuda.runtime-version.major": "12", "nvidia.com/cuda.runtime-version.minor": "4"}
WRONG: dict[str, tuple[Mapping[str, Any], Mapping[str, Any], str]] = {
    "does not answer": (
        {"/version": None},
        {},
        "cluster: it does not answer: forbidden; correct cluster.kubeconfig or context",
    ),
    "old driver": (
        {"nodes": [node(8, **OLD_DRIVER)]},
        {},
        "drivers and services: graph: node n1 has a driver for CUDA 12.4, but gpt-oss-disagg needs 12.8 or newer; "
        "install a newer NVIDIA driver there",
    ),
    "no Secret": (
        {},
        {"huggingFace": {"existingSecret": "token"}},
        "what the stack names: dynamo-gpt-oss:huggingFace.existingSecret: 'token' is no Secret in namespace dynamo "
        "(there: none); create it with `kubectl create secret generic token --namespace dynamo "
        "--from-literal=HF_TOKEN=…`, or leave huggingFace out: the model is not gated",
    ),
    "GPUs of others": (
        {"pods": [pod("theirs", 4), pod("dynamo", 4)]},
        {},
        "GPUs of pool: the stack wants 8, 4 of 8 on 1 nodes are free, taken by p in theirs (4); free some, "
        "name other nodes in pool.nodeSelector, or make the graph smaller (replicas, tensorParallel)",
    ),
    "no GPU node": (
        {"nodes": [node(8, **{PRODUCT: "NVIDIA-L4"})]},
        {},
        "GPUs of pool: no node has the label nvidia.com/gpu.product=NVIDIA-B200; install GPU feature discovery, or say "
        "what is there in pool.gpuProduct and nodeSelector",
    ),
    "no class": (
        {},
        {"cache": {"storageClass": "fast"}},
        "storage class: cache.storageClass: fast is not there; choose among efs",
    ),
    "no default": (
        {"storageclasses": [storage_class("efs", "efs.csi.aws.com", default=False)]},
        {},
        "storage class: the cluster has no default (there: efs); name one in cache.storageClass",
    ),
    "block storage": (
        {"storageclasses": [storage_class("gp3", "ebs.csi.aws.com")]},
        {},
        "storage class: gp3 (ebs.csi.aws.com) makes volumes for one node, and the cache is ReadWriteMany; name another "
        "in cache.storageClass (there: gp3)",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_each_wrong_thing_is_one_line_with_its_remedy(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, config, line = WRONG[case]
    lines = examined(tmp_path, monkeypatch, HEALTHY | dict(answers), **config)
    assert [each for each in lines if each.startswith("wrong")] == [f"wrong        {line}"]


def test_what_may_not_be_read_is_said_and_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = examined(tmp_path, monkeypatch, HEALTHY | {"storageclasses": None})
    assert [each for each in lines if not each.startswith("ok")] == [
        "cannot tell  storage class: not looked at: forbidden"
    ]


def test_up_is_refused_for_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = HEALTHY | {"pods": [pod("theirs", 8)]}
    examined(tmp_path, monkeypatch, answers)  # puts its kubectl on PATH
    said: list[str] = []
    with pytest.raises(DoctorError, match="GPUs of pool: the stack wants 8, 0 of 8 on 1 nodes are free"):
        check(stack_of(), State(nowhere), said.append)
    assert any(line.startswith("ok           storage class") for line in said)
