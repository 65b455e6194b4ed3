"""Grafana dashboards as code: graph, engine, GPU and cost. Pure."""

import hashlib
from collections.abc import Sequence
from typing import Any

from grafana_foundation_sdk.builders import dashboard, prometheus, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DataSourceRef

from facts.engines import Engine
from manifests import objects
from manifests.monitoring import queries
from manifests.services.charts import SIDECAR_LABEL
from targets.plan import GraphPlan

_UID_LIMIT = 40
_SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")

_ENGINE_PANELS: dict[Engine, tuple[tuple[str, str, str], ...]] = {
    Engine.VLLM: (
        ("Requests running", "sum by (pod) (vllm:num_requests_running{matchers})", "short"),
        ("Requests waiting", "sum by (pod) (vllm:num_requests_waiting{matchers})", "short"),
        ("KV cache used", "max by (pod) (vllm:kv_cache_usage_perc{matchers})", "percentunit"),
    ),
    Engine.SGLANG: (
        ("Requests running", "sum by (pod) (sglang:num_running_reqs{matchers})", "short"),
        ("Requests waiting", "sum by (pod) (sglang:num_queue_reqs{matchers})", "short"),
        ("KV cache used", "max by (pod) (sglang:token_usage{matchers})", "percentunit"),
    ),
    Engine.TRTLLM: (
        (
            "Requests done",
            "sum by (pod, finished_reason) (rate(trtllm_request_success_total{matchers}[5m]))",
            "reqps",
        ),
        (
            "Time in queue, p95",
            "histogram_quantile(0.95, sum by (le, pod) "
            "(rate(trtllm_request_queue_time_seconds_bucket{matchers}[5m])))",
            "s",
        ),
        (
            "Time per output token, p95",
            "histogram_quantile(0.95, sum by (le, pod) "
            "(rate(trtllm_time_per_output_token_seconds_bucket{matchers}[5m])))",
            "s",
        ),
    ),
    Engine.MOCKER: (),
}
"""What each engine says of itself: title, query and unit."""


def dashboards(plans: Sequence[GraphPlan], namespace: str, usd_per_hour: float | None) -> dict[str, str]:
    """Dashboard JSON by file name. usd_per_hour: what the stack costs; without it there is no dashboard of cost."""
    built = {f"graph-{plan.name}.json": _graph(plan, namespace) for plan in plans}
    built |= {f"engine-{plan.name}.json": _engine(plan, namespace) for plan in plans}
    built["gpus.json"] = _gpus()
    if usd_per_hour is not None:
        built["cost.json"] = _cost(plans, namespace, usd_per_hour)
    encoder = JSONEncoder(sort_keys=True, indent=2)
    return {name: encoder.encode(made.build()) + "\n" for name, made in sorted(built.items())}


def config_map(namespace: str, files: dict[str, str]) -> dict[str, Any]:
    """The ConfigMap that Grafana's sidecar reads them from."""
    return objects.config_map("dynamo-gpt-oss-dashboards", namespace, files, **{SIDECAR_LABEL: "1"})


def _graph(plan: GraphPlan, namespace: str) -> dashboard.Dashboard:
    graph = queries.of_graph(namespace, plan.name)
    made = _dashboard(f"graph-{plan.name}", f"{plan.name}: graph")
    _row(
        made,
        "What users see",
        _panel("Requests", "reqps", (queries.rate(queries.REQUESTS, graph, by="status"), "{{status}}")),
        _panel("Time to first token", "s", *_quantiles(queries.TTFT, graph)),
        _panel("Inter-token latency", "s", *_quantiles(queries.ITL, graph)),
        _panel("Request duration", "s", *_quantiles(queries.REQUEST_DURATION, graph)),
    )
    _row(
        made,
        "Traffic",
        _panel("Output tokens", "short", (queries.rate(queries.OUTPUT_TOKENS, graph), "tokens/s")),
        _panel(
            "Tokens a request",
            "short",
            (queries.mean("dynamo_frontend_input_sequence_tokens", graph), "in"),
            (queries.mean("dynamo_frontend_output_sequence_tokens", graph), "out"),
        ),
        _panel(
            "Requests in flight", "short", (f"sum(dynamo_frontend_inflight_requests{graph})", "in flight")
        ),
    )
    roles = plan.pod_roles
    transferred = queries.transferred_bytes(plan)
    workers = [
        _panel(
            "Workers up",
            "short",
            *((f"count({queries.answering_pods(namespace, plan.name, role)})", role) for role in roles),
        ),
        _panel(
            "Requests at workers",
            "reqps",
            (queries.rate("dynamo_component_requests_total", graph, by="pod"), "{{pod}}"),
        ),
        _panel(
            "Errors at workers",
            "short",
            (queries.rate("dynamo_component_errors_total", graph, by="pod"), "{{pod}}"),
        ),
    ]
    if transferred:
        workers.append(
            _panel("KV cache sent", "Bps", (queries.rate(transferred, graph, by="pod"), "{{pod}}"))
        )
    _row(made, "Workers", *workers)
    return made


def _engine(plan: GraphPlan, namespace: str) -> dashboard.Dashboard:
    graph = queries.of_graph(namespace, plan.name)
    made = _dashboard(f"engine-{plan.name}", f"{plan.name}: {plan.target.engine}")
    _row(
        made,
        "Dynamo's view",
        _panel(
            "Requests in flight",
            "short",
            (f"sum by (pod) (dynamo_component_inflight_requests{graph})", "{{pod}}"),
        ),
        _panel("Up since", "s", (f"max by (pod) (dynamo_component_uptime_seconds{graph})", "{{pod}}")),
    )
    own = [
        _panel(title, unit, (query.replace("{matchers}", graph), "{{pod}}"))
        for title, query, unit in _ENGINE_PANELS[plan.target.engine]
    ]
    if own:
        _row(made, "The engine's own", *own)
    return made


def _gpus() -> dashboard.Dashboard:
    made = _dashboard("gpus", "GPUs")
    by_gpu, legend = "by (Hostname, gpu)", "{{Hostname}} {{gpu}}"
    _row(
        made,
        "GPUs",
        _panel("Utilisation", "percent", (f"max {by_gpu} ({queries.GPU_UTILISATION})", legend)),
        _panel(
            "Memory used",
            "percentunit",
            (f"max {by_gpu} (DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE))", legend),
        ),
        _panel("Power", "watt", (f"max {by_gpu} (DCGM_FI_DEV_POWER_USAGE)", legend)),
        _panel("Temperature", "celsius", (f"max {by_gpu} (DCGM_FI_DEV_GPU_TEMP)", legend)),
        _panel("XID of the last error", "short", (f"max {by_gpu} (DCGM_FI_DEV_XID_ERRORS)", legend)),
    )
    return made


def _cost(plans: Sequence[GraphPlan], namespace: str, usd_per_hour: float) -> dashboard.Dashboard:
    names = "|".join(plan.name for plan in plans)
    matchers = f'{{namespace="{namespace}", graph=~"{names}"}}'
    tokens = queries.rate(queries.OUTPUT_TOKENS, matchers, "30m")
    made = _dashboard("cost", "Cost")
    _row(
        made,
        f"At {usd_per_hour:g} USD an hour, the prices that the stack was deployed with",
        _panel(
            "USD for a million output tokens",
            "currencyUSD",
            (f"{usd_per_hour} / ({tokens} * 3600) * 1e6", "USD"),
        ),
        _panel("Output tokens an hour", "short", (f"{tokens} * 3600", "tokens")),
        _panel("GPUs at work", "percent", (f"avg({queries.GPU_UTILISATION})", "mean utilisation")),
    )
    return made


def _dashboard(uid: str, title: str) -> dashboard.Dashboard:
    return (
        dashboard.Dashboard(title)
        .uid(_uid(uid))
        .tags(["dynamo-gpt-oss"])
        .refresh("30s")
        .time("now-1h", "now")
        .timezone("browser")
        .with_variable(dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    )


def _uid(name: str) -> str:
    """Grafana allows 40 characters; names that are longer stay apart by a digest."""
    whole = f"dynamo-gpt-oss-{name}"
    if len(whole) <= _UID_LIMIT:
        return whole
    digest = hashlib.sha256(whole.encode()).hexdigest()[:8]
    return f"{whole[: _UID_LIMIT - len(digest) - 1]}-{digest}"


def _row(made: dashboard.Dashboard, title: str, *panels: timeseries.Panel) -> None:
    made.with_row(dashboard.Row(title))
    for panel in panels:
        made.with_panel(panel)


def _panel(title: str, unit: str, *targets: tuple[str, str]) -> timeseries.Panel:
    panel = timeseries.Panel().title(title).unit(unit).datasource(_SOURCE).height(8).span(12).min(0)
    for position, (expr, legend) in enumerate(targets):
        panel.with_target(
            prometheus.Dataquery().expr(expr).legend_format(legend).ref_id(chr(ord("A") + position))
        )
    return panel


def _quantiles(histogram: str, matchers: str) -> list[tuple[str, str]]:
    return [(queries.quantile(q, histogram, matchers), f"p{q * 100:g}") for q in (0.5, 0.95, 0.99)]
