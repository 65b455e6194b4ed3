"""Pods whose models come from a bucket: each has a copy of what it reads, and no claim."""

import json
from typing import Any

import pytest

from manifests import aws_cli, pod_scripts
from manifests.benchmark.job import job
from manifests.cache import bucket
from manifests.graph.deployment import graph_deployment
from stacks.load import parse
from stacks.plan import StackPlan

CLUSTER = {"kind": "eks", "region": "us-east-2", "publicAccessFrom": ["192.0.2.0/24"]}
INGRESS = {
    "host": "llm.example.com",
    "gateway": "envoy/public",
    "existingSecret": "keys",
    "inferenceExtension": True,
}


def settings(target: str, **more: Any) -> StackPlan:
    return parse({"target": target, "cluster": CLUSTER, "cache": {"kind": "s3"}, **more}, set())


def pods(made: StackPlan) -> dict[str, Any]:
    graph = graph_deployment(made.main, "dynamo")
    return {each["name"]: each["podTemplate"]["spec"] for each in graph["spec"]["components"]}


def copy_of(pod: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """The copying container, its models, and the pod's volumes by name."""
    cli, copying = pod["initContainers"]
    assert cli == aws_cli.init_container()
    env = {each["name"]: each.get("value") for each in copying["env"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounted = {mount["name"] for each in (cli, copying) for mount in each["volumeMounts"]}
    assert mounted <= volumes.keys()
    return copying, json.loads(env["MODELS"]), volumes


@pytest.mark.parametrize(
    "more",
    [
        {"graph": {"transport": "pod"}},
        {"graph": {"transport": "node"}},
        {"ingress": INGRESS, "graph": {"dynamoVersion": "1.6.1"}},
    ],
    ids=["one pod", "pods", "endpoint picker"],
)
def test_every_pod_has_a_copy_of_what_it_reads(more: dict[str, Any]) -> None:
    made = settings("vllm-disagg-h100", **more)
    for name, pod in pods(made).items():
        copying, models, volumes = copy_of(pod)
        loads = "Worker" in name
        assert [each["tokenizer_only"] for each in models] == [not loads]
        room = "67Gi" if loads else "1Gi"
        assert volumes["model-cache"] == {"name": "model-cache", "emptyDir": {"sizeLimit": room}}
        assert copying["resources"] == {"requests": {"ephemeral-storage": room}}
        assert copying["image"] == made.main.image.reference
        for container in pod["containers"]:
            mounts = {mount["name"]: mount for mount in container.get("volumeMounts", [])}
            if "model-cache" in mounts:
                assert mounts["model-cache"]["readOnly"]
                assert mounts["model-cache"]["mountPath"] == "/opt/models"
        assert "model-cache" in {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    assert "persistentVolumeClaim" not in str(pods(made))
    assert f"copy-weights-{made.main.name}" not in str(pods(made))


def test_workers_without_weights_copy_none() -> None:
    for pod in pods(settings("mocker-disagg-cpu")).values():
        _, models, _ = copy_of(pod)
        assert [each["tokenizer_only"] for each in models] == [True]


def test_a_draft_model_comes_with_the_model() -> None:
    for name, pod in pods(settings("vllm-agg-agentic-b200")).items():
        _, models, volumes = copy_of(pod)
        assert len(models) == 2
        assert volumes["model-cache"]["emptyDir"]["sizeLimit"] == ("70Gi" if "Worker" in name else "1Gi")


def test_a_benchmark_copies_the_tokenizer_as_who_may() -> None:
    made = settings("vllm-disagg-h100")
    pod = job(made.checks.benchmark.job(made.main, "dynamo"))["spec"]["template"]["spec"]
    copying, models, _ = copy_of(pod)
    assert [each["tokenizer_only"] for each in models] == [True]
    assert pod["serviceAccountName"] == bucket.NAME
    assert copying["image"] == made.main.image.reference


def test_the_programs_find_their_bucket_and_their_cli() -> None:
    data = bucket.config_map("dynamo", bucket="ours", region="us-east-2")["data"]
    (_, copying) = bucket.fetch_containers("engine", (), None)
    env = {each["name"]: each for each in copying["env"]}
    for name, value in {"BUCKET": "ours", "AWS_REGION": "us-east-2"}.items():
        reference = env[name]["valueFrom"]["configMapKeyRef"]
        assert reference["name"] == bucket.NAME
        assert data[reference["key"]] == value
    folder = f"{pod_scripts.PATH}/bucket"
    assert folder in {mount["mountPath"] for mount in copying["volumeMounts"]}
    assert env["AWS_CONFIG_FILE"]["value"].removeprefix(f"{folder}/") in data
    assert env["AWS_CLI"]["value"] == "/opt/aws-cli/aws"
    assert "fetch.py" in data
    assert "preferred_transfer_client = crt" in data["fetch.config"]


def test_readers_are_the_accounts_that_the_operator_gives() -> None:
    assert bucket.readers(("one", "two"), picker=True) == (
        "one-k8s-service-discovery", "two-k8s-service-discovery", "epp-serviceaccount", "model-bucket",
    )  # fmt: skip
