"""Alert rules of a stack as a PrometheusRule. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from manifests.monitoring import queries
from manifests.monitoring.pod_monitors import API_VERSION
from manifests.objects import manifest
from manifests.services import time_to_live
from targets.plan import GraphPlan

WARNING, CRITICAL = "warning", "critical"
NEAR_SECONDS = 2 * 60 * 60
"""How long before the end of a stack's time to live it is announced."""


@dataclass(frozen=True, kw_only=True)
class Objectives:
    """What is alerted about. ttft, itl: seconds at the 95th percentile. idle_minutes: of GPUs without work.

    ttl: how long the stack is meant to live, as `72h`; None for without end.
    """

    ttft: float
    itl: float
    idle_minutes: int
    ttl: str | None


def prometheus_rule(
    plans: Sequence[GraphPlan], namespace: str, objectives: Objectives, labels: Mapping[str, str]
) -> dict[str, Any]:
    """Every rule of the stack. labels: what the Prometheus selects rules by."""
    rules = [rule for plan in plans for rule in _graph_rules(plan, namespace, objectives)]
    rules += _stack_rules(namespace, objectives)
    spec = {"groups": [{"name": "dynamo-gpt-oss", "rules": rules}]}
    return manifest(API_VERSION, "PrometheusRule", "dynamo-gpt-oss", namespace, labels=labels, spec=spec)


def _graph_rules(plan: GraphPlan, namespace: str, objectives: Objectives) -> Iterator[dict[str, Any]]:
    all_of_it = queries.of_graph(namespace, plan.name)
    for role in (queries.FRONTEND_ROLE, *plan.pod_roles):
        yield _rule(
            "DynamoRoleMissing",
            f"absent({queries.answering_pods(namespace, plan.name, role)})",
            "5m",
            (
                f"{plan.name} has no {role}",
                f"No {role} pod of {plan.name} answers; requests fail while a role is missing.",
            ),
            severity=CRITICAL,
            graph=plan.name,
            role=role,
        )
    for alert, histogram, seconds, what in (
        ("DynamoTimeToFirstTokenHigh", queries.TTFT, objectives.ttft, "time to first token"),
        ("DynamoInterTokenLatencyHigh", queries.ITL, objectives.itl, "inter-token latency"),
    ):
        yield _rule(
            alert,
            f"{queries.quantile(0.95, histogram, all_of_it)} > {seconds:g}",
            "10m",
            (
                f"{plan.name}: {what} over {seconds:g} s",
                f"The 95th percentile of {what} has been over {seconds:g} s for 10 minutes: {{{{ $value }}}} s.",
            ),
            severity=WARNING,
            graph=plan.name,
        )
    transferred = queries.transferred_bytes(plan)
    if transferred:
        asked = queries.rate(queries.REQUESTS, all_of_it, "10m")
        moved = queries.rate(transferred, all_of_it, "10m")
        yield _rule(
            "DynamoKvTransferStopped",
            # A counter that has not appeared yet is as bad as one that stands still.
            f"({asked} > 0) unless ({moved} > 0)",
            "10m",
            (
                f"{plan.name} moves no KV cache",
                "Requests arrive but no KV cache goes from prefill to decode: "
                "decode computes prompts again, or stalls.",
            ),
            severity=CRITICAL,
            graph=plan.name,
        )


def _stack_rules(namespace: str, objectives: Objectives) -> Iterator[dict[str, Any]]:
    window = f"{objectives.idle_minutes}m"
    yield _rule(
        "GpuNodeIdle",
        f"max by (Hostname) (max_over_time({queries.GPU_UTILISATION}[{window}])) == 0",
        "5m",
        (
            "A GPU node is paid for and idle",
            f"No GPU of {{{{ $labels.Hostname }}}} has computed anything for {objectives.idle_minutes} minutes.",
        ),
        severity=WARNING,
    )
    if objectives.ttl is not None:
        clock = time_to_live.clock(objectives.ttl)
        born = f'kube_configmap_created{{namespace="{namespace}", configmap="{clock}"}}'
        yield _rule(
            "StackEndsSoon",
            f"{born} + {time_to_live.seconds(objectives.ttl)} - time() < {NEAR_SECONDS}",
            "0m",
            (
                "The stack's time to live is near",
                f"The stack in namespace {namespace} was given {objectives.ttl}; then its graphs and GPU nodes are "
                "ended. Take it down, or give it another tags.ttl, from which its time begins anew.",
            ),
            severity=WARNING,
        )


def _rule(alert: str, expr: str, wait: str, texts: tuple[str, str], **labels: str) -> dict[str, Any]:
    """texts: summary and description."""
    return {
        "alert": alert,
        "expr": expr,
        "for": wait,
        "labels": labels,
        "annotations": dict(zip(("summary", "description"), texts, strict=True)),
    }
