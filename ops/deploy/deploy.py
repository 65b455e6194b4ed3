"""`up`, `down` and `status`: through Pulumi where its CLI is, otherwise on the embedded cluster."""

import json
import os
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pulumi import automation as pulumi_automation

from embedded import cluster, dataplane, dynamo, nodes, processes
from embedded.crds import Version as GraphVersion
from embedded.operator.platform import Platform
from embedded.paths import PROJECT, STATE
from embedded.processes import Report
from graphs.gpu_nodes import pool_labels
from graphs.names import DOWNLOAD_JOB, MANAGED_BY, RETAINED
from ops.aws.own import own
from ops.checks import existing_cluster
from ops.deploy import preflight, teardown
from ops.deploy.apply import GRAPH_KIND, STACK_LABEL, Changes, Kubectl, applied, apply, label, members
from ops.deploy.embedded_stack import is_embedded, on_embedded, plan_of
from ops.deploy.wait import Waiter
from ops.errors import OpsError
from ops.evaluate import Evaluation, evaluate
from ops.pulumi import automation, pending, stack_config
from ops.pulumi.stack_file import StackFile
from ops.synth import manifests, masked
from stacks.plan import StackPlan
from targets.hardware import INSTANCE_TYPES, InstanceType
from targets.knobs import MAIN_POOL
from targets.plan import Pool
from targets.platform import Addon
from targets.releases import graph_api_version

EMBEDDED_TIMEOUT_SECONDS = 300.0
TEARDOWN_TIMEOUT_SECONDS = 120.0
SIMULATED = (
    "Simulated: nodes, GPUs, the weights' download, the Dynamo operator, and the engines (scripted text at a made-up "
    "pace). Real: API server, scheduler and controllers, Dynamo's frontend, router and workers' runtime, and the "
    "program that `pulumi up` runs."
)
_ENDPOINT_TIMEOUT_SECONDS = 60.0
_DATA_PLANE = "dataplane"


class DestinationError(OpsError):
    """The stack cannot be deployed from here; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A stack and where it goes. embedded: onto the embedded cluster. own_nodes: it brings simulated nodes along.

    full_name: as it was asked for, which may be `organization/name`.
    """

    file: StackFile
    full_name: str
    plan: StackPlan
    embedded: bool
    own_nodes: bool

    @property
    def name(self) -> str:
        """The stack's name."""
        return self.file.stack

    @property
    def namespace(self) -> str:
        """The namespace that the stack works in."""
        return self.plan.cluster.namespace


def find(stack: str, *, embedded: bool, project: Path = PROJECT) -> Stack:
    """The stack by name; embedded puts it on the embedded cluster whatever its file says.

    Raises StackFileError, stacks.plan.ConfigError.
    """
    file = stack_config.load(project, stack)
    plan = plan_of(file)
    at_home = is_embedded(plan, project)
    if embedded and not at_home:
        file = on_embedded(file)
        plan = plan_of(file)
    return Stack(
        file=file,
        full_name=stack,
        plan=plan,
        embedded=embedded or at_home,
        own_nodes=embedded and not at_home,
    )


def up(stack: Stack, report: Report, *, state: Path = STATE) -> Mapping[str, Any]:
    """Deploy the stack, wait until it is ready; returns its outputs.

    Raises DestinationError, doctor.DoctorError, preflight.PreflightError, NotReadyError, cluster.ClusterError and
    pulumi.RunError.
    """
    evaluation = evaluate(PROJECT, stack.file)
    if not stack.embedded:
        _require_pulumi(stack)
        from ops import doctor  # noqa: PLC0415  the embedded cluster asks nothing of AWS

        doctor.check(stack.file, stack.full_name, report)
        opened = automation.make_stack(PROJECT, stack.full_name, report=report)
        doctor.check_account(stack.plan, automation.resources(opened))
        pending.mend(opened, report)
        report(f"{stack.name}: {automation.up(opened, report)}")
        return automation.outputs(opened)
    kubectl = _start(stack, report, state)
    _start_data_plane(stack, report, state)
    preflight.check(evaluation, kubectl)
    existing_cluster.check(stack.plan, kubectl)
    if stack.own_nodes:
        cluster.add_nodes([_cpu_node(stack)], state)
    if _through_pulumi(stack, kubectl, state):
        opened = automation.make_stack(PROJECT, stack.name, embedded=True, report=report)
        pending.mend(opened, report, kubectl=kubectl)
        changes: object = automation.up(opened, report)
    else:
        changes = _apply(evaluation, stack, kubectl, report, state)
    report(f"{stack.name}: {changes}")
    return {**masked_outputs(evaluation), **_live_endpoints(evaluation, stack, state)}


def down(
    stack: Stack, report: Report, *, timeout: float = TEARDOWN_TIMEOUT_SECONDS, state: Path = STATE
) -> None:
    """Take the stack down, in order, and the embedded cluster with its last stack.

    Raises as `up` does, let_in.LetInError, and leftovers.LeftoversError for what a destroyed stack left on AWS.
    """
    if not stack.embedded:
        _require_pulumi(stack)
        from ops import doctor  # noqa: PLC0415  as above
        from ops.aws import leftovers, let_in  # noqa: PLC0415  as above

        opened = automation.open_stack(PROJECT, stack.full_name, report=report)
        resources = automation.resources(opened)
        doctor.check_region(stack.plan, resources)
        doctor.check_account(stack.plan, resources)
        let_in.caller(stack.plan, resources, report)
        pending.mend(opened, report, strict=False)
        automation.down(opened, report)
        leftovers.check(stack.file, stack.plan, own(resources), report)
        return
    if not cluster.is_running(state):
        if not state.exists():
            report("embedded cluster: was not running")
            return
        _start(stack, report, state)
    kubectl = partial(_kubectl, state)
    if _through_pulumi(stack, kubectl, state):
        opened = automation.open_stack(PROJECT, stack.name, embedded=True, report=report)
        pending.mend(opened, report, kubectl=kubectl)
        automation.down(opened, report)
    else:
        objects = _in_teardown_order(evaluate(PROJECT, stack.file), stack, kubectl)
        kept = [obj for obj in objects if RETAINED.items() <= obj["metadata"].get("labels", {}).items()]
        for obj in kept:
            report(f"keep {label(obj)}: cache.retain")
        gone = [obj for obj in objects if obj not in kept]
        teardown.tear_down(gone, kubectl, report, timeout=timeout)
    if stack.own_nodes:
        cluster.remove_nodes(f"{STACK_LABEL}={stack.name}", state)
    if _something_left(kubectl, state):
        report("embedded cluster: keeps running for what is left on it")
    else:
        cluster.stop(report, state)


def status(stack: Stack, *, state: Path = STATE) -> list[str]:
    """What of the stack is there, a line each: on the embedded cluster its objects, elsewhere what Pulumi knows."""
    if not stack.embedded:
        _require_pulumi(stack)
        return _state_lines(automation.open_stack(PROJECT, stack.full_name))
    if not cluster.is_running(state):
        return ["the embedded cluster is not running: start it with `make up`"]
    kubectl = partial(_kubectl, state)
    there = _there(stack, kubectl, state)
    if not there:
        return [f"{stack.name} is not deployed"]
    lines = [_object_line(obj) for obj in reversed(there)]
    pods = json.loads(kubectl("get", "pods", f"--namespace={stack.namespace}", "--output=json"))["items"]
    return [*lines, *(_pod_line(pod) for pod in pods), *_live_lines(stack, state)]


def _there(stack: Stack, kubectl: Kubectl, state: Path) -> list[dict[str, Any]]:
    """The stack's objects on the embedded cluster, newest first."""
    evaluation = evaluate(PROJECT, stack.file)
    if not _through_pulumi(stack, kubectl, state):
        return members(kubectl, evaluation, stack.namespace)
    # What Pulumi makes has no label of ours; its state says whether it made anything.
    try:
        automation.open_stack(PROJECT, stack.name, embedded=True)
    except automation.NoStackError:
        return []
    found = [teardown.live(kubectl, resource.inputs) for resource in manifests(evaluation)]
    return [obj for obj in reversed(found) if obj]


def _state_lines(opened: pulumi_automation.Stack) -> list[str]:
    kinds = Counter(str(resource["type"]) for resource in automation.resources(opened))
    made = sum(kinds.values()) - kinds["pulumi:pulumi:Stack"]
    if not made:
        return ["nothing is deployed"]
    outputs = automation.outputs(opened)
    graphs = sum(count for kind, count in kinds.items() if kind.endswith(f":{GRAPH_KIND}"))
    node_groups = kinds["aws:eks/nodeGroup:NodeGroup"]
    summary = f"{made} resources, {node_groups} node groups and {graphs} graphs among them"
    return [summary, *(f"{name}: {value}" for name, value in outputs.items())]


def masked_outputs(evaluation: Evaluation) -> Mapping[str, Any]:
    """The stack's outputs with secrets hidden."""
    outputs: Mapping[str, Any] = masked(evaluation.outputs)
    return outputs


def _apply(evaluation: Evaluation, stack: Stack, kubectl: Kubectl, report: Report, state: Path) -> Changes:
    waiter = Waiter(kubectl, report, timeout=EMBEDDED_TIMEOUT_SECONDS)
    end = partial(teardown.tear_down, kubectl=kubectl, report=report, timeout=TEARDOWN_TIMEOUT_SECONDS)

    def wait(obj: Mapping[str, Any]) -> None:
        waiter(obj)
        if stack.own_nodes and label(obj) == f"job/{DOWNLOAD_JOB}":
            report("add the stack's GPU nodes: the weights are there")
            cluster.add_nodes(_gpu_nodes(stack), state)

    return apply(evaluation, stack.namespace, kubectl, wait=wait, end=end, report=report)


def _through_pulumi(stack: Stack, kubectl: Kubectl, state: Path) -> bool:
    """Whether Pulumi deploys to the embedded cluster: as what is there was deployed, else if there is a CLI.

    Raises DestinationError if Pulumi did and its CLI is gone.
    """
    if stack.own_nodes or state != STATE:
        return False
    if automation.EMBEDDED_BACKEND.exists():
        if not automation.available():
            raise DestinationError(
                f"--stack: {stack.name} was deployed through a Pulumi CLI, and none is on PATH now; "
                "put it back and run the verb again"
            )
        return True
    return automation.available() and not applied(kubectl, stack.namespace, stack.name)


def _require_pulumi(stack: Stack) -> None:
    if not automation.available():
        raise DestinationError(
            f"--stack: {stack.name} is for a cluster of kind {stack.plan.cluster.kind}, which takes a Pulumi CLI, "
            f"and none is on PATH; {automation.HOW_TO_GET_PULUMI}"
        )


def _start(stack: Stack, report: Report, state: Path) -> Kubectl:
    version: GraphVersion = (
        "v1alpha1" if graph_api_version(stack.plan.main.version).endswith("v1alpha1") else "v1beta1"
    )
    _refuse_mixed_versions(stack, version, state)
    wanted = stack.plan.platform.wanted
    platform = Platform(version=wanted.version, grove=wanted.grove is not Addon.NONE)
    cluster.start(report, state, version, platform)
    return partial(_kubectl, state)


def _refuse_mixed_versions(stack: Stack, version: GraphVersion, state: Path) -> None:
    """The stand-in's definition serves one API version; a running graph of the other must go first."""
    if not cluster.is_running(state):
        return
    graphs = json.loads(_kubectl(state, "get", "dynamographdeployments", "--all-namespaces", "--output=json"))
    others = sorted(
        f"{graph['metadata']['namespace']}/{graph['metadata']['name']} ({graph['apiVersion']})"
        for graph in graphs["items"]
        if not graph["apiVersion"].endswith(f"/{version}")
    )
    if others:
        raise DestinationError(
            f"graph.dynamoVersion: {stack.plan.main.version} means nvidia.com/{version} graphs, and the "
            f"embedded cluster serves one API version at a time; take down first: {', '.join(others)}"
        )


def _start_data_plane(stack: Stack, report: Report, state: Path) -> None:
    """Real Dynamo processes behind the simulated pods, of the releases that can be run here."""
    releases = {str(plan.version) for plan in stack.plan.graphs}
    for release in sorted(release for release in releases if not dynamo.unavailable(release)):
        dynamo.install(release, report)
    command = (sys.executable, "-m", "embedded.dataplane")
    options = (f"--kubeconfig={cluster.kubeconfig(state)}", f"--state={state}")
    kept = {name: os.environ[name] for name in ("PATH", "XDG_CACHE_HOME") if name in os.environ}
    environment = {**kept, "HOME": str(Path.home()), "PYTHONPATH": str(PROJECT), "PYTHONUNBUFFERED": "1"}
    processes.start(state, processes.Daemon(_DATA_PLANE, (*command, *options)), environment)


def _live_endpoints(evaluation: Evaluation, stack: Stack, state: Path) -> dict[str, str]:
    """By output: where each graph answers and with which Dynamo release, or why nothing answers for it."""
    graphs = [r.inputs["metadata"]["name"] for r in manifests(evaluation) if r.inputs["kind"] == GRAPH_KIND]
    outputs = {}
    for graph in graphs:
        of = f".{graph}" if len(graphs) > 1 else ""
        try:
            url = dataplane.endpoint(state, stack.namespace, graph, _ENDPOINT_TIMEOUT_SECONDS)
            outputs[f"liveEndpoint{of}"] = url
            outputs[f"liveRelease{of}"] = dataplane.endpoints(state)[f"{stack.namespace}/{graph}"]["release"]
        except dynamo.CannotRunError as error:
            outputs[f"liveEndpoint{of}"] = f"none: {error}"
    return outputs


def _live_lines(stack: Stack, state: Path) -> list[str]:
    """The same for `status`."""
    entries = dataplane.endpoints(state)
    served = {plan.name: entries.get(f"{stack.namespace}/{plan.name}") for plan in stack.plan.graphs}
    return [
        f"{'Endpoint':<24} {name:<32} "
        + (entry["reason"] or f"{entry['url']} on Dynamo {entry['release']}, {entry['simulated']} simulated")
        for name, entry in served.items()
        if entry
    ]


def _kubectl(state: Path, *arguments: str, stdin: str = "") -> str:
    return cluster.kubectl(*arguments, stdin=stdin, state=state)


def _cpu_node(stack: Stack) -> dict[str, Any]:
    """For the stack's download and frontends, so that stacks do not crowd each other out."""
    return _node(stack, "cpu", INSTANCE_TYPES["m7i.4xlarge"])


def _gpu_nodes(stack: Stack) -> list[dict[str, Any]]:
    pools = [each.pool for each in stack.plan.pools]
    return [_pool_node(stack, pool, index) for pool in pools for index in range(pool.nodes)]


def _pool_node(stack: Stack, pool: Pool, index: int) -> dict[str, Any]:
    name = str(index) if pool.name == MAIN_POOL else f"{pool.name}-{index}"
    return _node(stack, name, pool.instance, pool_labels(pool.name))


def _node(
    stack: Stack, name: str, instance: InstanceType, labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    of_stack = {STACK_LABEL: stack.name, **(labels or {})}
    return nodes.node(instance, f"{stack.name}-{name}", "us-east-1a", of_stack)


def _in_teardown_order(evaluation: Evaluation, stack: Stack, kubectl: Kubectl) -> list[dict[str, Any]]:
    """What earlier versions of the stack left, then last made first, then the ApplySet's Secret."""
    made = [dict(resource.inputs) for resource in reversed(manifests(evaluation))]
    known = {label(obj) for obj in made}
    left = [obj for obj in members(kubectl, evaluation, stack.namespace) if label(obj) not in known]
    parent = teardown.applyset_secret(stack.name, stack.namespace)
    return sorted([*left, *made, parent], key=_teardown_rank)


def _teardown_rank(obj: Mapping[str, Any]) -> int:
    """Graphs first, for they hold GPUs and mount the rest; the namespace last. The order within a rank is kept."""
    return {GRAPH_KIND: 0, "Namespace": 2}.get(str(obj["kind"]), 1)


def _something_left(kubectl: Kubectl, state: Path) -> bool:
    """Whether other stacks' objects, anybody's graphs or retained weights are on the cluster."""
    if state == STATE and automation.EMBEDDED_BACKEND.exists():
        known = automation.summaries(PROJECT, embedded=True)
        if any(summary.resource_count for summary in known):
            return True
    managed = ",".join(f"{key}={value}" for key, value in MANAGED_BY.items())
    looks = (
        ("secrets", "--selector=applyset.kubernetes.io/id"),
        # An `up` that broke off has no ApplySet yet.
        ("namespaces,jobs,persistentvolumeclaims,nodes", f"--selector={STACK_LABEL}"),
        # What Pulumi made and was killed before it wrote so has no label of the stack.
        ("namespaces,jobs,persistentvolumeclaims", f"--selector={managed}"),
        ("dynamographdeployments",),
    )
    return any(kubectl("get", *what, "--all-namespaces", "--output=name").strip() for what in looks)


def _object_line(obj: Mapping[str, Any]) -> str:
    status = obj.get("status", {})
    state = status.get("state") or status.get("phase")
    if not state and obj["kind"] == "Job":
        true = [c["type"] for c in status.get("conditions", []) if c["status"] == "True"]
        # Kubernetes adds others on the way, such as SuccessCriteriaMet.
        state = next((kind for kind in ("Complete", "Failed") if kind in true), "Running")
    return f"{obj['kind']:<24} {obj['metadata']['name']:<32} {state or 'there'}"


def _pod_line(pod: Mapping[str, Any]) -> str:
    gpus = sum(
        int(c.get("resources", {}).get("limits", {}).get("nvidia.com/gpu", 0))
        for c in pod["spec"]["containers"]
    )
    where = pod["spec"].get("nodeName", "no node yet")
    took = f", {gpus} simulated GPUs" if gpus else ""
    return f"{'Pod':<24} {pod['metadata']['name']:<32} {pod['status'].get('phase', '')} on {where}{took}"
