"""Shapes, commands against the published ones, and the benchmark Job."""

import ast
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from manifests.benchmark import command as benchmark_command
from manifests.benchmark import job as benchmark
from manifests.benchmark.job import JobSpec, at, job, per_gpu, points, published_shapes, shape_problems
from manifests.benchmark.published import (
    AIPERF,
    GENAI_PERF,
    WHERE,
    WHY_OURS_DIFFERS,
    differences,
    parse_flags,
)
from stacks.load import parse
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from targets.target import PublishedBenchmark

SPEC = JobSpec(
    namespace="dynamo",
    graph="gpt-oss-disagg",
    points=points(published_shapes()["8192/1024"], (1, 64), 2),
    ready_seconds=600,
    limit_seconds=3600,
)


def plan(target: str, **graph: Any) -> GraphPlan:
    return parse({"target": target, "cluster": {"kind": "existing"}, "graph": graph}, set()).main


def words(shape: str, tool: Any = benchmark_command.aiperf) -> list[str]:
    made: list[str] = tool(published_shapes()[shape], url="U", tokenizer="T", artifacts="A")
    return made


@pytest.mark.parametrize(
    ("shape", "differs"),
    [
        (
            "32000/256",
            ["--extra-inputs nvext", "--no-gpu-telemetry", "--ui", "--use-server-token-count", "-H"],
        ),
        *(
            (
                shape,
                [
                    "--extra-inputs max_tokens",
                    "--extra-inputs min_tokens",
                    "--no-gpu-telemetry",
                    "--num-dataset-entries",
                    "--output-tokens-stddev",
                    "--random-seed",
                    "--synthetic-input-tokens-stddev",
                    "--ui",
                    "--use-server-token-count",
                    "--warmup-request-count",
                ],
            )
            for shape in ("128/1000", "8192/1024")
        ),
    ],
)
def test_aiperfs_command_is_the_published_one_but_for_what_is_listed(shape: str, differs: list[str]) -> None:
    found = differences(parse_flags(words(shape)), AIPERF[shape])
    assert list(found) == differs
    assert all(found.values())


def test_genai_perfs_command_is_the_published_one() -> None:
    made = words("32000/256", benchmark_command.genai_perf)
    assert differences(parse_flags(made), GENAI_PERF["32000/256"]) == {}
    assert made[made.index("--") + 1 :] == [
        *("-v", "--max-threads", "500"),
        *("-H", "Authorization: Bearer NOT USED", "-H", "Accept: text/event-stream"),
    ]


def test_every_listed_difference_is_one() -> None:
    found = {key for shape in AIPERF for key in differences(parse_flags(words(shape)), AIPERF[shape])}
    assert found == WHY_OURS_DIFFERS.keys()


def test_a_difference_that_nobody_explained_is_an_error() -> None:
    changed = replace(published_shapes()["8192/1024"], concurrency=1)
    argv = benchmark_command.aiperf(changed, url="U", tokenizer="T", artifacts="A")
    with pytest.raises(KeyError, match="--concurrency"):
        differences(parse_flags(argv), AIPERF["8192/1024"])


def test_only_places_may_differ_unexplained() -> None:
    assert set(WHERE) == {"--url", "--artifact-dir", "--tokenizer"}


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
    gpus = plan(target).gpus
    assert per_gpu(TARGETS[target], TARGETS[target].benchmark, gpus).concurrency == concurrency
    twice = per_gpu(TARGETS[target], TARGETS[target].benchmark, 2 * gpus)
    assert (twice.concurrency, twice.requests) == (2 * concurrency, 2 * at(twice, concurrency).requests)


def test_points_are_whole_sweeps_after_one_another() -> None:
    assert [point.name for point in SPEC.points] == ["c00001-r1", "c00064-r1", "c00001-r2", "c00064-r2"]


def test_a_prompt_longer_than_the_transfer_buffer_is_refused() -> None:
    assert list(shape_problems(plan("trtllm-disagg-8k"), published_shapes()["32000/256"]))[:2] == [
        "benchmark: shape 32000/256 makes sequences of 32000 tokens for prefill workers, which take 9000 (max_seq_len)",
        "benchmark: shape 32000/256 has prompts of 32000 tokens, but prefill workers hand over at most 9216 "
        "(max_tokens_in_buffer); a longer one blocks for ever (dynamo#4327)",
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_takes_its_own_shape(target: str) -> None:
    assert not list(shape_problems(plan(target), TARGETS[target].benchmark))


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
