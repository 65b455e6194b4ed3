"""Dashboards as Grafana's own schema has them, and what their panels ask."""

import json

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from manifests.monitoring.dashboards import config_map, dashboards
from manifests.services.charts import SIDECAR_LABEL, prometheus_values
from targets.plan import GraphPlan
from tests.manifests.monitoring.watched import (
    PLANS,
    PROMETHEUS,
    by_plan,
    panels,
    plan_of,
)


@by_plan
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
