"""Pods of graphs whose models are in a bucket: real operators give them the accounts that identities are given to."""

from typing import Any

import pytest

from manifests.cache import bucket
from manifests.graph.deployment import graph_deployment
from stacks.load import parse
from stacks.plan import StackPlan
from tests.operator.cases import cases
from tests.operator.conftest import Operators
from tests.operator.release import Release
from tests.waiting import eventually

NAMESPACE, PODS = "models-in-a-bucket", 3
"""One frontend, one worker of each role."""


def stack(version: str) -> StackPlan:
    said: dict[str, Any] = {
        "target": "trtllm-disagg-b200",
        "cluster": {"kind": "eks", "region": "us-east-2", "publicAccessFrom": ["192.0.2.0/24"]},
        "cache": {"kind": "s3"},
        "graph": {"transport": "node", "dynamoVersion": version},
        "platform": {"version": version},
    }
    return parse(said, set())


@pytest.mark.operator
def test_pods_have_the_account_and_what_copies_their_model(operators: Operators, release: Release) -> None:
    plan, operator = stack(next(cases(release.line)).platform).main, operators.of(release)
    graph, namespace = graph_deployment(plan, NAMESPACE), f"--namespace={NAMESPACE}"
    operator.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
    try:
        operator.apply([graph])
        eventually(lambda: len(operator.get("pods", namespace)) == PODS, 120)
        pods = [pod["spec"] for pod in operator.get("pods", namespace)]
        operator.get("serviceaccount", bucket.readers((plan.name,), picker=False)[0], namespace)
    finally:
        operator.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    copied = {f"{plan.copy_gib}Gi": 0, "1Gi": 0}
    for pod in pods:
        assert pod["serviceAccountName"] == bucket.readers((plan.name,), picker=False)[0]
        assert [each["name"] for each in pod["initContainers"]] == ["aws-cli", "copy-weights"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert "persistentVolumeClaim" not in volumes["model-cache"]
        copied[volumes["model-cache"]["emptyDir"]["sizeLimit"]] += 1
    assert [*copied.values()] == [PODS - 1, 1], "workers have the weights, the frontend has the rest"
