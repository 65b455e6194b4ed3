"""PromQL over what Dynamo, its engines, DCGM and kube-state-metrics publish. Pure.

Metric names: Dynamo's metrics reference and its TensorRT-LLM observability page, vLLM's metrics page, NIXL's telemetry
guide, dcgm-exporter's default counters. A family of Dynamo's appears only after the first request.
"""

from facts.engines import Engine, Role
from facts.releases import Version
from manifests.graph.workers import worker_command
from targets.parts import WorkerPlan
from targets.plan import GraphPlan

NAMESPACE_LABEL, GRAPH_LABEL, ROLE_LABEL = "namespace", "graph", "role"
"""Labels of every series: `graph` and `role` come from pod labels, by the relabelings of our PodMonitors."""
FRONTEND_ROLE = "frontend"
FRONTEND_PORT, WORKER_PORT, NIXL_PORT = "http", "system", "nixl"
"""Names of pods' ports, and `endpoint` of the series that are read there. The operator names NIXL's on every worker."""
ENGINE_METRICS_SINCE = Version(1, 0)
"""First release whose workers publish their engine's transfer metrics."""
_TRANSFERS_COUNTED_SINCE = Version(1, 2)
_METRICS_APART_SINCE = Version(1, 6)
"""Releases of `dynamo.trtllm` that count transfers, and that publish metrics and KV events by flags of their own."""

TTFT = "dynamo_frontend_time_to_first_token_seconds"
ITL = "dynamo_frontend_inter_token_latency_seconds"
REQUEST_DURATION = "dynamo_frontend_request_duration_seconds"
REQUESTS = "dynamo_frontend_requests_total"
OUTPUT_TOKENS = "dynamo_frontend_output_tokens_total"
STAGE_REQUESTS = "dynamo_frontend_stage_requests"
"""Requests in the frontend without a first token yet, by `stage`; from release 1.2 on."""
GPU_UTILISATION = "DCGM_FI_DEV_GPU_UTIL"


def of_graph(namespace: str, graph: str, role: str | None = None, *more: str) -> str:
    """Label matchers of a graph's series, or of one role's; more: matchers as they are."""
    matchers = {NAMESPACE_LABEL: namespace, GRAPH_LABEL: graph} | ({ROLE_LABEL: role} if role else {})
    return "{" + ", ".join([*(f'{name}="{value}"' for name, value in matchers.items()), *more]) + "}"


def quantile(q: float, histogram: str, matchers: str, window: str = "5m") -> str:
    """A quantile of a histogram over all its pods."""
    return f"histogram_quantile({q}, sum by (le) (rate({histogram}_bucket{matchers}[{window}])))"


def mean(histogram: str, matchers: str, window: str = "5m") -> str:
    """The mean of a histogram's observations."""
    return (
        f"sum(rate({histogram}_sum{matchers}[{window}])) / sum(rate({histogram}_count{matchers}[{window}]))"
    )


def rate(counter: str, matchers: str, window: str = "5m", by: str | None = None) -> str:
    """Growth per second over all pods, or by one label."""
    grouped = f" by ({by})" if by else ""
    return f"sum{grouped} (rate({counter}{matchers}[{window}]))"


def answering_pods(namespace: str, graph: str, role: str) -> str:
    """One series a pod of the role that answers at its own port: that of its NIXL agent says nothing about it."""
    port = FRONTEND_PORT if role == FRONTEND_ROLE else WORKER_PORT
    endpoint = f'endpoint="{port}"'
    return f"up{of_graph(namespace, graph, role, endpoint)} == 1"


def has_telemetry(plan: GraphPlan, planned: WorkerPlan) -> bool:
    """Whether NIXL's exporter listens in the role's pods: the operator switches it off by default."""
    env = {**worker_command(plan, planned).env, **planned.worker.env, **planned.env}
    return env.get("NIXL_TELEMETRY_ENABLE") == "y"


def bytes_written_by_nixl(plan: GraphPlan) -> str | None:
    """Counter of NIXL's own for bytes that its agents write, None where no agent that writes is asked to count.

    SGLang and TensorRT-LLM have prefill write to decode, whose agents then count nothing; with vLLM decode reads.
    """
    writers = [planned for planned in plan.workers if planned.role is Role.PREFILL]
    writes = plan.target.engine in (Engine.SGLANG, Engine.TRTLLM)
    counted = writes and any(has_telemetry(plan, planned) for planned in writers)
    return "agent_tx_bytes_total" if counted else None


def transferred_bytes(plan: GraphPlan) -> str | None:
    """Counter of KV-cache bytes that go from prefill to decode, None where workers publish none.

    TensorRT-LLM counts on decode, and only where it is told to publish. SGLang counts megabytes, and only under
    --enable-metrics; bytes it leaves to NIXL, whose telemetry is off unless its environment switches it on.
    """
    if not plan.target.disaggregated or plan.version < ENGINE_METRICS_SINCE:
        return None
    if plan.target.engine is Engine.VLLM:
        return "vllm:nixl_bytes_transferred_sum"
    if plan.target.engine is Engine.SGLANG:
        return bytes_written_by_nixl(plan)
    if plan.target.engine is Engine.TRTLLM and _publishes_transfers(plan):
        return "trtllm_kv_transfer_bytes_sum"
    return None


def _publishes_transfers(plan: GraphPlan) -> bool:
    """Whether TensorRT-LLM's decode workers, which alone see a transfer's end, were told to count.

    One flag does it; from 1.3 it has the name of KV events too, which from 1.6 on means no metrics any more.
    """
    decode = next(planned for planned in plan.workers if planned.role is Role.DECODE)
    flags = {"--publish-events-and-metrics"}
    flags |= {"--publish-metrics" if plan.version >= _METRICS_APART_SINCE else "--publish-kv-events"}
    told = flags & {*worker_command(plan, decode).args}
    return bool(told) and plan.version >= _TRANSFERS_COUNTED_SINCE
