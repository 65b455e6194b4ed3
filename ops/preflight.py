"""What a stack looks up on the cluster, checked before anything is applied."""

import json
from collections.abc import Iterator
from typing import Any

from components.platform import GRAPH_CRD
from ops.apply import Kubectl
from ops.errors import OpsError
from ops.evaluate import Evaluation
from ops.synth import manifests
from stacks.settings import PROJECT


class PreflightError(OpsError):
    """The cluster lacks something that the stack names; one sentence a problem."""


def check(evaluation: Evaluation, kubectl: Kubectl) -> None:
    """Raise PreflightError unless everything that the stack reads is on the cluster."""
    problems = [*_secrets(evaluation, kubectl), *_platform(evaluation, kubectl)]
    if problems:
        raise PreflightError("\n".join(problems))


def _secrets(evaluation: Evaluation, kubectl: Kubectl) -> Iterator[str]:
    for identity in _read(evaluation, "kubernetes:core/v1:Secret"):
        namespace, _, name = identity.partition("/")
        there = [item["metadata"]["name"] for item in _items(kubectl, "secrets", f"--namespace={namespace}")]
        if name not in there:
            yield (
                f"{PROJECT}:huggingFace.existingSecret: {name!r} is no Secret in namespace {namespace} "
                f"(there: {', '.join(there) or 'none'}); create it with `kubectl create secret generic {name} "
                f"--namespace {namespace} --from-literal=HF_TOKEN=…`, or leave huggingFace out: the model is not gated"
            )


def _platform(evaluation: Evaluation, kubectl: Kubectl) -> Iterator[str]:
    if GRAPH_CRD not in _read(evaluation, "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"):
        return
    found = kubectl("get", "customresourcedefinition", GRAPH_CRD, "--ignore-not-found", "--output=json")
    if not found:
        yield f"{PROJECT}:platform.install: false, but the cluster has no Dynamo platform ({GRAPH_CRD}); set it to true"
        return
    served = {f"nvidia.com/{v['name']}" for v in json.loads(found)["spec"]["versions"] if v["served"]}
    wanted = {
        r.inputs["apiVersion"] for r in manifests(evaluation) if r.inputs["kind"] == "DynamoGraphDeployment"
    }
    for version in sorted(wanted - served):
        yield (
            f"{PROJECT}:graph.dynamoVersion: its graphs are {version}, but the cluster's Dynamo platform serves "
            f"{', '.join(sorted(served))}; choose a matching release or upgrade the platform"
        )


def _read(evaluation: Evaluation, kind: str) -> list[str]:
    return [str(r.inputs["id"]) for r in evaluation.resources if r.read and r.type == kind]


def _items(kubectl: Kubectl, *what: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(kubectl("get", *what, "--output=json"))["items"]
    return items
