"""Where a stack is measured: beside the embedded cluster, or by a Job on a real one."""

import io
import json
import os
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from bench import aiperf
from embedded import cluster, dataplane, dynamo
from embedded.paths import PROJECT, STATE
from embedded.processes import Report
from graphs import benchmark
from graphs.benchmark import JobSpec, Point
from graphs.scripts.verification.checks import verify
from graphs.verification import expectation
from ops.deploy import deploy
from ops.deploy.apply import Kubectl, address, label
from ops.deploy.deploy import Stack
from ops.endpoint import deployment, reached
from ops.errors import OpsError
from ops.kubeconfig import kubectl_options
from ops.pulumi import automation, interruption

_READY_SECONDS = 120
_POLL_SECONDS = 3.0


class BenchmarkError(OpsError):
    """The stack could not be measured; the message says why."""


class _Deployed:
    """What both sites share: the stack's deployment itself."""

    def __init__(self, stack: Stack, report: Report, state: Path) -> None:
        self.stack, self.embedded = stack.name, stack.embedded
        self._stack, self._report, self._state = stack, report, state
        self._plan = stack.plan.main

    def up(self) -> None:
        """Deploy it, or see that it is."""
        self._outputs = deploy.up(self._stack, self._report, state=self._state)

    def clean(self) -> None:
        """Nothing of the measuring stays."""

    def interrupt(self, _: int) -> bool:
        """Let a Pulumi engine end what it has begun with a cloud: killed, it would leave that and a lock behind."""
        return interruption.forward(self._report)

    def down(self) -> None:
        """Take the whole stack down."""
        deploy.down(self._stack, self._report, state=self._state)

    def _check(self, url: str, wait: float) -> None:
        expected = expectation(self._plan, simulated=self.embedded)
        for result in verify(url, expected, wait=wait):
            for line in result.lines():
                self._report(line)
            if not result.ok:
                raise BenchmarkError(
                    f"the graph does not work, so it is not measured: {result.name}: {result.detail}"
                )


class EmbeddedSite(_Deployed):
    """A stack on the embedded cluster. Its pods run nothing, so the Job's own script runs here, on real AIPerf."""

    def is_up(self) -> bool:
        """Whether its graph is on the cluster."""
        if not cluster.is_running(self._state):
            return False
        graph = ("dynamographdeployment", self._plan.name, f"--namespace={self._stack.namespace}")
        return bool(cluster.kubectl("get", *graph, "--ignore-not-found", "--output=name", state=self._state))

    def end_graphs(self) -> None:
        """Delete the stack's graphs, also one that a deployment made and was killed before it wrote so."""
        if cluster.is_running(self._state):
            cluster.kubectl(*_own_graphs(self._stack), state=self._state)

    def verify(self) -> None:
        """See that it answers."""
        self._check(self._url(), _READY_SECONDS)

    def measure(self, points: Sequence[Point], folder: Path) -> None:
        """Run the Job's script under AIPerf's Python on this machine."""
        python = aiperf.install(self._report)
        said = self._stack.plan.checks.benchmark
        folder.mkdir(parents=True)
        plan = benchmark.run_plan(
            points,
            url=self._url(),
            tokenizer=str(dynamo.install(str(self._plan.version), self._report).model),
            results=str(folder),
            ready_seconds=_READY_SECONDS,
            limit_seconds=60 * said.limit_minutes,
        )
        run_script(python, plan, self._report)

    def _url(self) -> str:
        return dataplane.endpoint(self._state, self._stack.namespace, self._plan.name, _READY_SECONDS)


class ClusterSite(_Deployed):
    """A stack on a real cluster: a Job of the run's own, whose results are copied from its claim."""

    def __init__(self, stack: Stack, report: Report, state: Path) -> None:
        super().__init__(stack, report, state)
        self._options: list[str] | None = None
        self._reached = ExitStack()

    def is_up(self) -> bool:
        """Whether Pulumi has resources of it."""
        try:
            opened = automation.open_stack(PROJECT, self._stack.full_name, report=self._report)
        except automation.NoStackError:
            return False
        return bool(automation.resources(opened))

    def end_graphs(self) -> None:
        """Delete the stack's graphs, also one that a deployment made and was killed before it wrote so."""
        self._kubectl(*_own_graphs(self._stack))

    def verify(self) -> None:
        """See that it answers, through a port-forward."""
        with reached(deployment(self.stack), _READY_SECONDS) as endpoint:
            self._check(endpoint.url, _READY_SECONDS)

    def measure(self, points: Sequence[Point], folder: Path) -> None:
        """Run the Job, follow it, and copy its results even if it failed."""
        spec = job_spec(self._stack, points)
        self.clean()
        for manifest in (benchmark.results_claim(spec), benchmark.config_map(spec), benchmark.job(spec)):
            self._kubectl("apply", "--server-side", "--filename=-", stdin=yaml.safe_dump(manifest))
        try:
            follow_job(spec, self._kubectl, self._report)
        finally:
            self._copy(spec, folder)

    def clean(self) -> None:
        """Remove the run's Job, commands, reader and claim."""
        spec = job_spec(self._stack, ())
        for manifest in (
            benchmark.job(spec),
            benchmark.config_map(spec),
            benchmark.reader(spec),
            benchmark.results_claim(spec),
        ):
            self._kubectl("delete", *address(manifest), "--ignore-not-found", "--cascade=foreground")

    def _copy(self, spec: JobSpec, folder: Path) -> None:
        manifest = benchmark.reader(spec)
        self._kubectl("apply", "--server-side", "--filename=-", stdin=yaml.safe_dump(manifest))
        self._kubectl("wait", *address(manifest), "--for=condition=Ready", "--timeout=300s")
        command = ["exec", f"--namespace={spec.namespace}", spec.reader, "--", *benchmark.copy_command()]
        unpack(_run(self._command(*command)), folder)

    def _kubectl(self, *arguments: str, stdin: str = "") -> str:
        return _run(self._command(*arguments), stdin).decode()

    def _command(self, *arguments: str) -> list[str]:
        if self._options is None:
            # For as long as this site is used; a kubeconfig that was written for it goes with it.
            self._options = self._reached.enter_context(
                kubectl_options(self._stack.plan, self._stack.full_name)
            )
        return ["kubectl", *self._options, *arguments]


def site(stack: Stack, report: Report, *, state: Path = STATE) -> EmbeddedSite | ClusterSite:
    """Where the stack is measured."""
    return EmbeddedSite(stack, report, state) if stack.embedded else ClusterSite(stack, report, state)


def _own_graphs(stack: Stack) -> list[str]:
    """By their names: in a namespace that the stack did not make, there may be graphs of others."""
    names = [plan.name for plan in stack.plan.graphs]
    where = [f"--namespace={stack.namespace}", "--ignore-not-found"]
    return ["delete", "dynamographdeployments", *names, *where, "--cascade=background", "--timeout=120s"]


def job_spec(stack: Stack, points: Sequence[Point]) -> JobSpec:
    """The Job of `ops bench`, beside one that the stack itself may have."""
    own = stack.plan.checks.benchmark.job(stack.plan.main, stack.namespace)
    return replace(own, points=tuple(points), name="benchmark-run")


def follow_job(
    spec: JobSpec, kubectl: Kubectl, report: Report, *, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Return when the Job is complete, reporting what it says. Raises BenchmarkError with its reason if it failed."""
    job, said = benchmark.job(spec), ""
    while True:
        live = json.loads(kubectl("get", *address(job), "--output=json"))
        conditions = {
            c["type"]: c for c in live.get("status", {}).get("conditions", []) if c["status"] == "True"
        }
        started = live.get("status", {}).get("ready") or conditions
        last = (
            kubectl("logs", label(job), f"--namespace={spec.namespace}", "--tail=1").strip()
            if started
            else ""
        )
        if last != said:
            report(last)
            said = last
        if "Complete" in conditions:
            return
        if "Failed" in conditions:
            raise BenchmarkError(
                f"{label(job)} failed: {said or conditions['Failed'].get('message', 'no reason given')}"
            )
        sleep(_POLL_SECONDS)


def unpack(archive: bytes, folder: Path) -> None:
    """Put the reader's archive into the folder."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as files:
        files.extractall(folder, filter="data")


def run_script(python: Path, plan: Mapping[str, Any], report: Report) -> None:
    """Run the Job's script on this machine, reporting its lines; it ends with this process, however that ends.

    python: the interpreter that has AIPerf; plan: see benchmark.run_plan. Raises BenchmarkError with the script's
    last words.
    """
    # AIPerf leaves folders in its home and among temporary files. Its sockets are below too: the path has to be short.
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / benchmark.PLAN
        path.write_text(json.dumps(plan))
        _follow(
            [str(python), str(PROJECT / "graphs" / "scripts" / benchmark.SCRIPT), str(path)], home, report
        )


def _follow(script: Sequence[str], home: str, report: Report) -> None:
    process = subprocess.Popen(
        [*script, "--end-with-stdin"],
        env={"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "TMPDIR": home},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # Ctrl-C is for us to pass on
    )
    assert process.stdout is not None
    last = ""
    try:
        for line in process.stdout:
            last = line.strip()
            report(last)
        code = process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if code:
        raise BenchmarkError(f"the benchmark failed: {last}")


def _run(command: Sequence[str], stdin: str = "") -> bytes:
    result = subprocess.run(command, input=stdin.encode(), cwd=PROJECT, capture_output=True, check=False)
    if result.returncode:
        raise BenchmarkError(f"kubectl failed: {result.stderr.decode(errors='replace').strip()}")
    return result.stdout
