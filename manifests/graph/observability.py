"""Environment by which Dynamo's processes write JSON logs and export traces and logs over OTLP. Pure.

Source: Dynamo's guides to logging and tracing, and the runtime's environment names of each release.
"""

from targets.observability import OTLP_LOGS_SINCE
from targets.plan import GraphPlan


def environment(plan: GraphPlan, service: str) -> dict[str, str]:
    """service: what the process is called in traces and logs beside the graph's name, for example `prefill`."""
    observability = plan.operation.observability
    env = {"DYN_LOGGING_JSONL": "true"} if observability.json_logs else {}
    if observability.otlp_endpoint is None:
        return env
    env |= {
        "OTEL_EXPORT_ENABLED": "true",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": observability.otlp_endpoint,
        "OTEL_SERVICE_NAME": f"{plan.name}-{service}",
    }
    if plan.version >= OTLP_LOGS_SINCE:
        env["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"] = observability.otlp_endpoint
    return env
