"""Helm charts that bring a namespace of their own."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from graphs.names import MANAGED_BY


def release_in_own_namespace(
    name: str,
    chart: str,
    namespace: str,
    parent: pulumi.Resource,
    *,
    values: Mapping[str, Any] | None = None,
    minutes: int = 10,
    max_history: int | None = None,
) -> kubernetes.helm.v3.Release:
    """A release and the namespace it goes into, which ends with it. chart: HTTPS address of the chart's file.

    minutes: how long Helm waits for what the chart brings. max_history: revisions that are kept, None for all.
    """
    made = kubernetes.core.v1.Namespace(
        namespace,
        metadata={"name": namespace, "labels": dict(MANAGED_BY)},
        opts=pulumi.ResourceOptions(parent=parent),
    )
    return kubernetes.helm.v3.Release(
        name,
        name=name,
        chart=chart,
        namespace=namespace,
        values=None if values is None else dict(values),
        timeout=minutes * 60,
        max_history=max_history,
        # In another namespace Helm would find what the release owns in all of the cluster taken by the first one.
        opts=pulumi.ResourceOptions(parent=parent, depends_on=[made], delete_before_replace=True),
    )
