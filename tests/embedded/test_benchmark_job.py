"""The benchmark Job on a real API server. Its pod runs nothing there, so what runs in it is tried on this machine."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from embedded.paths import PROJECT
from manifests.benchmark import job as benchmark
from manifests.benchmark.job import JobSpec
from manifests.cache import model_cache
from measure import job as run_job
from measure.run import BenchmarkError
from tests.embedded.conftest import Cluster
from tests.waiting import PATIENCE


@pytest.fixture
def spec(namespace: str) -> JobSpec:
    shape = benchmark.published_shapes()["8192/1024"]
    return JobSpec(
        namespace=namespace,
        graph="gpt-oss-disagg",
        points=benchmark.points(shape, (1,), 1),
        ready_seconds=60,
        limit_seconds=60,
    )


def apply(cluster: Cluster, *manifests: dict[str, Any]) -> None:
    cluster.kubectl("apply", "--server-side", "--filename=-", stdin=yaml.safe_dump_all(manifests))


def test_the_job_is_accepted_under_the_restricted_pod_standard_and_completes(
    cluster: Cluster, spec: JobSpec
) -> None:
    enforced = "pod-security.kubernetes.io/enforce=restricted"
    cluster.kubectl("label", "namespace", spec.namespace, enforced)
    cache = model_cache.claim(spec.namespace, size="1Gi", storage_class=None)
    apply(cluster, cache, benchmark.results_claim(spec), benchmark.config_map(spec), benchmark.job(spec))
    said: list[str] = []

    def kubectl(*arguments: str, stdin: str = "") -> str:
        # A simulated kubelet has no logs.
        return "all points measured\n" if arguments[0] == "logs" else cluster.kubectl(*arguments, stdin=stdin)

    run_job.follow_job(spec, kubectl, said.append)
    assert said == ["all points measured"]
    pods = json.loads(
        cluster.kubectl(
            "get", "pods", f"--namespace={spec.namespace}", "--selector=app=benchmark", "--output=json"
        )
    )["items"]
    assert [pod["spec"]["nodeName"][:3] for pod in pods] == ["cpu"]
    apply(cluster, benchmark.reader(spec))
    reader = ("pod", spec.reader, f"--namespace={spec.namespace}")
    cluster.kubectl("wait", *reader, "--for=condition=Ready", f"--timeout={PATIENCE}s")


def test_a_job_that_failed_says_why(spec: JobSpec) -> None:
    failed = {"type": "Failed", "status": "True", "message": "Job was active longer than specified deadline"}

    def kubectl(*arguments: str, stdin: str = "") -> str:
        return "" if arguments[0] == "logs" else json.dumps({"status": {"conditions": [failed]}})

    with pytest.raises(BenchmarkError) as error:
        run_job.follow_job(spec, kubectl, print)
    assert str(error.value) == "job/benchmark failed: Job was active longer than specified deadline"


def test_results_come_out_of_the_reader_as_they_are(tmp_path: Path) -> None:
    source = tmp_path / "source" / "c00001-r1"
    source.mkdir(parents=True)
    (source / "profile_export_aiperf.json").write_text("{}")
    _, *arguments = benchmark.copy_command()
    arguments[-1] = arguments[-1].replace(f"'{benchmark.RESULTS_PATH}'", f"'{source.parent}'")
    done = subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
    run_job.unpack(done.stdout, tmp_path / "copy")
    assert (tmp_path / "copy" / "c00001-r1" / "profile_export_aiperf.json").read_text() == "{}"


def script(plan: dict[str, Any], folder: Path, python: Path) -> subprocess.CompletedProcess[str]:
    (folder / "plan.json").write_text(json.dumps(plan))
    path = PROJECT / "pods" / benchmark.SCRIPT
    return subprocess.run(
        [str(python), str(path), str(folder / "plan.json")],
        env={"HOME": str(folder), "TMPDIR": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"aiperfVersion": "0.0.1"}, "this image has AIPerf 0.13.0, the commands are for 0.0.1"),
        ({}, "openai/gpt-oss-120b at http://127.0.0.1:9 did not answer within 0 s: URLError: "),
    ],
)
def test_the_script_gives_up_with_a_reason(
    tmp_path: Path, spec: JobSpec, changes: dict[str, Any], says: str
) -> None:
    from measure import aiperf

    plan = benchmark.run_plan(
        replace(spec).points,
        url="http://127.0.0.1:9",
        tokenizer="/nowhere",
        results=str(tmp_path),
        ready_seconds=0,
        limit_seconds=1,
    )
    done = script(plan | changes, tmp_path, aiperf.install(print))
    assert done.returncode == 1
    assert done.stderr.startswith(says)
