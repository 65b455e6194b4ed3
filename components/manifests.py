"""Rendered manifests as Pulumi resources."""

import re
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar

import pulumi
import pulumi_kubernetes as kubernetes

from manifests.objects import annotate

Value = TypeVar("Value")

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


def rendered(render: Callable[..., Value], *given: pulumi.Input[str] | None) -> Value:
    """What renders from values that other resources may give; whatever of it hangs on those is an Output then."""
    if not any(isinstance(each, pulumi.Output) for each in given):
        return render(*given)
    one, other = (
        render(*(sample if isinstance(each, pulumi.Output) else each for each in given))
        for sample in ("one", "other")
    )
    known = pulumi.Output.all(*given).apply(lambda values: render(*values))
    merged: Value = _depending(one, other, known)
    return merged


def _depending(one: Any, other: Any, known: pulumi.Output[Any]) -> Any:
    """What is the same in both, and of `known` what differs."""
    if one == other:
        return one
    if isinstance(one, dict) and one.keys() == other.keys():
        return {key: _depending(one[key], other[key], known.apply(itemgetter(key))) for key in one}
    if isinstance(one, list) and len(one) == len(other):
        return [
            _depending(*pair, known.apply(itemgetter(place)))
            for place, pair in enumerate(zip(one, other, strict=True))
        ]
    return known


def name_of(given: pulumi.Input[str], otherwise: str) -> str:
    """A resource's name in the stack after a value that another resource may give."""
    return given if isinstance(given, str) else otherwise


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
