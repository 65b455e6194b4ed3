"""Projects with one stack, and benchmark runs and verifications on disk; their figures are made up."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from measure.results import EXPORT
from measure.run import RAW, Hardware, Load, Run, Subject, Traffic
from ops.kept import Kept, keep
from tests.project import PROJECT

SIMULATED = "engines (scripted)"
MANY: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "eks", "region": "us-east-2", "zones": ["us-east-2a", "us-east-2b"]},
    "cache": {"kind": "s3"},
    "pool": {"nodes": 2},
    "pools": [{"name": "h100", "nodes": 2, "instanceType": "p5.48xlarge", "zones": ["us-east-2b"]}],
    "graphs": [
        {
            "name": "gpt-oss-vllm-long-name-here",
            "target": "vllm-disagg-h100",
            "pool": "h100",
            "transport": "efa",
            "frontend": {"replicas": 3, "routerMode": "kv"},
        },
        {"name": "second", "target": "trtllm-disagg-b200"},
    ],
}
"""Three graphs on two pools, one with workers on several nodes."""
SCALED: dict[str, Any] = {
    "target": "vllm-disagg-h100",
    "cluster": {"kind": "existing", "efa": True},
    "platform": {"install": False},
    "pool": {"nodes": 8},
    "autoscaling": {"kind": "external"},
    "graph": {"transport": "efa", "prefill": {"maxReplicas": 3}, "decode": {"replicas": 5}},
}
"""Workers over EFA on more nodes than one, and nodes without any."""
CROWDED: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "existing"},
    "platform": {"install": False},
    "pool": {"nodes": 30},
    "graphs": [{"name": f"graph-{number}"} for number in range(2, 21)],
}
"""A graph on each of twenty nodes of thirty."""


def project(folder: Path, config: Mapping[str, Any], name: str = "s") -> Path:
    """A project with that stack."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Pulumi.yaml").write_text((PROJECT / "Pulumi.yaml").read_text())
    content = {"config": {f"dynamo-gpt-oss:{key}": value for key, value in config.items()}}
    (folder / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump(content))
    return folder


def run(
    project: Path,
    name: str,
    speeds: Mapping[int, float],
    *,
    stack: str = "s",
    simulated: str = SIMULATED,
    isl: int = 64,
    problem: str = "",
) -> Path:
    """A run of 2026 with output tokens a second by concurrency. name: its folder; day and hour as `01T10`."""
    folder = project / "out" / "bench" / name
    loads = {
        f"c{at}": Load(isl=isl, osl=16, concurrency=at, requests=8, warmup=0, dataset_entries=8, seed=1)
        for at in speeds
    }
    folder.mkdir(parents=True)
    Run(
        stack=stack,
        started=f"2026-11-{name}:00:00+00:00",
        ended=f"2026-11-{name}:30:00+00:00",
        traffic=Traffic(
            shape=f"{isl}/16",
            load=next(iter(loads.values())),
            points=loads,
            commands=dict.fromkeys(loads, ("aiperf", "profile")),
        ),
        subject=Subject(target="t", topology="t", graph="g", versions={"AIPerf": "0"}),
        hardware=Hardware(
            gpu="B200", gpus=8, instance="p6-b200.48xlarge", nodes=1, usd_per_hour=100.0, price="list"
        ),
        simulated=simulated,
        problem=problem,
    ).write(folder)
    for at, speed in speeds.items():
        export = folder / RAW / f"c{at}" / EXPORT
        export.parent.mkdir(parents=True)
        export.write_text(json.dumps(_export(speed)))
    return folder


def _export(speed: float) -> dict[str, Any]:
    """AIPerf's file as far as it is read."""
    spread = dict.fromkeys(("avg", "p50", "p90", "p95", "p99", "min", "max"), 1000 / speed)
    return {
        "was_cancelled": False,
        "error_summary": [],
        "total_osl": {"unit": "tokens", "avg": 80},
        "total_usage_completion_tokens": {"unit": "tokens", "avg": 80},
        "output_token_throughput": {"unit": "tokens/sec", "avg": speed},
        "input_token_throughput": {"unit": "tokens/sec", "avg": 1},
        "request_throughput": {"unit": "requests/sec", "avg": 1},
        "output_token_throughput_per_user": {"unit": "tokens/sec/user", **spread},
        "time_to_first_token": {"unit": "ms", **spread},
        "inter_token_latency": {"unit": "ms", **spread},
        "request_latency": {"unit": "ms", **spread},
        "request_count": {"unit": "requests", "avg": 8},
        "benchmark_duration": {"unit": "sec", "avg": 1},
    }


def rollout(project: Path, *, simulated: str = SIMULATED, stack: str = "s") -> Path:
    """What `ops up` keeps: one row that went on, one that waited."""
    spans = [
        ("weights", "Running", "going", 0.0, 30.0),
        ("weights", "Complete", "done", 30.0, 90.0),
        (
            "worker gpt-oss-disagg-trtllmworkers-ba066914-5f7794779-pqkbz",
            "waits for a node",
            "stuck",
            20.0,
            60.0,
        ),
        ("worker gpt-oss-disagg-trtllmworkers-ba066914-5f7794779-pqkbz", "ready", "done", 60.0, 90.0),
    ]
    names = ("subject", "text", "mark", "start", "end")
    found = {"seconds": 90.0, "spans": [dict(zip(names, span, strict=True)) for span in spans]}
    return keep(Kept.UP, stack, found | {"simulated": simulated}, project)


def verification(project: Path, *, ok: bool, simulated: str = SIMULATED, stack: str = "s") -> Path:
    """What `ops verify` keeps: a check that went well, and one that did or did not."""
    check = {
        "name": "ready",
        "outcome": "ok",
        "seconds": 0.1,
        "detail": "3 workers",
        "meaning": "",
        "next_step": "",
        "ok": True,
    }
    other = check | {"name": "chat"}
    if not ok:
        other |= {"outcome": "failed", "meaning": "No <b>answer</b>.", "next_step": "Look.", "ok": False}
    results = {"url": "http://x", "ok": ok, "warnings": [], "checks": [check, other], "simulated": simulated}
    return keep(Kept.VERIFY, stack, results, project)
