"""`up` and `down`: through Pulumi where its CLI is, otherwise on the embedded cluster."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from embedded import cluster
from embedded.paths import PROJECT, STATE
from embedded.processes import Report
from manifests.kubectl import Kubectl, label
from manifests.names import DOWNLOAD_JOB, RETAINED
from ops.aws.own import find_own
from ops.checks import existing_cluster
from ops.deploy import embedded, preflight, teardown
from ops.deploy.apply import Changes, apply, members
from ops.deploy.destination import Deployer, deployer, open_on_embedded, require_pulumi
from ops.deploy.wait import Waiter
from ops.evaluate import Evaluation, evaluate
from ops.pulumi import automation, pending
from ops.stack.cluster import embedded_kubectl
from ops.stack.stack import Stack
from ops.synth import manifests, mask

EMBEDDED_TIMEOUT_SECONDS = 300.0
TEARDOWN_TIMEOUT_SECONDS = 120.0


def up(stack: Stack, report: Report, *, state: Path = STATE) -> Mapping[str, Any]:
    """Deploy the stack, wait until it is ready; returns its outputs, secrets hidden.

    Raises UserError, pulumi.RunError.
    """
    evaluation = evaluate(PROJECT, stack.file)
    if not stack.embedded:
        return _up_through_pulumi(stack, report)
    kubectl = embedded.start(stack, report, state)
    embedded.start_data_plane(stack, report, state)
    preflight.check(evaluation, kubectl)
    existing_cluster.check(stack.plan, kubectl)
    if stack.own_nodes:
        embedded.add_cpu_node(stack, state)
    by = deployer(stack, kubectl, state)
    if by is not Deployer.KUBECTL:
        found = open_on_embedded(stack, by, automation.make_stack, report)
        pending.mend(found, report, kubectl=kubectl)
        changes: object = automation.up(found, report)
    else:
        changes = _apply(evaluation, stack, kubectl, report, state)
    report(f"{stack.name}: {changes}")
    return {**mask(evaluation.outputs), **embedded.live_endpoints(evaluation, stack, state)}


def down(
    stack: Stack, report: Report, *, timeout: float = TEARDOWN_TIMEOUT_SECONDS, state: Path = STATE
) -> None:
    """Take the stack down, in order, and the embedded cluster with its last stack.

    Raises as `up` does, and LeftoversError for what a destroyed stack left on AWS.
    """
    if not stack.embedded:
        _down_through_pulumi(stack, report)
        return
    if not cluster.is_running(state):
        if not state.exists():
            report("embedded cluster: was not running")
            return
        embedded.start(stack, report, state)
    kubectl = embedded_kubectl(state)
    by = deployer(stack, kubectl, state)
    if by is not Deployer.KUBECTL:
        found = open_on_embedded(stack, by, automation.open_stack, report)
        pending.mend(found, report, kubectl=kubectl)
        automation.down(found, report)
    else:
        evaluation = evaluate(PROJECT, stack.file)
        objects = teardown.order(
            [resource.inputs for resource in manifests(evaluation)],
            members(kubectl, evaluation, stack.namespace),
            teardown.applyset_secret(stack.name, stack.namespace),
        )
        kept = [obj for obj in objects if RETAINED.items() <= obj["metadata"].get("labels", {}).items()]
        for obj in kept:
            report(f"keep {label(obj)}: cache.retain")
        gone = [obj for obj in objects if obj not in kept]
        teardown.tear_down(gone, kubectl, report, timeout=timeout)
    if stack.own_nodes:
        embedded.remove_nodes(stack, state)
    if embedded.is_used(kubectl, state):
        report("embedded cluster: keeps running for what is left on it")
    else:
        cluster.stop(report, state)


def _up_through_pulumi(stack: Stack, report: Report) -> Mapping[str, Any]:
    require_pulumi(stack)
    from ops import doctor  # noqa: PLC0415  the embedded cluster asks nothing of AWS

    state = automation.state(PROJECT, stack.full_name)
    doctor.check(stack, state, report)
    found = automation.make_stack(PROJECT, stack.full_name, report=report)
    doctor.check_account(stack.plan, state.resources)
    pending.mend(found, report, state=state)
    report(f"{stack.name}: {automation.up(found, report)}")
    return automation.outputs(found)


def _down_through_pulumi(stack: Stack, report: Report) -> None:
    require_pulumi(stack)
    from ops import doctor  # noqa: PLC0415  as above
    from ops.aws import leftovers, let_in  # noqa: PLC0415

    found = automation.open_stack(PROJECT, stack.full_name, report=report)
    state = automation.State(lambda: found)
    doctor.check_region(stack.plan, state.resources)
    doctor.check_account(stack.plan, state.resources)
    let_in.caller(stack.plan, state.resources, report)
    pending.mend(found, report, state=state, strict=False)
    automation.down(found, report)
    leftovers.check(stack.file, stack.plan, find_own(state.resources), report)


def _apply(evaluation: Evaluation, stack: Stack, kubectl: Kubectl, report: Report, state: Path) -> Changes:
    waiter = Waiter(kubectl, report, timeout=EMBEDDED_TIMEOUT_SECONDS)
    end = partial(teardown.tear_down, kubectl=kubectl, report=report, timeout=TEARDOWN_TIMEOUT_SECONDS)

    def wait(obj: Mapping[str, Any]) -> None:
        waiter(obj)
        if stack.own_nodes and label(obj) == f"job/{DOWNLOAD_JOB}":
            report("add the stack's GPU nodes: the weights are there")
            embedded.add_gpu_nodes(stack, state)

    return apply(evaluation, stack.namespace, kubectl, wait=wait, end=end, report=report)
