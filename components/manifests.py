"""Rendered manifests as Pulumi resources."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes


def custom_resource(
    name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions
) -> kubernetes.apiextensions.CustomResource:
    """An object of a kind that Pulumi does not know, there once it is stored."""
    return kubernetes.apiextensions.CustomResource(
        name,
        api_version=manifest["apiVersion"],
        kind=manifest["kind"],
        metadata=manifest["metadata"],
        spec=manifest["spec"],
        opts=opts,
    )


def ready_resource(
    name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions
) -> kubernetes.apiextensions.CustomResource:
    """As `custom_resource`, there once its condition Ready is true."""
    metadata = {**manifest["metadata"], "annotations": {"pulumi.com/waitFor": "condition=Ready"}}
    return custom_resource(name, {**manifest, "metadata": metadata}, opts)


def config_map(manifest: Mapping[str, Any], opts: pulumi.ResourceOptions) -> kubernetes.core.v1.ConfigMap:
    """A ConfigMap, called in the stack as it is in the cluster."""
    return kubernetes.core.v1.ConfigMap(
        manifest["metadata"]["name"], metadata=manifest["metadata"], data=manifest["data"], opts=opts
    )


def job(manifest: Mapping[str, Any], opts: pulumi.ResourceOptions) -> kubernetes.batch.v1.Job:
    """A Job, called in the stack as it is in the cluster, there once it is complete.

    One that is not complete when the next update begins, because it failed or that update was broken off, is deleted
    and made anew: the provider reads the Job's live status for it. Otherwise it would wait for the failed one again.
    """
    metadata: Any = {**manifest["metadata"], "annotations": {"pulumi.com/replaceUnready": "true"}}
    return kubernetes.batch.v1.Job(metadata["name"], metadata=metadata, spec=manifest["spec"], opts=opts)
