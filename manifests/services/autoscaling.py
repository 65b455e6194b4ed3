"""KEDA's ScaledObjects for the roles of a graph that are autoscaled. Pure.

Sources: Dynamo's guide to autoscaling (adapters' names, which metric suits which role), KEDA's Prometheus scaler and
the HorizontalPodAutoscaler that KEDA makes of a ScaledObject.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from facts.engines import Role
from manifests.monitoring.queries import FRONTEND_ROLE, ITL, STAGE_REQUESTS, TTFT, of_graph, quantile
from manifests.objects import READY, annotate, manifest
from targets.naming import component_name
from targets.parts import WorkerPlan
from targets.plan import GraphPlan

_POLL_SECONDS = 15
_QUANTILE = 0.95
_SETTLE_SECONDS = 60
"""A burst shorter than this adds no worker, which would take minutes to be there."""


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """When workers are added and taken away. pending: requests for each worker. ttft, itl: seconds, 95th percentile.

    prometheus: URL inside the cluster.
    """

    prometheus: str
    pending: int
    ttft: float
    itl: float
    up_minutes: int
    down_minutes: int


def adapter(graph: str, component: str) -> str:
    """Name of the DynamoGraphDeploymentScalingAdapter that the operator makes for a component."""
    return f"{graph}-{component.lower()}"


def scaled_objects(plan: GraphPlan, namespace: str, scaling: Scaling) -> list[dict[str, Any]]:
    """A ScaledObject for each autoscaled role."""
    return [_scaled_object(plan, planned, namespace, scaling) for planned in plan.autoscaled]


def _scaled_object(plan: GraphPlan, planned: WorkerPlan, namespace: str, scaling: Scaling) -> dict[str, Any]:
    name = adapter(plan.name, component_name(plan.target.engine, planned))
    one_worker = {"type": "Pods", "value": 1}
    behavior = {
        "scaleUp": {
            "stabilizationWindowSeconds": _SETTLE_SECONDS,
            # Latency stays high while a worker loads; without a pace each look at it would add another.
            "policies": [one_worker | {"periodSeconds": scaling.up_minutes * 60}],
        },
        "scaleDown": {
            "stabilizationWindowSeconds": scaling.down_minutes * 60,
            "policies": [one_worker | {"periodSeconds": 300}],
        },
    }
    spec = {
        "scaleTargetRef": {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": "DynamoGraphDeploymentScalingAdapter",
            "name": name,
        },
        # Never 0: a model without workers is listed no more, and nobody could ask for it again.
        "minReplicaCount": planned.worker.replicas,
        "maxReplicaCount": planned.at_most.worker.replicas,
        "pollingInterval": _POLL_SECONDS,
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behavior}},
        "triggers": [
            _trigger(scaling.prometheus, *each)
            for each in triggers(plan.name, namespace, planned.role, scaling)
        ],
    }
    return annotate(manifest("keda.sh/v1alpha1", "ScaledObject", name, namespace, spec=spec), READY)


def triggers(
    graph: str, namespace: str, role: Role, scaling: Scaling
) -> Sequence[tuple[str, str, str, float]]:
    """What a role is scaled on: name, PromQL, how the target is meant, target.

    An `AverageValue` is shared by the workers; a `Value` is a latency, which no number of workers divides. Prefill
    makes requests wait for their first token, decode for each further one; an aggregated worker does both.
    """
    matchers = of_graph(namespace, graph)
    stages = 'stage=~"preprocess|route|dispatch"'
    waiting = f"sum({STAGE_REQUESTS}{of_graph(namespace, graph, None, stages)})"
    first = [
        ("pending-requests", _or_idle(waiting, namespace, graph), "AverageValue", scaling.pending),
        ("time-to-first-token", _or_idle(_latency(TTFT, matchers), namespace, graph), "Value", scaling.ttft),
    ]
    further = [
        ("inter-token-latency", _or_idle(_latency(ITL, matchers), namespace, graph), "Value", scaling.itl)
    ]
    return {Role.PREFILL: first, Role.DECODE: further, Role.WORKER: [*first, *further]}[role]


def _latency(histogram: str, matchers: str) -> str:
    """Without requests the quantile is NaN, which the comparison drops."""
    return f"({quantile(_QUANTILE, histogram, matchers)} >= 0)"


def _or_idle(query: str, namespace: str, graph: str) -> str:
    """0 while a frontend is scraped and has nothing to tell; no value at all, and so no scaling, while none is."""
    return f"{query} or 0 * max(up{of_graph(namespace, graph, FRONTEND_ROLE)} == 1)"


def _trigger(prometheus: str, name: str, query: str, metric_type: str, target: float) -> dict[str, Any]:
    return {
        "type": "prometheus",
        "name": name,
        "metricType": metric_type,
        "metadata": {
            "serverAddress": prometheus,
            "query": query,
            "threshold": str(target),
            # No answer is an error, at which the HorizontalPodAutoscaler keeps what there is.
            "ignoreNullValues": "false",
        },
    }
