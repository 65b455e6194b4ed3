"""The loads of a benchmark and the Job that applies them."""

import ast
import json
import re
from dataclasses import replace

import pytest

from manifests.benchmark import job as benchmark
from manifests.benchmark.job import JobSpec, at, job, per_gpu, points, published_shapes
from targets.catalogue import TARGETS
from targets.target import PublishedBenchmark
from tests.plans import graph

SPEC = JobSpec(
    namespace="dynamo",
    graph="gpt-oss-disagg",
    points=points(published_shapes()["8192/1024"], (1, 64), 2),
    ready_seconds=600,
    limit_seconds=3600,
)


@pytest.mark.parametrize(
    ("concurrency", "requests", "warmup", "entries"),
    [(256, 6144, 1000, 8000), (1, 24, 4, 32), (16, 384, 63, 500), (512, 12288, 2000, 16000)],
)
def test_a_sweep_keeps_the_shapes_proportions(
    concurrency: int, requests: int, warmup: int, entries: int
) -> None:
    load = at(published_shapes()["32000/256"], concurrency)
    assert (load.requests, load.warmup, load.dataset_entries) == (requests, warmup, entries)


def test_a_small_shape_stays_as_small_as_it_was_said() -> None:
    small = PublishedBenchmark(isl=8, osl=8, concurrency=1, requests=3, warmup=0, dataset_entries=3)
    assert at(small, 1) == small
    assert at(small, 2).requests == 6


@pytest.mark.parametrize(
    ("target", "replicas", "concurrency"),
    [
        ("trtllm-disagg-8k", 1, 1280),
        ("trtllm-agg-gb200", 1, 3600),
        ("trtllm-disagg-b200", 1, 256),
    ],
)
def test_strictly_per_gpu_counts_the_graphs_own_gpus(target: str, replicas: int, concurrency: int) -> None:
    gpus = graph(target, cluster={"kind": "existing"}).gpus
    assert per_gpu(TARGETS[target], TARGETS[target].benchmark, gpus).concurrency == concurrency
    twice = per_gpu(TARGETS[target], TARGETS[target].benchmark, 2 * gpus)
    assert (twice.concurrency, twice.requests) == (2 * concurrency, 2 * at(twice, concurrency).requests)


def test_points_are_whole_sweeps_after_one_another() -> None:
    assert [point.name for point in SPEC.points] == ["c00001-r1", "c00064-r1", "c00001-r2", "c00064-r2"]


def test_the_job_is_unprivileged_pinned_and_ends() -> None:
    spec = job(SPEC)["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["image"] == "nvcr.io/nvidia/ai-dynamo/aiperf:0.13.0"
    assert spec["activeDeadlineSeconds"] == 600 + 3600 + 60
    assert spec["backoffLimit"] == 0
    assert not {"hostNetwork", "hostIPC", "hostPID"} & pod.keys()


def test_the_job_installs_nothing_and_waits_with_a_limit() -> None:
    data = benchmark.config_map(SPEC)["data"]
    tree = ast.parse(data["run_benchmark.py"])
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    started = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and "Popen" in ast.unparse(node.func)
    ]
    assert not imported & {"pip", "ensurepip", "venv"}
    assert len(started) == 1 and started[0].startswith("subprocess.Popen([sys.executable, '-m', *argv]")
    written = json.loads(data["plan.json"])
    assert (written["readySeconds"], written["limitSeconds"]) == (600, 3600)
    assert written["url"] == "http://gpt-oss-disagg-frontend.dynamo.svc:8000"
    assert [point["argv"][0] for point in written["points"]] == ["aiperf"] * 4
    assert not re.search(r"apt-get|pip install|curl ", json.dumps(data))


def test_results_are_on_a_claim_that_outlives_the_job() -> None:
    volumes = {v["name"]: v for v in job(SPEC)["spec"]["template"]["spec"]["volumes"]}
    assert volumes["results"]["persistentVolumeClaim"] == {"claimName": "benchmark-results"}
    assert benchmark.results_claim(SPEC)["metadata"]["name"] == "benchmark-results"
    reader = benchmark.reader(SPEC)["spec"]
    assert reader["volumes"] == [volumes["results"]]
    assert reader["activeDeadlineSeconds"] == 900


def test_another_plan_makes_another_job() -> None:
    def annotations(spec: JobSpec) -> dict[str, str]:
        found: dict[str, str] = job(spec)["spec"]["template"]["metadata"]["annotations"]
        return found

    assert annotations(SPEC) == annotations(replace(SPEC))
    assert annotations(SPEC) != annotations(replace(SPEC, limit_seconds=60))
