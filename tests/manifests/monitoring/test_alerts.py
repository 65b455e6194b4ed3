"""Alert rules: what each graph has, and in Prometheus itself, where promtool plays series against them."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from manifests.monitoring.alerts import Objectives, prometheus_rule
from manifests.monitoring.dashboards import dashboards
from targets.plan import GraphPlan
from tests.manifests.conftest import Promtool
from tests.manifests.monitoring.watched import OBJECTIVES, PLANS, by_plan, panels, plan_of, rules

GRAPH = 'namespace="dynamo", graph="gpt-oss-disagg"'
PORTS = {"frontend": "http", "prefill": "system", "decode": "system"}


def up(role: str, port: str) -> str:
    return f'up{{{GRAPH}, role="{role}", endpoint="{port}"}}'


UP = {up(role, port): "1x30" for role, port in PORTS.items()}
NIXL_UP = {up(role, "nixl"): "1x30" for role in ("prefill", "decode")}
REQUESTS = f"dynamo_frontend_requests_total{{{GRAPH}}}"
KV_BYTES = f'vllm:nixl_bytes_transferred_sum{{{GRAPH}, role="prefill"}}'
TTFT = "dynamo_frontend_time_to_first_token_seconds_bucket"
BORN = 'kube_configmap_created{namespace="dynamo", configmap="time-to-live-72h"}'

FIRING: dict[str, tuple[str, Mapping[str, str], bool]] = {
    "a role is gone": ("DynamoRoleMissing", UP | {up("decode", "system"): "1x5 0x25"}, True),
    "a role is gone whose NIXL agent still answers": (
        "DynamoRoleMissing", UP | NIXL_UP | {up("decode", "system"): "1x5 0x25"}, True,
    ),
    "a role never came": ("DynamoRoleMissing", {k: v for k, v in UP.items() if "prefill" not in k}, True),
    "every role is up": ("DynamoRoleMissing", UP, False),
    "first tokens are late": (
        "DynamoTimeToFirstTokenHigh",
        {f'{TTFT}{{{GRAPH}, le="2"}}': "0+1x30", f'{TTFT}{{{GRAPH}, le="8"}}': "0+60x30",
         f'{TTFT}{{{GRAPH}, le="+Inf"}}': "0+60x30"},
        True,
    ),
    "first tokens are in time": (
        "DynamoTimeToFirstTokenHigh",
        {f'{TTFT}{{{GRAPH}, le="2"}}': "0+60x30", f'{TTFT}{{{GRAPH}, le="+Inf"}}': "0+60x30"},
        False,
    ),
    "requests but no transfer ever": ("DynamoKvTransferStopped", {REQUESTS: "0+60x30"}, True),
    "requests but a transfer that stands still": (
        "DynamoKvTransferStopped", {REQUESTS: "0+60x30", KV_BYTES: "5x30"}, True,
    ),
    "requests and transfers": (
        "DynamoKvTransferStopped", {REQUESTS: "0+60x30", KV_BYTES: "0+1000x30"}, False,
    ),
    "no requests": ("DynamoKvTransferStopped", {REQUESTS: "60x30"}, False),
    "all GPUs of a node idle": (
        "GpuNodeIdle",
        {'DCGM_FI_DEV_GPU_UTIL{Hostname="a", gpu="0"}': "0x60", 'DCGM_FI_DEV_GPU_UTIL{Hostname="a", gpu="1"}': "0x60"},
        True,
    ),
    "one GPU of a node at work": (
        "GpuNodeIdle",
        {'DCGM_FI_DEV_GPU_UTIL{Hostname="a", gpu="0"}': "0x60", 'DCGM_FI_DEV_GPU_UTIL{Hostname="a", gpu="1"}': "7x60"},
        False,
    ),
    "two hours before the end": ("StackEndsSoon", {BORN: f"{-71 * 3600}x60"}, True),
    "three hours before the end": ("StackEndsSoon", {BORN: f"{-69 * 3600}x60"}, False),
}  # fmt: skip
"""Series by the minute from minute 0 (the time of promtool's clock), and whether the alert fires at minute 30."""


def play(
    promtool: Promtool, folder: Path, series: Mapping[str, str], expression: str, value: float | None
) -> None:
    """Whether the expression has this value at minute 30, or none."""
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": expression,
                "eval_time": "30m",
                "exp_samples": [] if value is None else [{"labels": "{}", "value": value}],
            }
        ],
    }
    (folder / "test.yaml").write_text(
        yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [case]})
    )
    promtool("test", "rules", "test.yaml")


def write_rules(folder: Path, index: int) -> int:
    spec = prometheus_rule([PLANS[index]], "dynamo", OBJECTIVES, {})["spec"]
    (folder / "rules.yaml").write_text(yaml.safe_dump(spec))
    return sum(len(group["rules"]) for group in spec["groups"])


@pytest.mark.parametrize("index", range(len(PLANS)), ids=[plan.target.name for plan in PLANS])
def test_prometheus_loads_every_rule(promtool: Promtool, tmp_path: Path, index: int) -> None:
    rules = write_rules(tmp_path, index)
    assert f"{rules} rules found" in promtool("check", "rules", "rules.yaml")


@pytest.mark.parametrize(("alert", "series", "fires"), FIRING.values(), ids=FIRING)
def test_alerts_fire_when_they_should(
    promtool: Promtool, tmp_path: Path, alert: str, series: Mapping[str, str], fires: bool
) -> None:
    spec = prometheus_rule([plan_of("vllm-disagg-h100", transport="node")], "dynamo", OBJECTIVES, {})["spec"]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(spec))
    firing = f'count(ALERTS{{alertname="{alert}", alertstate="firing"}})'
    play(promtool, tmp_path, series, f"{firing} > 0", 1 if fires else None)


def test_a_worker_counts_once_whatever_else_of_it_is_scraped(promtool: Promtool, tmp_path: Path) -> None:
    write_rules(tmp_path, 0)
    plan = plan_of("vllm-disagg-h100", transport="node")
    (text,) = (each for name, each in dashboards([plan], "dynamo", None).items() if name.startswith("graph-"))
    (panel,) = (one for one in panels(text) if one["title"] == "Workers up")
    counted = {target["legendFormat"]: target["expr"] for target in panel["targets"]}
    assert counted.keys() == {"prefill", "decode"}
    for expression in counted.values():
        play(promtool, tmp_path, UP | NIXL_UP, expression, 1)


@by_plan
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


def test_alerts_say_what_and_how_bad() -> None:
    for rule in rules(plan_of("trtllm-disagg-b200")):
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"]
