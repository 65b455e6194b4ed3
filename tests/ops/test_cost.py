"""`ops cost`: the table of a stack's hourly prices, and the price of a million tokens from its last benchmark."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ops.cost import cost, cost_data
from ops.pulumi.stack_file import StackFileError
from tests.project import PROJECT

H100 = {"target": "vllm-disagg-h100", "cluster": {"kind": "eks", "region": "us-east-1"}}
BLOCK = {"kind": "capacity-block", "reservationId": "cr-0123456789abcdef0"}
TOTAL = 57.8366
"""USD per hour: 55.04 GPU node, 2.4192 CPU nodes, 0.1 control plane, 0.05 NAT and its address, 0.0877 disks, 0.1397 for
what CPU nodes' disks do a second above gp3's own.
"""


def test_the_smoke_stack_costs_about_a_dollar_an_hour() -> None:
    (total,) = [line for line in cost(PROJECT, "smoke") if line.startswith("in all")]
    assert float(total.split()[2]) < 1.5


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text((PROJECT / "Pulumi.yaml").read_text())
    return tmp_path


def stack(project: Path, config: Mapping[str, Any]) -> None:
    content = {"config": {f"dynamo-gpt-oss:{key}": value for key, value in config.items()}}
    (project / "Pulumi.s.yaml").write_text(yaml.safe_dump(content))


def benchmark(project: Path, name: str, tokens_per_second: float, simulated: str = "") -> None:
    """A run of one point as the benchmark driver leaves it; the numbers that cost does not read are made up."""
    load = {
        "isl": 100, "osl": 10, "concurrency": 4, "requests": 8, "warmup": 0, "dataset_entries": 8, "seed": 1
    }  # fmt: skip
    run = {
        "stack": "s", "started": name, "shape": "x", "load": load, "points": {"c4": load}, "target": "t",
        "topology": "t", "graph": "g", "gpu": "H100", "gpus": 8, "instance": "p5.48xlarge", "nodes": 1,
        "usd_per_hour": None, "price": "", "simulated": simulated, "versions": {}, "commands": {},
    }  # fmt: skip
    latency = dict.fromkeys(("avg", "p50", "p90", "p95", "p99", "min", "max"), 1.0)
    export = {
        "was_cancelled": False,
        "error_summary": [],
        "total_osl": {"unit": "tokens", "avg": 80},
        "total_usage_completion_tokens": {"unit": "tokens", "avg": 80},
        "output_token_throughput": {"unit": "tokens/sec", "avg": tokens_per_second},
        "input_token_throughput": {"unit": "tokens/sec", "avg": 1},
        "request_throughput": {"unit": "requests/sec", "avg": 1},
        "output_token_throughput_per_user": {"unit": "tokens/sec/user", **latency},
        "time_to_first_token": {"unit": "ms", **latency},
        "inter_token_latency": {"unit": "ms", **latency},
        "request_latency": {"unit": "ms", **latency},
        "request_count": {"unit": "requests", "avg": 8},
        "benchmark_duration": {"unit": "sec", "avg": 1},
    }
    folder = project / "out" / "bench" / name
    (folder / "raw" / "c4").mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "raw" / "c4" / "profile_export_aiperf.json").write_text(json.dumps(export))


def test_every_part_has_a_line_and_they_add_up(project: Path) -> None:
    stack(project, H100)
    *table, _, day, use, basis, per_token = cost(project, "s")
    prices = [float(match[1]) for line in table if (match := re.search(r"([\d.]+) USD/h$", line))]
    assert len(prices) == len(table)
    assert sum(prices[:-1]) == pytest.approx(prices[-1]) == TOTAL
    assert day == f"{24 * TOTAL:.2f} USD a day"
    assert use == "graph gpt-oss-disagg uses 8 of 8 GPUs of 1 node (p5.48xlarge)"
    assert basis.startswith("(list prices of us-east-1; without data transfer")
    assert per_token == "A million output tokens: unknown; no benchmark of s has run"


def test_the_newest_benchmark_gives_the_price_of_tokens(project: Path) -> None:
    stack(project, H100)
    benchmark(project, "2026-11-20T10:00:00", 500)
    benchmark(project, "2026-11-21T10:00:00", 1000)
    assert cost(project, "s")[-1] == (
        f"A million output tokens: {TOTAL / 3.6:.4f} USD at 1000 tokens/s "
        "(best point of out/bench/2026-11-21T10:00:00)"
    )


def test_a_simulated_benchmark_says_so(project: Path) -> None:
    stack(project, H100)
    benchmark(project, "2026-11-21T10:00:00", 1000, simulated="engines")
    assert cost(project, "s")[-1].endswith("; SIMULATED: engines)")


def test_a_measured_figure_of_the_config_does_without_files(project: Path) -> None:
    stack(project, H100 | {"measuredTokensPerSecond": 2000})
    assert cost(project, "s")[-1] == (
        f"A million output tokens: {TOTAL / 7.2:.4f} USD at 2000 tokens/s "
        "(measuredTokensPerSecond of the stack's config)"
    )


def test_an_unknown_price_is_named_with_what_to_set(project: Path) -> None:
    pool = {"zones": ["us-east-1a"], "capacity": BLOCK, "active": True}
    stack(project, H100 | {"pool": pool, "measuredTokensPerSecond": 2000})
    lines = cost(project, "s")
    assert any(re.search(r"^1 × p5.48xlarge \(capacity-block\) +unknown USD/h$", line) for line in lines)
    assert lines[-1] == (
        "A million output tokens: unknown; set the stack's `prices` for 1 × p5.48xlarge (capacity-block)"
    )
    assert lines[-2].endswith(
        "below `config:` of the stack file:\n  dynamo-gpt-oss:prices: { p5.48xlarge: USD }"
    )
    stack(project, H100 | {"pool": pool, "prices": {"p5.48xlarge": 31.464}, "measuredTokensPerSecond": 2000})
    assert f"{(TOTAL - 55.04 + 31.464) / 7.2:.4f} USD" in cost(project, "s")[-1]


def test_each_pool_has_lines_of_its_own(project: Path) -> None:
    further = {
        "pools": [{"name": "copy"}, {"name": "block", "zones": ["us-east-1a"], "capacity": BLOCK}],
        "graphs": [{"name": "copy", "pool": "copy"}, {"name": "later", "pool": "block"}],
        "prices": {"p5.48xlarge": 50},
    }
    stack(project, H100 | further | {"measuredTokensPerSecond": 2000})
    lines = cost(project, "s")
    prices = {
        match[1]: float(match[2]) for line in lines if (match := re.match(r"(.*?) +([\d.]+) USD/h$", line))
    }
    nodes = ["1 × p5.48xlarge", "1 × p5.48xlarge of copy", "1 × p5.48xlarge of block"]
    kinds = ["on-demand", "on-demand", "capacity-block"]
    assert [prices[f"{node} ({kind})"] for node, kind in zip(nodes, kinds, strict=True)] == [50, 50, 50]
    disk = prices["1 × 200 GiB root, GPU nodes of copy"]
    main = TOTAL - 55.04 + 50
    assert prices["in all"] == pytest.approx(main + 50 + disk + 50)
    assert lines[-1] == (
        f"A million output tokens: {main / 7.2:.4f} USD without further pools at 2000 tokens/s "
        "(measuredTokensPerSecond of the stack's config)"
    )


def test_a_cluster_that_is_there_costs_this_stack_nothing(project: Path) -> None:
    stack(project, {"target": "vllm-disagg-h100", "cluster": {"kind": "existing"}})
    line, use = cost(project, "s")
    assert "makes nothing that is paid by the hour" in line
    assert use == "graph gpt-oss-disagg uses 8 of 8 GPUs of 1 node (p5.48xlarge)"


def test_for_programs_it_is_data(project: Path) -> None:
    stack(project, H100 | {"measuredTokensPerSecond": 2000})
    data = cost_data(project, "s")
    assert json.loads(json.dumps(data)) == data
    assert (data["perHour"], data["perDay"]) == (pytest.approx(TOTAL), pytest.approx(24 * TOTAL))
    assert data["perMillionOutputTokens"] == pytest.approx(TOTAL / 7.2, abs=1e-4)
    assert data["gpus"][0]["used"] == data["gpus"][0]["gpus"] == 8
    stack(project, H100 | {"pool": {"zones": ["us-east-1a"], "capacity": BLOCK, "active": True}})
    unknown = cost_data(project, "s")
    assert (unknown["perHour"], unknown["perDay"], unknown["unpriced"]) == (None, None, ["p5.48xlarge"])


def test_no_stack_file(project: Path) -> None:
    with pytest.raises(StackFileError, match=r"Pulumi\.other\.yaml"):
        cost(project, "other")


def test_a_release_that_aws_charges_more_for_costs_more(project: Path) -> None:
    """1.33 has been in extended support since July 2026."""
    old = {**H100["cluster"], "version": "1.33"}  # type: ignore[dict-item]
    stack(project, H100 | {"cluster": {**old, "extendedSupport": True}})
    lines = cost(project, "s")
    assert any(re.match(r"EKS control plane, extended support +0.6000 USD/h$", line) for line in lines)
    assert lines[-2].startswith("cluster.version: Kubernetes 1.33 left EKS's standard support on 2026-07-29")
    stack(project, H100 | {"cluster": old})
    assert any(re.match(r"EKS control plane +0.1000 USD/h$", line) for line in cost(project, "s")), (
        "AWS upgrades such a cluster instead"
    )
