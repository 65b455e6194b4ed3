"""What an autoscaler's queries answer in Prometheus itself: under load, without load, and where nothing is scraped.

An answer of 0 lets workers go; no answer keeps what there is.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from facts.engines import Role
from manifests.services.autoscaling import triggers
from tests.manifests.conftest import Promtool
from tests.plans import SCALING

GRAPH = 'namespace="dynamo", graph="gpt-oss-disagg"'
OTHER = 'namespace="dynamo", graph="other"'
UP = {f'up{{{GRAPH}, role="frontend"}}': "1x30"}
DOWN = {f'up{{{GRAPH}, role="frontend"}}': "0x30"}
STAGES = "dynamo_frontend_stage_requests"
TTFT = "dynamo_frontend_time_to_first_token_seconds_bucket"
ITL = "dynamo_frontend_inter_token_latency_seconds_bucket"


def slow(histogram: str, bound: str, graph: str = GRAPH) -> dict[str, str]:
    """Every observation between that bound and twice it."""
    return {
        f'{histogram}{{{graph}, le="{bound}"}}': "0x30",
        f'{histogram}{{{graph}, le="{2 * float(bound)}"}}': "0+60x30",
        f'{histogram}{{{graph}, le="+Inf"}}': "0+60x30",
    }


CASES: dict[str, tuple[str, Mapping[str, str], float | None]] = {
    "requests wait in every stage but the last": (
        "pending-requests",
        UP
        | {
            f'{STAGES}{{{GRAPH}, stage="{stage}", phase=""}}': "4x30"
            for stage in ("preprocess", "route", "dispatch")
        }
        | {f'{STAGES}{{{GRAPH}, stage="stream", phase=""}}': "99x30"},
        12,
    ),
    "requests of another graph": (
        "pending-requests",
        UP | {f'{STAGES}{{{OTHER}, stage="route"}}': "50x30"},
        0,
    ),
    "no request ever": ("pending-requests", UP, 0),
    "no frontend": ("pending-requests", DOWN, None),
    "nothing scraped": ("pending-requests", {}, None),
    "first tokens are late": ("time-to-first-token", UP | slow(TTFT, "4"), 7.8),
    "first tokens of another graph are late": ("time-to-first-token", UP | slow(TTFT, "4", OTHER), 0),
    "no first token for a while": (
        "time-to-first-token",
        UP | {f'{TTFT}{{{GRAPH}, le="{bound}"}}': "60x30" for bound in ("4", "+Inf")},
        0,
    ),
    "no first token ever": ("time-to-first-token", UP, 0),
    "late, and then unseen": ("time-to-first-token", DOWN, None),
    "further tokens are late": ("inter-token-latency", UP | slow(ITL, "0.1"), 0.195),
    "no further token ever": ("inter-token-latency", UP, 0),
}


@pytest.mark.parametrize(("signal", "series", "answer"), CASES.values(), ids=CASES)
def test_the_answer(
    promtool: Promtool, tmp_path: Path, signal: str, series: Mapping[str, str], answer: float | None
) -> None:
    queries = {
        name: query for name, query, _, _ in triggers("gpt-oss-disagg", "dynamo", Role.WORKER, SCALING)
    }
    expected = [] if answer is None else [{"labels": "{}", "value": answer}]
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": queries[signal], "eval_time": "30m", "exp_samples": expected}],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump({"evaluation_interval": "1m", "tests": [case]}))
    promtool("test", "rules", "test.yaml")
