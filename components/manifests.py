"""Rendered manifests as Pulumi resources."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from manifests.objects import annotate

_KNOWN: dict[tuple[str, str], Callable[..., pulumi.CustomResource]] = {
    ("apps/v1", "DaemonSet"): kubernetes.apps.v1.DaemonSet,
    ("batch/v1", "CronJob"): kubernetes.batch.v1.CronJob,
    ("batch/v1", "Job"): kubernetes.batch.v1.Job,
    ("policy/v1", "PodDisruptionBudget"): kubernetes.policy.v1.PodDisruptionBudget,
    ("rbac.authorization.k8s.io/v1", "Role"): kubernetes.rbac.v1.Role,
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): kubernetes.rbac.v1.RoleBinding,
    ("storage.k8s.io/v1", "StorageClass"): kubernetes.storage.v1.StorageClass,
    ("v1", "ConfigMap"): kubernetes.core.v1.ConfigMap,
    ("v1", "Namespace"): kubernetes.core.v1.Namespace,
    ("v1", "PersistentVolume"): kubernetes.core.v1.PersistentVolume,
    ("v1", "PersistentVolumeClaim"): kubernetes.core.v1.PersistentVolumeClaim,
    ("v1", "Secret"): kubernetes.core.v1.Secret,
    ("v1", "ServiceAccount"): kubernetes.core.v1.ServiceAccount,
}
"""Kinds of Kubernetes' own, whose resources know when they are ready; any other is there once it is stored."""


def resource(
    manifest: Mapping[str, Any], opts: pulumi.ResourceOptions, name: str | None = None
) -> pulumi.CustomResource:
    """The object. name: in the stack, where that is not the object's own."""
    name = name or manifest["metadata"]["name"]
    made = _KNOWN.get((manifest["apiVersion"], manifest["kind"]))
    if made is None:
        fields = {_snake(key): value for key, value in manifest.items()}
        return kubernetes.apiextensions.CustomResource(name, **fields, opts=opts)
    fields = {_snake(key): value for key, value in manifest.items() if key not in ("apiVersion", "kind")}
    return made(name, **fields, opts=opts)


def _snake(key: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", key)


def job(
    manifest: Mapping[str, Any], parent: pulumi.Resource, needed: Sequence[pulumi.Resource], timeout: str
) -> pulumi.CustomResource:
    """A Job, there once it is complete. timeout: how long that may take, as `3h`.

    One that is not complete when the next update begins, because it failed or that update was broken off, is deleted
    and made anew: the provider reads the Job's live status for it. Otherwise it would wait for the failed one again.
    """
    return resource(
        annotate(manifest, {"pulumi.com/replaceUnready": "true"}),
        pulumi.ResourceOptions(
            parent=parent,
            depends_on=list(needed),
            custom_timeouts=pulumi.CustomTimeouts(create=timeout, update=timeout),
        ),
    )
