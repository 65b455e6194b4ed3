"""Helm charts as releases."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components.manifests import name_of, resource
from facts.versions import Chart
from manifests import objects


@dataclass(frozen=True, kw_only=True)
class Release:
    """A chart as it is to be installed."""

    chart: Chart
    """Which chart, in which version."""
    namespace: pulumi.Input[str] | None = None
    """Where it goes; by default the chart's own."""
    values: Mapping[str, Any] | None = None
    """Helm values; None for the chart's own."""
    minutes: int = 15
    """How long Helm waits for what the chart brings."""
    max_history: int | None = None
    """Revisions that are kept, None for all."""


def release(wanted: Release, opts: pulumi.ResourceOptions, **more: Any) -> kubernetes.helm.v3.Release:
    """The release, called as its chart. more: of the resource's own arguments."""
    chart = wanted.chart
    source = (
        {"chart": chart.file}
        if chart.file
        else {"chart": chart.name, "version": chart.version, "repository_opts": {"repo": chart.url}}
    )
    return kubernetes.helm.v3.Release(
        chart.name,
        name=chart.name,
        namespace=chart.namespace if wanted.namespace is None else wanted.namespace,
        values=None if wanted.values is None else dict(wanted.values),
        timeout=wanted.minutes * 60,
        max_history=wanted.max_history,
        **source,
        **more,
        # Two at a time would both own what the chart brings to all of the cluster: CRDs, webhooks, roles.
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(delete_before_replace=True)),
    )


def release_in_own_namespace(
    wanted: Release, opts: pulumi.ResourceOptions, **more: Any
) -> kubernetes.helm.v3.Release:
    """The release and the namespace it goes into, which ends with it."""
    chart = wanted.chart
    wanted_name: Any = chart.namespace if wanted.namespace is None else wanted.namespace
    made = resource(objects.namespace(wanted_name), opts, name_of(wanted_name, chart.namespace))
    after = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[made]))
    return release(wanted, after, **more)
