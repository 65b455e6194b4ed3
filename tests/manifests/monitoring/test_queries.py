"""Queries of alerts and dashboards: parsed by a real PromQL parser, every series known."""

import promql_parser
import pytest

from facts.releases import LATEST_PATCH
from manifests.monitoring.dashboards import dashboards
from manifests.monitoring.queries import transferred_bytes
from targets.plan import GraphPlan
from tests.manifests.monitoring.watched import (
    ONE_GPU,
    by_plan,
    efa,
    known_series,
    panels,
    plan_of,
    rules,
    selectors,
)


def expressions(plan: GraphPlan) -> list[str]:
    written = [rule["expr"] for rule in rules(plan)]
    for text in dashboards([plan], "dynamo", 113.93).values():
        written += [target["expr"] for panel in panels(text) for target in panel.get("targets", ())]
    return written


@by_plan
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
