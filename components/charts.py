"""Helm charts as releases."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from graphs.names import MANAGED_BY
from targets.versions import Chart


def release(
    chart: Chart,
    opts: pulumi.ResourceOptions,
    *,
    values: Mapping[str, Any] | None = None,
    minutes: int = 15,
    **more: Any,
) -> kubernetes.helm.v3.Release:
    """A release, called as its chart. minutes: how long Helm waits for what the chart brings. more: Release's own."""
    source = (
        {"chart": chart.file}
        if chart.file
        else {"chart": chart.name, "version": chart.version, "repository_opts": {"repo": chart.url}}
    )
    return kubernetes.helm.v3.Release(
        chart.name,
        name=chart.name,
        namespace=chart.namespace,
        values=None if values is None else dict(values),
        timeout=minutes * 60,
        **source,
        **more,
        # Two at a time would both own what the chart brings to all of the cluster: CRDs, webhooks, roles.
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(delete_before_replace=True)),
    )


def release_in_own_namespace(
    chart: Chart, opts: pulumi.ResourceOptions, **more: Any
) -> kubernetes.helm.v3.Release:
    """A release and the namespace it goes into, which ends with it. more: as for `release`."""
    made = kubernetes.core.v1.Namespace(
        chart.namespace, metadata={"name": chart.namespace, "labels": dict(MANAGED_BY)}, opts=opts
    )
    return release(
        chart, pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[made])), **more
    )
