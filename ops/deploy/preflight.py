"""What a stack looks up on the cluster, checked before anything is applied."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from components.services.platform import GRAPH_CRD
from manifests.kubectl import Kubectl
from ops.evaluate import Evaluation
from ops.synth import manifests
from stacks.settings import PROJECT
from targets.errors import UserError


class PreflightError(UserError):
    """The cluster lacks something that the stack names; one sentence a problem."""


def check(evaluation: Evaluation, kubectl: Kubectl) -> None:
    """Raise PreflightError unless everything that the stack reads is on the cluster."""
    problems = [*_secrets(evaluation, kubectl), *_platform(evaluation, kubectl)]
    if problems:
        raise PreflightError("\n".join(problems))


def _secrets(evaluation: Evaluation, kubectl: Kubectl) -> Iterator[str]:
    for namespace, name in _foreign_secrets(evaluation):
        there = [item["metadata"]["name"] for item in _items(kubectl, "secrets", f"--namespace={namespace}")]
        if name not in there:
            yield (
                f"{PROJECT}:huggingFace.existingSecret: {name!r} is no Secret in namespace {namespace} "
                f"(there: {', '.join(there) or 'none'}); create it with `kubectl create secret generic {name} "
                f"--namespace {namespace} --from-literal=HF_TOKEN=…`, or leave huggingFace out: the model is not gated"
            )


def _foreign_secrets(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Namespace and name of every Secret that a Job mounts and the stack does not make."""
    objects = [resource.inputs for resource in manifests(evaluation)]
    made = {_place(each) for each in objects if each["kind"] in ("Secret", "ExternalSecret")}
    mounted = {
        (job["metadata"]["namespace"], volume["secret"]["secretName"])
        for job in objects
        if job["kind"] == "Job"
        for volume in job["spec"]["template"]["spec"].get("volumes", ())
        if "secret" in volume
    }
    return sorted(mounted - made)


def _place(each: Mapping[str, Any]) -> tuple[str, str]:
    return each["metadata"]["namespace"], each["metadata"]["name"]


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
