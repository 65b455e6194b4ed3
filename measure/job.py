"""The benchmark as a Job of a run's own on a stack's cluster, whose results are copied from its claim."""

import io
import json
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from embedded.processes import Report
from manifests.benchmark import job as benchmark
from manifests.benchmark.job import JobSpec, LoadPoint
from manifests.kubectl import Kubectl, address, label
from measure.run import BenchmarkError
from stacks.plan import StackPlan

_POLL_SECONDS = 3.0


def job_spec(plan: StackPlan, points: Sequence[LoadPoint] = ()) -> JobSpec:
    """The Job of `ops bench`."""
    own = plan.checks.benchmark.job(plan.main, plan.cluster.namespace)
    return replace(own, points=tuple(points), name=benchmark.RUN_NAME)


def measure(
    spec: JobSpec,
    kubectl: Kubectl,
    read: Callable[..., bytes],
    folder: Path,
    report: Report,
) -> None:
    """Run the Job, follow it, and copy its results into the folder even if it failed.

    read: as kubectl, for output that is no text. Raises BenchmarkError, and what kubectl raises.
    """
    clean(spec, kubectl)
    for manifest in (benchmark.results_claim(spec), benchmark.config_map(spec), benchmark.job(spec)):
        _apply(kubectl, manifest)
    try:
        follow_job(spec, kubectl, report)
    finally:
        reader = benchmark.reader(spec)
        _apply(kubectl, reader)
        kubectl("wait", *address(reader), "--for=condition=Ready", "--timeout=300s")
        command = ("exec", f"--namespace={spec.namespace}", spec.reader, "--", *benchmark.copy_command())
        unpack(read(*command), folder)


def clean(spec: JobSpec, kubectl: Kubectl) -> None:
    """Remove the run's Job, commands, reader and claim."""
    for make in (benchmark.job, benchmark.config_map, benchmark.reader, benchmark.results_claim):
        kubectl("delete", *address(make(spec)), "--ignore-not-found", "--cascade=foreground")


def follow_job(
    spec: JobSpec, kubectl: Kubectl, report: Report, *, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Return when the Job is complete, reporting what it says. Raises BenchmarkError with its reason if it failed."""
    job, last_line = benchmark.job(spec), ""
    while True:
        status = json.loads(kubectl("get", *address(job), "--output=json")).get("status", {})
        conditions = {c["type"]: c for c in status.get("conditions", []) if c["status"] == "True"}
        if status.get("ready") or conditions:
            line = kubectl("logs", label(job), f"--namespace={spec.namespace}", "--tail=1").strip()
            if line != last_line:
                report(line)
                last_line = line
        if "Complete" in conditions:
            return
        if "Failed" in conditions:
            reason = last_line or conditions["Failed"].get("message", "no reason given")
            raise BenchmarkError(f"{label(job)} failed: {reason}")
        sleep(_POLL_SECONDS)


def unpack(archive: bytes, folder: Path) -> None:
    """Put the reader's archive into the folder."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as files:
        files.extractall(folder, filter="data")


def _apply(kubectl: Kubectl, manifest: Mapping[str, Any]) -> None:
    kubectl("apply", "--server-side", "--filename=-", stdin=yaml.safe_dump(manifest))
