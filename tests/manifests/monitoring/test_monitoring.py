"""Alert rules, dashboards and scrape targets: every query parsed by a real PromQL parser, every name known."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import promql_parser
import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from facts.releases import LATEST_PATCH
from manifests.monitoring.alerts import Objectives, prometheus_rule
from manifests.monitoring.dashboards import config_map, dashboards
from manifests.monitoring.pod_monitors import dcgm_service_monitor, pod_monitors
from manifests.monitoring.queries import transferred_bytes
from manifests.names import MANAGED_BY
from manifests.services.charts import SIDECAR_LABEL, prometheus_url, prometheus_values
from stacks.plan import resolve
from stacks.settings import Settings
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from tests.manifests.services.test_charts import PROMETHEUS
from tests.project import PROJECT

OBJECTIVES = Objectives(ttft=2.0, itl=0.03, idle_minutes=30, ttl="72h")
LABELS = {"release": "prometheus"}


def known_series() -> set[str]:
    """Series that the sources of tests/manifests/data/metrics.yaml name."""
    families = yaml.safe_load((PROJECT / "tests" / "manifests" / "data" / "metrics.yaml").read_text())
    series: set[str] = set()
    for family in families:
        series |= {*family.get("counters", ()), *family.get("gauges", ())}
        series |= {
            f"{name}_{part}" for name in family.get("histograms", ()) for part in ("bucket", "sum", "count")
        }
    return series


def plan_of(target: str, **graph: Any) -> GraphPlan:
    return resolve(
        Settings.model_validate({"target": target, "cluster": {"kind": "existing"}, "graph": graph})
    ).main


ONE_GPU: dict[str, Any] = {"prefill": {"tensorParallel": 1}, "decode": {"tensorParallel": 1}}
"""Workers whose pod has one NIXL agent, so that its telemetry is on."""


def efa(target: str, version: str, **graph: Any) -> GraphPlan:
    """The target with its workers apart, on more nodes than it needs."""
    return resolve(
        Settings.model_validate(
            {
                "target": target,
                "cluster": {"kind": "existing", "efa": True},
                "pool": {"nodes": 2},
                "graph": {"transport": "efa", "dynamoVersion": version, **graph},
            }
        )
    ).main


PLANS = [
    *(plan_of(name) for name in TARGETS),
    efa("sglang-disagg-h100", LATEST_PATCH["1.4"]),
    efa("vllm-disagg-h100", LATEST_PATCH["1.4"]),
    plan_of("trtllm-disagg-b200", decode={"extraArgs": ["--publish-events-and-metrics"]}),
    plan_of("trtllm-disagg-b200", transport="node"),
]
"""Every target, those whose KV transfer is counted in each of the three ways, and one with a pod a worker."""


def rules(plan: GraphPlan, objectives: Objectives = OBJECTIVES) -> list[dict[str, Any]]:
    (group,) = prometheus_rule([plan], "dynamo", objectives, LABELS)["spec"]["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def panels(text: str) -> Iterator[dict[str, Any]]:
    for panel in json.loads(text)["panels"]:
        yield panel
        yield from panel.get("panels", ())


def expressions(plan: GraphPlan) -> list[str]:
    written = [rule["expr"] for rule in rules(plan)]
    for text in dashboards([plan], "dynamo", 113.93).values():
        written += [target["expr"] for panel in panels(text) for target in panel.get("targets", ())]
    return written


def selectors(node: Any) -> Iterator[Any]:
    """Every vector selector below a parsed expression."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for name in ("expr", "lhs", "rhs", "vector_selector", "param"):
        child = getattr(node, name, None)
        if child is not None and not isinstance(child, str):
            yield from selectors(child)
    for child in getattr(node, "args", None) or ():
        yield from selectors(child)


@pytest.mark.parametrize(
    "plan", PLANS, ids=lambda plan: f"{plan.target.name}-{plan.transport}-{plan.version}"
)
def test_every_expression_parses_and_names_known_series(plan: GraphPlan) -> None:
    known = known_series()
    for expression in expressions(plan):
        found = list(selectors(promql_parser.parse(expression)))
        assert found, expression
        assert {selector.name for selector in found} <= known, expression


def test_the_parser_refuses_what_is_no_promql() -> None:
    with pytest.raises(ValueError, match="unclosed"):
        promql_parser.parse("sum(rate(up[5m])")


def test_selectors_are_found_wherever_they_stand() -> None:
    parsed = promql_parser.parse("histogram_quantile(0.9, sum by (le) (rate(a[5m]))) > 1 unless (b + -c)")
    assert sorted(selector.name for selector in selectors(parsed)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "plan", PLANS, ids=lambda plan: f"{plan.target.name}-{plan.transport}-{plan.version}"
)
def test_every_role_has_an_alert(plan: GraphPlan) -> None:
    missing = {rule["labels"]["role"] for rule in rules(plan) if rule["alert"] == "DynamoRoleMissing"}
    pods = {"worker"} if plan.in_one_pod else {planned.role.value for planned in plan.workers}
    assert missing == {"frontend", *pods}


def test_objectives_are_in_the_expressions() -> None:
    by_alert = {
        rule["alert"]: rule["expr"]
        for rule in rules(
            plan_of("trtllm-disagg-b200"), Objectives(ttft=1.25, itl=0.04, idle_minutes=45, ttl="2h")
        )
    }
    assert by_alert["DynamoTimeToFirstTokenHigh"].endswith("> 1.25")
    assert by_alert["DynamoInterTokenLatencyHigh"].endswith("> 0.04")
    assert "[45m]" in by_alert["GpuNodeIdle"]
    assert "+ 7200 - time()" in by_alert["StackEndsSoon"]


def test_a_stack_without_a_time_to_live_has_no_alert_about_it() -> None:
    forever = Objectives(ttft=2.0, itl=0.03, idle_minutes=30, ttl=None)
    assert "StackEndsSoon" not in {rule["alert"] for rule in rules(plan_of("trtllm-disagg-b200"), forever)}


@pytest.mark.parametrize(
    ("plan", "counter"),
    [
        (plan_of("vllm-disagg-h100"), "vllm:nixl_bytes_transferred_sum"),
        (plan_of("trtllm-disagg-b200"), None),
        (
            plan_of("trtllm-disagg-b200", decode={"extraArgs": ["--publish-events-and-metrics"]}),
            "trtllm_kv_transfer_bytes_sum",
        ),
        # A prefill worker never sees the end of a transfer.
        (plan_of("trtllm-disagg-b200", prefill={"extraArgs": ["--publish-events-and-metrics"]}), None),
        (plan_of("trtllm-disagg-b200", frontend={"routerMode": "kv"}), "trtllm_kv_transfer_bytes_sum"),
        (plan_of("trtllm-disagg-b200", frontend={"routerMode": "kv"}, dynamoVersion="1.6.1"), None),
        (
            plan_of("trtllm-disagg-b200", decode={"extraArgs": ["--publish-metrics"]}, dynamoVersion="1.6.1"),
            "trtllm_kv_transfer_bytes_sum",
        ),
        (
            plan_of(
                "trtllm-disagg-b200",
                decode={"extraArgs": ["--publish-events-and-metrics"]},
                dynamoVersion="1.0.2",
            ),
            None,
        ),
        (plan_of("sglang-disagg-h100"), None),
        (efa("sglang-disagg-h100", LATEST_PATCH["1.4"]), None),
        (efa("sglang-disagg-h100", LATEST_PATCH["1.4"], **ONE_GPU), "agent_tx_bytes_total"),
        (plan_of("trtllm-agg-gb200"), None),
    ],
    ids=lambda value: value.target.name if isinstance(value, GraphPlan) else str(value),
)
def test_kv_transfer_is_watched_where_it_is_counted(plan: GraphPlan, counter: str | None) -> None:
    assert transferred_bytes(plan) == counter
    watched = [rule["expr"] for rule in rules(plan) if rule["alert"] == "DynamoKvTransferStopped"]
    assert [counter in expr for expr in watched] == ([True] if counter else [])


def test_alerts_say_what_and_how_bad() -> None:
    for rule in rules(plan_of("trtllm-disagg-b200")):
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"]


@pytest.mark.parametrize(
    "plan", PLANS, ids=lambda plan: f"{plan.target.name}-{plan.transport}-{plan.version}"
)
def test_dashboards_are_grafana_models(plan: GraphPlan) -> None:
    """The SDK is generated from Grafana's own schema: what it reads and writes back whole is of that schema."""
    for name, text in dashboards([plan], "dynamo", 113.93).items():
        read = Dashboard.from_json(json.loads(text))
        assert json.loads(JSONEncoder().encode(read)) == json.loads(text), name
        assert read.uid, name
        assert len(read.uid) <= 40
        assert read.panels, name


def test_a_dashboard_with_an_unknown_key_is_no_grafana_model() -> None:
    (text,) = (each for name, each in dashboards(PLANS[:1], "dynamo", 1.0).items() if name == "cost.json")
    misspelt = json.loads(text) | {"titel": "Cost"}
    assert json.loads(JSONEncoder().encode(Dashboard.from_json(misspelt))) != misspelt


def test_dashboards_differ_in_uid_and_name() -> None:
    files = dashboards([plan_of("vllm-disagg-h100")], "dynamo", 113.93)
    assert sorted(files) == [
        "cost.json",
        "engine-gpt-oss-disagg.json",
        "gpus.json",
        "graph-gpt-oss-disagg.json",
    ]
    assert len({json.loads(text)["uid"] for text in files.values()}) == len(files)


def test_dashboards_of_graphs_with_long_names_stay_apart() -> None:
    plans = [plan_of("vllm-disagg-h100", name=f"gpt-oss-disagg-canary-{side}") for side in ("a", "b")]
    uids = [json.loads(text)["uid"] for text in dashboards(plans, "dynamo", None).values()]
    assert len(set(uids)) == len(uids) == 5
    assert max(map(len, uids)) == 40


def test_every_panel_asks_the_chosen_source() -> None:
    for text in dashboards([plan_of("vllm-disagg-h100")], "dynamo", 113.93).values():
        assert json.loads(text)["templating"]["list"][0]["type"] == "datasource"
        for panel in panels(text):
            if panel["type"] != "row":
                assert panel["datasource"]["uid"] == "${datasource}"
                assert panel["targets"]


def test_no_dashboard_of_cost_without_a_price() -> None:
    assert "cost.json" not in dashboards([plan_of("vllm-disagg-h100")], "dynamo", None)


def test_the_sidecar_finds_the_dashboards() -> None:
    manifest = config_map("dynamo", dashboards([plan_of("vllm-disagg-h100")], "dynamo", None))
    grafana = prometheus_values(PROMETHEUS)["grafana"]
    assert grafana["sidecar"]["dashboards"]["label"] == SIDECAR_LABEL
    assert manifest["metadata"]["labels"][SIDECAR_LABEL] == "1", "kube-prometheus-stack's labelValue"
    assert sum(map(len, manifest["data"].values())) < 1_000_000, "a ConfigMap holds 1 MiB"


def test_what_reads_the_data_sources_before_grafana_starts_ends() -> None:
    """The chart's default method, WATCH, goes on for ever, in an init container too."""
    sources = prometheus_values(PROMETHEUS)["grafana"]["sidecar"]["datasources"]
    assert sources == {"initDatasources": True, "skipReload": True, "watchMethod": "LIST"}


def test_grafana_has_no_password_to_know() -> None:
    ini = prometheus_values(PROMETHEUS)["grafana"]["grafana.ini"]
    assert ini["auth.anonymous"] == {"enabled": True, "org_role": "Viewer"}
    assert ini["auth"]["disable_login_form"]
    assert not ini["auth.basic"]["enabled"]


def test_our_prometheus_selects_our_pod_monitors() -> None:
    selector = prometheus_values(PROMETHEUS)["prometheus"]["prometheusSpec"]["podMonitorSelector"]
    for manifest in pod_monitors(PLANS, "dynamo", {}):
        assert selector["matchLabels"].items() <= manifest["metadata"]["labels"].items()


def test_monitors_and_rules_carry_the_labels_that_a_prometheus_selects() -> None:
    manifests = [
        *pod_monitors(PLANS, "dynamo", LABELS),
        dcgm_service_monitor("dynamo", LABELS),
        prometheus_rule([plan_of("vllm-disagg-h100")], "dynamo", OBJECTIVES, LABELS),
    ]
    for manifest in manifests:
        assert manifest["metadata"]["labels"] == MANAGED_BY | LABELS


def endpoints(manifests: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {one["metadata"]["name"]: one["spec"]["podMetricsEndpoints"] for one in manifests}


def test_a_role_is_the_sub_component_where_there_is_one() -> None:
    """Relabelings run in order and the last that matches wins."""
    for name, (endpoint,) in endpoints(pod_monitors(PLANS, "dynamo", {})).items():
        roles = [r["sourceLabels"][0] for r in endpoint["relabelings"] if r["targetLabel"] == "role"]
        assert roles == [
            "__meta_kubernetes_pod_label_nvidia_com_dynamo_component_type",
            "__meta_kubernetes_pod_label_nvidia_com_dynamo_sub_component_type",
        ], name


def test_frontends_and_workers_are_scraped() -> None:
    monitors = pod_monitors([plan_of("sglang-disagg-h100")], "dynamo", {})
    assert {name: [e["port"] for e in found] for name, found in endpoints(monitors).items()} == {
        "dynamo-frontends": ["http"],
        "dynamo-workers": ["system"],
    }
    workers = monitors[1]["spec"]["selector"]["matchExpressions"]
    assert workers[0]["values"] == ["worker", "prefill", "decode"]


def test_nixl_is_scraped_of_workers_with_telemetry_alone() -> None:
    """The operator names its port on every worker; where nothing listens the target would always be down."""
    silent, speaking = plan_of("vllm-disagg-h100"), efa("vllm-disagg-h100", LATEST_PATCH["1.4"], **ONE_GPU)
    said = {"env": {"NIXL_TELEMETRY_ENABLE": "y"}}
    half = plan_of("vllm-disagg-h100", transport="node", prefill=said)
    in_one_pod = plan_of("vllm-disagg-h100", prefill=said)
    off = efa(
        "vllm-disagg-h100",
        LATEST_PATCH["1.4"],
        prefill={"tensorParallel": 1},
        decode={"tensorParallel": 1, "env": {"NIXL_TELEMETRY_ENABLE": "n"}},
    )

    def agents(plan: GraphPlan) -> list[tuple[str, list[str]]]:
        return [
            (one["metadata"]["name"], expression["values"])
            for one in pod_monitors([plan], "dynamo", {})
            if [e["port"] for e in one["spec"]["podMetricsEndpoints"]] == ["nixl"]
            for expression in one["spec"]["selector"]["matchExpressions"]
            if expression["key"] == "nvidia.com/dynamo-component"
        ]

    assert agents(silent) == []
    assert agents(in_one_pod) == [], "its one port speaks for the agents too"
    assert agents(speaking) == [("dynamo-nixl-gpt-oss-disagg", ["VllmPrefillWorker", "VllmDecodeWorker"])]
    assert agents(half) == agents(off) == [("dynamo-nixl-gpt-oss-disagg", ["VllmPrefillWorker"])]


def test_frontends_beside_workers_are_scraped_under_a_role_of_their_own() -> None:
    """Else a frontend that answers would stand for the worker, or the graph's frontend, that does not."""
    plan = plan_of("vllm-disagg-h100")
    usual = pod_monitors([plan], "dynamo", LABELS)
    (*others, sidecars) = pod_monitors(
        [replace(plan, frontend=replace(plan.frontend, inference_extension=True))], "dynamo", LABELS
    )
    assert others == usual
    (endpoint,) = sidecars["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] == "http"
    roles = [r for r in endpoint["relabelings"] if r["targetLabel"] == "role"]
    assert roles == [{"action": "replace", "targetLabel": "role", "replacement": "frontend-sidecar"}]
    assert sidecars["spec"]["selector"] == usual[1]["spec"]["selector"]


def test_prometheus_is_where_its_service_is() -> None:
    assert prometheus_url("monitoring") == "http://kube-prometheus-stack-prometheus.monitoring.svc:9090"
