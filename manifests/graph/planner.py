"""Dynamo's Planner as a component of a graph: `python3 -m dynamo.planner`. Pure.

Source: `PlannerConfig` of the released `ai-dynamo` package (dynamo.planner.config.planner_config).
"""

import json

from facts.engines import Role
from manifests.command import Command
from targets.images import PLANNER_REPOSITORY
from targets.parts import Planner
from targets.plan import GraphPlan

_MODE = {
    (Role.PREFILL, Role.DECODE): "disagg",
    (Role.PREFILL,): "prefill",
    (Role.DECODE,): "decode",
    (Role.WORKER,): "agg",
}
_LEAST = {
    Role.PREFILL: "prefill_min_endpoint",
    Role.DECODE: "decode_min_endpoint",
    Role.WORKER: "min_endpoint",
}
WORKER_ENV = {"DYN_FORWARDPASS_METRIC_PORT": "20380"}
"""Switches on the forward-pass metrics that the Planner reads; the port is Dynamo's own default."""


def image(plan: GraphPlan) -> str:
    """The Planner's own image, whatever image the graph's other pods run."""
    return f"{PLANNER_REPOSITORY}:{plan.version}"


def command(plan: GraphPlan, planner: Planner) -> Command:
    """The Planner's command line.

    It knows no most for each role, only GPUs in all: within them it moves workers between the roles it scales.
    """
    config: dict[str, object] = {
        "environment": "kubernetes",
        "backend": plan.target.engine.value,
        "mode": _MODE[tuple(planned.role for planned in plan.autoscaled)],
        "optimization_target": planner.optimization,
        "max_gpu_budget": sum(planned.at_most.gpus for planned in plan.autoscaled),
        "advisory": planner.advisory,
        # Nothing is profiled before: its model of the engine learns from live traffic.
        "pre_deployment_sweeping_mode": "none",
        # Both write or serve more than a pod of ours may, and neither asks who reads it.
        "report_interval_hours": None,
        "live_dashboard_port": 0,
    }
    config |= {_LEAST[planned.role]: planned.worker.replicas for planned in plan.autoscaled}
    if planner.optimization == "sla":
        config |= {
            "ttft_ms": planner.ttft * 1000,
            "itl_ms": planner.itl * 1000,
            "enable_throughput_scaling": True,
            "enable_load_scaling": True,
        }
    return Command(module="dynamo.planner", args=("--config", json.dumps(config, sort_keys=True)))
