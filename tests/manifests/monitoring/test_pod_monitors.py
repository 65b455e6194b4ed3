"""Which pods are scraped, by which port, under which role."""

from dataclasses import replace
from typing import Any

from facts.releases import LATEST_PATCH
from manifests.monitoring.alerts import prometheus_rule
from manifests.monitoring.pod_monitors import dcgm_service_monitor, pod_monitors
from manifests.names import MANAGED_BY
from manifests.services.charts import prometheus_values
from targets.plan import GraphPlan
from tests.manifests.monitoring.watched import LABELS, OBJECTIVES, ONE_GPU, PLANS, PROMETHEUS, efa, plan_of


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
