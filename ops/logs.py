"""`logs`: what a stack's pods write, by role; on the embedded cluster what the local processes behind them write."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from embedded import endpoints, logs, processes
from embedded.dynamo_graph import graphs_of
from embedded.paths import PROJECT
from manifests.benchmark import job as benchmark
from manifests.graph.placement import COMPONENT_TYPE_LABEL, GRAPH_LABEL
from manifests.kubectl import Kubectl
from manifests.monitoring.pod_monitors import COMPONENT_LABEL, SUB_COMPONENT_TYPE_LABEL
from manifests.names import DOWNLOAD_JOB
from manifests.verification import job_name
from ops import options
from ops.progress import tell
from ops.stack.cluster import EmbeddedCluster, RealCluster, reach
from ops.stack.place import find_deployed
from ops.stack.stack import Stack
from targets.errors import UserError

_JOB_LABEL = "batch.kubernetes.io/job-name"

_OPERATOR_LABEL = "app.kubernetes.io/name=dynamo-operator"
"""On the operator's pods, by the chart of its platform."""
_MOST_PODS = 64
"""That are followed together."""


class LogsError(UserError):
    """There is nothing to show; the message says why."""


class Role(StrEnum):
    """Whose lines."""

    FRONTEND = "frontend"
    ROUTER = "router"
    PREFILL = "prefill"
    DECODE = "decode"
    WORKER = "worker"
    PLANNER = "planner"
    DOWNLOAD = "download"
    VERIFY = "verify"
    BENCHMARK = "benchmark"
    OPERATOR = "operator"


_WORKERS = (Role.PREFILL, Role.DECODE, Role.WORKER)
_JOBS = (Role.DOWNLOAD, Role.VERIFY, Role.BENCHMARK)


def show_logs(  # noqa: PLR0917 each is an option of the command line
    role: Annotated[
        Role | None, typer.Argument(help="Whose; all of the graph by default. The router is in the frontend.")
    ] = None,
    stack: options.Stack = "dev",
    embedded: options.Where = None,
    graph: Annotated[str | None, typer.Option(help="Which graph, where the stack has several.")] = None,
    tail: Annotated[int, typer.Option(min=0, help="Lines of each that are shown first.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
) -> None:
    """Show what the stack's pods write: frontend, workers, download, checks, operator."""
    found = find_deployed(stack, embedded=embedded)
    names = [plan.name for plan in found.plan.graphs]
    chosen = graph or names[0]
    if chosen not in names:
        raise LogsError(f"--graph: {stack} has no graph {chosen!r}; choose one of {', '.join(names)}")
    asked = Role.FRONTEND if role is Role.ROUTER else role
    try:
        with reach(found) as cluster:
            if isinstance(cluster, EmbeddedCluster):
                for line in local_lines(cluster, chosen, asked, tail=tail, follow=follow):
                    typer.echo(line)
            else:
                _follow_pods(cluster, chosen, asked, tail=tail, follow=follow)
    except KeyboardInterrupt:
        return


def local_lines(
    cluster: EmbeddedCluster, graph: str, role: Role | None, *, tail: int, follow: bool
) -> Iterator[str]:
    """Of the real Dynamo processes behind simulated pods, and of the operator's stand-in. Raises LogsError."""
    if role is Role.OPERATOR:
        tell("simulated: the operator is the stand-in of the embedded cluster")
        files: logs.Files = {"operator": processes.log_file(cluster.state, "operator")}
        yield from logs.follow(lambda: files, tail) if follow else logs.last_lines(files, tail)
        return
    if role in (*_JOBS, Role.PLANNER):
        raise LogsError(
            f"ROLE: {role} is simulated on the embedded cluster: no process runs behind its pod, so it writes nothing"
        )
    if not _files(cluster, graph, role):
        raise LogsError(_nothing(cluster.stack, graph, role, _local_roles(cluster, graph)))
    tell(f"simulated: {endpoints.SIMULATED}; these are the local Dynamo processes of {graph}")
    if follow:
        yield from logs.follow(lambda: _files(cluster, graph, role), tail)
    else:
        yield from logs.last_lines(_files(cluster, graph, role), tail)


def _local_roles(cluster: EmbeddedCluster, graph: str) -> dict[str, str]:
    """Role of each process of a graph by its name; none where the graph does not run."""
    listed = cluster.kubectl("get", "pods", f"--namespace={cluster.stack.namespace}", "--output=json")
    graphs = [each for each in graphs_of(json.loads(listed)["items"]) if each.name == graph]
    workers = [worker for each in graphs for worker in each.workers]
    found = {worker.pod: Role.WORKER if worker.role == "agg" else worker.role for worker in workers}
    return {Role.FRONTEND.value: Role.FRONTEND.value, **found} if graphs else {}


def _files(cluster: EmbeddedCluster, graph: str, role: Role | None) -> logs.Files:
    entry = endpoints.read(cluster.state).get(f"{cluster.stack.namespace}/{graph}")
    if entry is None:
        return {}
    if entry["reason"]:
        raise LogsError(f"graph {graph} has no process here: {entry['reason']}")
    roles = _local_roles(cluster, graph)
    folder = PROJECT / entry["logs"]
    return {name: folder / f"{name}.log" for name, its in roles.items() if role in (None, its)}


def _follow_pods(cluster: RealCluster, graph: str, role: Role | None, *, tail: int, follow: bool) -> None:
    where = pods_of(cluster.stack, graph, role, cluster.kubectl.impatient())
    command = [
        *cluster.kubectl.command, "logs", *where, "--all-containers", "--prefix", f"--tail={tail}",
        f"--max-log-requests={_MOST_PODS}", *(["--follow"] if follow else []),
    ]  # fmt: skip
    ended = subprocess.run(command, cwd=PROJECT, check=False)
    if ended.returncode:
        raise LogsError(f"kubectl logs ended with {ended.returncode}; its own words are above")


def pods_of(stack: Stack, graph: str, role: Role | None, kubectl: Kubectl) -> list[str]:
    """kubectl's words for the pods of a role. Raises LogsError where there are none."""
    platform = stack.plan.platform
    if role is Role.OPERATOR:
        if platform.operator:
            namespace, _, name = platform.operator.partition("/")
            return [f"deployment/{name}", f"--namespace={namespace}"]
        where = [f"--namespace={platform.namespace}", f"--selector={_OPERATOR_LABEL}"]
    elif role in _JOBS:
        jobs = {Role.DOWNLOAD: DOWNLOAD_JOB, Role.VERIFY: job_name(graph), Role.BENCHMARK: benchmark.NAME}
        where = [f"--namespace={stack.namespace}", f"--selector={_JOB_LABEL}={jobs[role]}"]
    else:
        return _graph_pods(stack, graph, role, kubectl)
    if not _items(kubectl, where):
        raise LogsError(f"ROLE: no pod of {role} is there ({where[1].removeprefix('--selector=')})")
    return where


def _graph_pods(stack: Stack, graph: str, role: Role | None, kubectl: Kubectl) -> list[str]:
    """A role's pods by the names of their components: the operator's labels for roles differ by release."""
    where = [f"--namespace={stack.namespace}", f"--selector={GRAPH_LABEL}={graph}"]
    labels = [pod["metadata"].get("labels", {}) for pod in _items(kubectl, where)]
    roles = {each[COMPONENT_LABEL]: _role(each) for each in labels if COMPONENT_LABEL in each}
    wanted = sorted(name for name, its in roles.items() if role in (None, its))
    if not wanted and role in _WORKERS:
        # Workers of every role may share one pod.
        wanted = sorted(name for name, its in roles.items() if its == Role.WORKER)
    if not wanted:
        raise LogsError(_nothing(stack, graph, role, roles))
    return [where[0], f"{where[1]},{COMPONENT_LABEL} in ({','.join(wanted)})"]


def _role(labels: Mapping[str, str]) -> str:
    return labels.get(SUB_COMPONENT_TYPE_LABEL) or labels.get(COMPONENT_TYPE_LABEL, "")


def _nothing(stack: Stack, graph: str, role: Role | None, roles: Mapping[str, str]) -> str:
    if not roles:
        return f"--stack: no pod of graph {graph} runs; `{stack.command('up')}` deploys it"
    return f"ROLE: graph {graph} has no {role}; it has {', '.join(sorted({*roles.values()}))}"


def _items(kubectl: Kubectl, where: Sequence[str]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(kubectl("get", "pods", *where, "--output=json"))["items"]
    return items
