"""Alert rules in Prometheus itself: promtool loads them and plays series against them."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from graphs.monitoring.alerts import prometheus_rule
from tests.graphs.conftest import Promtool
from tests.graphs.test_monitoring import OBJECTIVES, PLANS, plan_of

GRAPH = 'namespace="dynamo", graph="gpt-oss-disagg"'
UP = {f'up{{{GRAPH}, role="{role}"}}': "1x30" for role in ("frontend", "prefill", "decode")}
REQUESTS = f"dynamo_frontend_requests_total{{{GRAPH}}}"
KV_BYTES = f'vllm:nixl_bytes_transferred_sum{{{GRAPH}, role="prefill"}}'
TTFT = "dynamo_frontend_time_to_first_token_seconds_bucket"
BORN = 'kube_namespace_created{namespace="dynamo"}'

FIRING: dict[str, tuple[str, Mapping[str, str], bool]] = {
    "a role is gone": ("DynamoRoleMissing", UP | {f'up{{{GRAPH}, role="decode"}}': "1x5 0x25"}, True),
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
    spec = prometheus_rule([plan_of("vllm-disagg-h100")], "dynamo", OBJECTIVES, {})["spec"]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(spec))
    firing = f'count(ALERTS{{alertname="{alert}", alertstate="firing"}})'
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": f"{firing} > 0",
                "eval_time": "30m",
                "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
            }
        ],
    }
    (tmp_path / "test.yaml").write_text(
        yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [case]})
    )
    promtool("test", "rules", "test.yaml")
