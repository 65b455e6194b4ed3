"""One key for the logs and traces of frontends and workers, as far as a release has them."""

from typing import Any

import pytest

from manifests.graph.deployment import graph_deployment
from pods.run_workers import parse as parse_worker
from stacks.load import parse
from stacks.settings import ConfigError
from tests.manifests.graphs import components
from tests.plans import apart

COLLECTOR = "http://collector.observability:4317"
EXPORTED = {"logs": "json", "otlpEndpoint": COLLECTOR}


def environments(version: str, observability: dict[str, str]) -> dict[str, dict[str, str]]:
    graph = apart("vllm-disagg-h100", graph={"dynamoVersion": version}, observability=observability)
    found = components(graph_deployment(graph, "dynamo"))
    return {name: {e["name"]: e["value"] for e in main["env"]} for name, (_, _, main) in found.items()}


@pytest.mark.parametrize("version", ["0.4.1", "1.0.2", "1.6.1"])
def test_json_logs_on_every_release(version: str) -> None:
    for env in environments(version, {"logs": "json"}).values():
        assert env["DYN_LOGGING_JSONL"] == "true"
        assert "OTEL_EXPORT_ENABLED" not in env
    for env in environments(version, {}).values():
        assert "DYN_LOGGING_JSONL" not in env


@pytest.mark.parametrize(("version", "logs"), [("1.0.2", None), ("1.2.1", COLLECTOR), ("1.6.1", COLLECTOR)])
def test_traces_and_where_the_release_can_logs_are_exported(version: str, logs: str | None) -> None:
    found = environments(version, EXPORTED)
    for env in found.values():
        assert env["OTEL_EXPORT_ENABLED"] == env["DYN_LOGGING_JSONL"] == "true"
        assert env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] == COLLECTOR
        assert env.get("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT") == logs
    assert {env["OTEL_SERVICE_NAME"] for env in found.values()} == {
        f"gpt-oss-disagg-{service}" for service in ("frontend", "prefill", "decode")
    }


def test_workers_of_one_pod_are_called_by_their_roles_in_traces() -> None:
    graph = apart("vllm-disagg-h100", graph={"transport": "pod"}, observability=EXPORTED)
    _, _, main = components(graph_deployment(graph, "dynamo"))["VllmWorkers"]
    assert [parse_worker(line).variables["OTEL_SERVICE_NAME"] for line in main["args"]] == [
        "gpt-oss-disagg-decode",
        "gpt-oss-disagg-prefill",
    ]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            {"graph": {"dynamoVersion": "0.4.1"}, "observability": EXPORTED},
            "observability.otlpEndpoint: needs 1.0.2 or newer, and graph.dynamoVersion is 0.4.1; leave it out",
        ),
        (
            {"observability": {"otlpEndpoint": COLLECTOR}},
            "observability: {otlpEndpoint}: otlpEndpoint needs logs json: Dynamo exports nothing while it logs text",
        ),
    ],
)
def test_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse({"target": "vllm-disagg-h100", "cluster": {"kind": "existing"}, **said}, set())
    assert str(refused.value).splitlines() == [f"dynamo-gpt-oss:{message}"]
