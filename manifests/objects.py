"""Kubernetes objects as every renderer here writes them: an object, a Job, a pod, a container. Pure."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from manifests.names import MANAGED_BY
from manifests.security import container_security, pod_security

Object = dict[str, Any]
"""A manifest. What only a deployment knows may be an Output in it."""


def manifest(
    api_version: str,
    kind: str,
    name: str,
    namespace: str | None,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **fields: Any,
) -> Object:
    """An object of the stack. namespace: None for kinds that have none. labels: beside who manages it.

    fields: `spec`, `data` and whatever else the kind has, in Kubernetes' spelling.
    """
    metadata: dict[str, Any] = {"name": name, "labels": {**MANAGED_BY, **(labels or {})}}
    if namespace is not None:
        metadata["namespace"] = namespace
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


@dataclass(frozen=True)
class Named:
    """An object and its name in the stack, which is of no more than one object of the kind."""

    name: str
    manifest: Object


def by_own_name(manifests: Iterable[Object]) -> list[Named]:
    """Objects that the stack knows by their own names."""
    return [Named(each["metadata"]["name"], each) for each in manifests]


READY = {"pulumi.com/waitFor": "condition=Ready"}
"""Annotation: an object of a kind that Pulumi does not know is there once its condition Ready is true."""
UNAWAITED = {"pulumi.com/skipAwait": "true"}
"""Annotation: an object that Pulumi would wait for is there once it is stored."""


def annotate(of: Mapping[str, Any], annotations: Mapping[str, str]) -> Object:
    """The object with more annotations."""
    metadata = of["metadata"]
    return {**of, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **annotations}}}


def namespace(name: str, labels: Mapping[str, str] | None = None) -> Object:
    """A Namespace."""
    return manifest("v1", "Namespace", name, None, labels=labels)


def config_map(name: str, namespace: str, data: Mapping[str, Any], **labels: str) -> Object:
    """A ConfigMap. data: text by key."""
    return manifest("v1", "ConfigMap", name, namespace, labels=labels, data=dict(data))


def secret(name: str, namespace: str, data: Mapping[str, Any], kind: str = "Opaque") -> Object:
    """A Secret. data: text of `encode` by key, may be Outputs. kind: its type.

    Not `stringData`: the API server stores that as `data`, and a second server-side apply would see a change.
    """
    return manifest("v1", "Secret", name, namespace, type=kind, data=dict(data))


def encode(text: str) -> str:
    """Text as a Secret holds it: UTF-8 in Base64."""
    return base64.b64encode(text.encode()).decode()


def service_account(name: str, namespace: str) -> Object:
    """An account for pods."""
    return manifest("v1", "ServiceAccount", name, namespace)


def claim(name: str, namespace: str, spec: Mapping[str, Any]) -> Object:
    """A PersistentVolumeClaim. spec: of `claim_spec`."""
    return manifest("v1", "PersistentVolumeClaim", name, namespace, spec=dict(spec))


def claim_spec(
    size: str, access: str, storage_class: str | None, volume: str | None = None
) -> dict[str, Any]:
    """What a claim asks for. storage_class: None for the cluster's default. volume: the one that it takes instead."""
    spec: dict[str, Any] = {"accessModes": [access], "resources": {"requests": {"storage": size}}}
    if volume:
        spec |= {"volumeName": volume, "storageClassName": ""}
    elif storage_class:
        spec["storageClassName"] = storage_class
    return spec


def daemon_set(name: str, namespace: str, pod: Mapping[str, Any]) -> Object:
    """A DaemonSet that prepares nodes, changed on all of them at once. Nothing waits for it.

    Else an update would wait for gigabytes on every node before it goes on to the graphs.
    """
    labels = {"app": name}
    spec = {
        "selector": {"matchLabels": labels},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}},
        "template": pod_template(pod, labels),
    }
    return annotate(manifest("apps/v1", "DaemonSet", name, namespace, spec=spec), UNAWAITED)


def job(
    name: str,
    namespace: str,
    pod: Mapping[str, Any],
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Object:
    """A Job. labels, annotations: of its pods. spec: more of the JobSpec."""
    whole = job_spec(pod, labels=labels, annotations=annotations, **spec)
    return manifest("batch/v1", "Job", name, namespace, spec=whole)


def job_spec(
    pod: Mapping[str, Any],
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A JobSpec, as Jobs and CronJobs have it. Its pods are never restarted in place: another try is another pod."""
    template = pod_template({**pod, "restartPolicy": "Never"}, labels, annotations)
    return {**spec, "template": template}


def pod_template(
    spec: Mapping[str, Any], labels: Mapping[str, str] | None, annotations: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What Jobs and DaemonSets make pods of."""
    metadata: dict[str, Any] = {"labels": {**(labels or {}), **MANAGED_BY}}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"metadata": metadata, "spec": dict(spec)}


def pod(
    pull_secrets: Iterable[str | None], *, security: Mapping[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """A PodSpec. pull_secrets: of its images' registries. security: None for a pod that needs nothing.

    spec: everything else; what is None is left out.
    """
    secrets = [{"name": each} for each in pull_secrets if each]
    return {
        **{key: value for key, value in spec.items() if value is not None},
        "securityContext": dict(security or pod_security()),
        **({"imagePullSecrets": secrets} if secrets else {}),
    }


def container(
    name: str,
    image: str,
    command: Sequence[str] | None,
    *,
    security: Mapping[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A container. command: None for the image's own. security: None for one that needs nothing.

    fields: everything else; what is None is left out.
    """
    return {
        "name": name,
        "image": image,
        **({} if command is None else {"command": list(command)}),
        **{key: value for key, value in fields.items() if value is not None},
        "securityContext": dict(security or container_security()),
    }
