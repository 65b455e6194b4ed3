"""Where `ops bench` measures a stack: beside the embedded cluster, or by a Job on a real one."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from embedded import cluster, dynamo, endpoints
from embedded.paths import PROJECT, STATE
from embedded.processes import Report
from manifests.benchmark import job as benchmark
from manifests.benchmark.job import LoadPoint
from manifests.verification import expectation
from measure import aiperf, driver, job, local
from measure.description import describe, points, with_benchmark
from measure.run import BenchmarkError, RunsError
from ops.deploy import deploy
from ops.money.agree import agree_to_spend
from ops.pulumi import automation, interruption
from ops.rollout import measured
from ops.rollout.observer import Observer
from ops.stack.cluster import Cluster, RealCluster, reach
from ops.stack.stack import Stack, find
from ops.timeline import simulate
from pods.verification.checks import verify
from targets.errors import UserError

RUNS = PROJECT / "out" / "bench"
_READY_SECONDS = 120


class _Site:
    """What both sites share: the stack's deployment itself."""

    def __init__(self, stack: Stack, report: Report, state: Path) -> None:
        self.stack, self.embedded = stack.name, stack.embedded
        self._stack, self._report, self._state = stack, report, state
        self._plan = stack.plan.main
        self._reached = ExitStack()
        self._observer = Observer()

    @cached_property
    def cluster(self) -> Cluster:
        """For as long as this site is used; a kubeconfig that was written for it goes with it."""
        return self._reached.enter_context(reach(self._stack, state=self._state))

    def up(self) -> None:
        """Deploy it, or see that it is."""
        self._observer = Observer(datetime.now(UTC))
        deploy.up(self._stack, self._report, state=self._state, observe=self._observer)

    def rollout(self) -> dict[str, Any] | None:
        """How it came up, as `timeline --measured` has it; None where nothing of that is known."""
        with suppress(UserError):
            measured.look(self._stack, self._observer, self._state)
        self._observer.keep(self._stack, PROJECT)
        found = measured.of_kept(simulate(PROJECT, self._stack.full_name, []), PROJECT)
        return found.data() if found else None

    def verify(self) -> None:
        """See that it answers."""
        expected = expectation(self._plan, simulated=self.embedded)
        with self.cluster.endpoint(_READY_SECONDS) as endpoint:
            for result in verify(endpoint.url, expected, wait=_READY_SECONDS):
                for line in result.lines():
                    self._report(line)
                if not result.ok:
                    raise BenchmarkError(
                        f"the graph does not work, so it is not measured: {result.name}: {result.detail}"
                    )

    def clean(self) -> None:
        """Nothing of the measuring stays."""

    def end_graphs(self) -> None:
        """Delete the stack's graphs, also one that a deployment made and was killed before it wrote so.

        By their names: in a namespace that the stack did not make, there may be graphs of others.
        """
        names = [plan.name for plan in self._stack.plan.graphs]
        how = (f"--namespace={self._stack.namespace}", "--ignore-not-found", "--cascade=background")
        self.cluster.kubectl("delete", "dynamographdeployments", *names, *how, "--timeout=120s")

    def interrupt(self, _: int) -> bool:
        """Let a Pulumi engine end what it has begun with a cloud: killed, it would leave that and a lock behind."""
        return interruption.forward(self._report)

    def down(self) -> None:
        """Take the whole stack down."""
        deploy.down(self._stack, self._report, state=self._state)


class EmbeddedSite(_Site):
    """A stack on the embedded cluster. Its pods run nothing, so the Job's own script runs here, on real AIPerf."""

    def is_up(self) -> bool:
        """Whether its graph is on the cluster."""
        if not cluster.is_running(self._state):
            return False
        graph = ("dynamographdeployment", self._plan.name, f"--namespace={self._stack.namespace}")
        return bool(self.cluster.kubectl("get", *graph, "--ignore-not-found", "--output=name"))

    def end_graphs(self) -> None:
        """As above, if there is a cluster."""
        if cluster.is_running(self._state):
            super().end_graphs()

    def measure(self, points: Sequence[LoadPoint], folder: Path) -> None:
        """Run the Job's script under AIPerf's Python on this machine."""
        python = aiperf.install(self._report)
        folder.mkdir(parents=True)
        with self.cluster.endpoint(_READY_SECONDS) as endpoint:
            plan = benchmark.run_plan(
                points,
                url=endpoint.url,
                tokenizer=str(dynamo.install(str(self._plan.version), self._report).model),
                results=str(folder),
                ready_seconds=_READY_SECONDS,
                limit_seconds=60 * self._stack.plan.checks.benchmark.limit_minutes,
            )
            local.run_script(python, plan, self._report)


class ClusterSite(_Site):
    """A stack on a real cluster: a Job of the run's own, whose results are copied from its claim."""

    def is_up(self) -> bool:
        """Whether Pulumi has resources of it."""
        try:
            opened = automation.open_stack(PROJECT, self._stack.full_name, report=self._report)
        except automation.NoStackError:
            return False
        return bool(automation.resources(opened))

    def measure(self, points: Sequence[LoadPoint], folder: Path) -> None:
        """Run the Job, follow it, and copy its results even if it failed."""
        assert isinstance(self.cluster, RealCluster)
        spec, kubectl = job.job_spec(self._stack.plan, points), self.cluster.kubectl
        job.measure(spec, kubectl, kubectl.read, folder, self._report)

    def clean(self) -> None:
        """Remove the run's Job, commands, reader and claim."""
        job.clean(job.job_spec(self._stack.plan), self.cluster.kubectl)


def site(stack: Stack, report: Report, *, state: Path = STATE) -> EmbeddedSite | ClusterSite:
    """Where the stack is measured."""
    return EmbeddedSite(stack, report, state) if stack.embedded else ClusterSite(stack, report, state)


def measure(
    stack: str,
    chosen: Mapping[str, Any],
    *,
    embedded: bool,
    teardown: bool | None,
    seconds: float,
    out: Path | None,
    report: Report,
    state: Path = STATE,
    yes: bool = False,
) -> Path:
    """Measure a stack; returns the run's folder.

    chosen: fields of BenchmarkSettings over the stack's. teardown: None for unless it was up before. yes: what its
    nodes cost is agreed to. Raises UserError or pulumi.RunError for what went wrong, guard.Ended if it was ended.
    """
    asked = find(stack, embedded=embedded)
    agree_to_spend(asked, yes=yes)
    found = replace(asked, plan=with_benchmark(asked.plan, chosen))
    measured = points(found.plan)
    where = site(found, report, state=state)
    ends = not where.is_up() if teardown is None else teardown
    if not ends:
        report(f"{stack} stays up: `{asked.command('down')}` takes it down")
    started = driver.now()
    folder = out or RUNS / f"{stack}-{started.replace(':', '').removesuffix('+0000')}"
    if folder.exists():
        raise RunsError(f"--out: {folder} is there already; a run gets a folder of its own")
    simulated = f"nodes, GPUs and {endpoints.SIMULATED}" if found.embedded else ""
    run = describe(found.name, found.plan, measured, started, simulated=simulated)
    driver.drive(where, run, measured, folder, teardown=ends, seconds=seconds, report=report)
    return folder
