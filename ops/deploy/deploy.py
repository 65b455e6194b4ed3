"""`up` and `down`: through Pulumi where its CLI is, otherwise on the embedded cluster."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pulumi import RunError

from embedded import cluster
from embedded.paths import PROJECT, STATE
from embedded.processes import Report
from manifests.kubectl import Kubectl, label
from manifests.names import DOWNLOAD_JOB
from ops.aws.own import find_own
from ops.checks import existing_cluster
from ops.deploy import embedded, preflight, removal, room, stack_lock, teardown
from ops.deploy.apply import Changes, apply
from ops.deploy.destination import Deployer, DestinationError, deployer, open_on_embedded, require_pulumi
from ops.deploy.wait import Waiter
from ops.evaluate import Evaluation, evaluate
from ops.fingerprint import PLAIN
from ops.pulumi import automation, pending
from ops.pulumi.config_file import config_file
from ops.pulumi.events import Events
from ops.stack.cluster import embedded_kubectl
from ops.stack.stack import Stack
from ops.synth import manifests, mask
from ops.watch.look import Look, Observe
from ops.watch.made import Made
from ops.watch.reach import real_look
from ops.watch.reasons import Reason
from ops.watch.watch import Show, Watch
from stacks.sections.cluster import AwsCluster
from targets.errors import UserError

EMBEDDED_TIMEOUT_SECONDS = 300.0
TEARDOWN_TIMEOUT_SECONDS = 120.0


def up(
    stack: Stack,
    report: Report,
    *,
    state: Path = STATE,
    show: Show = lambda _: None,
    observe: Observe = lambda _: None,
) -> Mapping[str, Any]:
    """Deploy the stack, wait until it is ready; returns its outputs, secrets hidden.

    show: takes what is seen of it. observe: takes the objects that this is seen in.

    Raises UserError, pulumi.RunError.
    """
    evaluation = evaluate(PROJECT, stack.file)
    if not stack.embedded:
        return _up_through_pulumi(stack, report, Made(len(evaluation.resources)), show, observe)
    with stack_lock.locked(stack.name, report, state), stack_lock.in_use(report, state):
        return _up_on_embedded(evaluation, stack, report, state=state, show=show, observe=observe)


def what_stays(stack: Stack, *options: str) -> str:
    """What there is to know after an `up` that somebody ended. options: that it had."""
    paid = " and is paid for" if isinstance(stack.plan.cluster, AwsCluster) else ""
    return (
        f"What is made of {stack.name} stays{paid}: `{stack.command('up', *options)}` goes on from there, "
        f"`make down STACK={stack.full_name}` takes it away, `make status STACK={stack.full_name}` says how it is"
    )


def _up_on_embedded(
    evaluation: Evaluation, stack: Stack, report: Report, *, state: Path, show: Show, observe: Observe
) -> Mapping[str, Any]:
    made = Made(len(evaluation.resources))
    kubectl = embedded.start(stack, report, state)
    embedded.start_data_plane(stack, report, state)
    preflight.check(evaluation, kubectl)
    existing_cluster.check(stack.plan, kubectl)
    room.check(stack, kubectl)
    if stack.own_nodes:
        embedded.add_cpu_node(stack, state)
    by = deployer(stack, kubectl, state)
    if by is not Deployer.KUBECTL:
        found = open_on_embedded(stack, by, automation.make_stack, report)
        pending.mend(found, report, kubectl=kubectl)
    else:
        made = Made(len(manifests(evaluation)))
        if stack.file.secret_keys:
            closed = ", ".join(sorted(stack.file.secret_keys))
            report(
                f"{closed}: only a Pulumi CLI opens encrypted values; the text `{PLAIN}` takes their place (nothing is "
                "downloaded here; huggingFace.existingSecret and ingress.existingSecret take Secrets that you make)"
            )
    look = Look(kubectl, stack.namespace, logs=False, observe=observe)
    watch = Watch(stack.plan, look, show, embedded=True, made=made)
    try:
        with watch.running():
            if by is not Deployer.KUBECTL:
                changes: object = automation.up(found, report, Events(report, made))
            else:
                changes = _apply(evaluation, stack, kubectl, report, state=state, watch=watch, made=made)
    except (UserError, RunError) as error:
        ended = [text for text in map(str, embedded.ended_parts(stack, state)) if text not in str(error)]
        if not ended:
            raise
        raise UserError("\n".join([*ended, str(error)])) from None
    report(f"{stack.name}: {changes}")
    # No port can be forwarded to a simulated pod, and the one that it names may be the live endpoint's.
    outputs = {name: value for name, value in mask(evaluation.outputs).items() if name != "portForward"}
    return {**outputs, **embedded.live_endpoints(evaluation, stack, state)}


def down(
    stack: Stack,
    report: Report,
    *,
    timeout: float = TEARDOWN_TIMEOUT_SECONDS,
    force: bool = False,
    state: Path = STATE,
) -> None:
    """Take the stack down, in order, and the embedded cluster with its last stack.

    force: end the embedded cluster with all that is on it, whatever state it is in.
    Raises as `up` does, and LeftoversError for what a destroyed stack left on AWS.
    """
    if force:
        _end_embedded(stack, report, state)
        return
    if not stack.embedded:
        _down_through_pulumi(stack, report)
        return
    with stack_lock.locked(stack.name, report, state):
        with stack_lock.in_use(report, state):
            if state.exists():
                _down_on_embedded(stack, report, timeout, state)
        _end_unused(report, state)


def _down_on_embedded(stack: Stack, report: Report, timeout: float, state: Path) -> None:
    if not cluster.is_running(state):
        _start_for_down(stack, report, state)
    kubectl = embedded_kubectl(state)
    by = deployer(stack, kubectl, state)
    if by is not Deployer.KUBECTL:
        opened = open_on_embedded(stack, by, automation.open_stack, report)
        pending.mend(opened, report, kubectl=kubectl)
        automation.down(opened, report)
    else:
        found = removal.removal(stack, kubectl)
        for obj in found.kept:
            report(f"keep {label(obj)}: cache.retain")
        teardown.tear_down(found.gone, kubectl, report, stack=stack.name, timeout=timeout)
    if stack.own_nodes:
        embedded.remove_nodes(stack, state)


def _end_unused(report: Report, state: Path) -> None:
    """End the cluster, unless something is on it, or another verb makes or takes away something there just now."""
    with stack_lock.unused(state) as unused:
        if not unused:
            report("embedded cluster: keeps running for another up or down")
        elif state.exists() and embedded.is_used(embedded_kubectl(state), state):
            report("embedded cluster: keeps running for what is left on it")
        else:
            cluster.stop(report, state)


def _end_embedded(stack: Stack, report: Report, state: Path) -> None:
    if not stack.embedded:
        raise DestinationError(
            f"--force: {stack.name} is not on the embedded cluster, and no other is ended with all that is on it"
        )
    cluster.stop(report, state)


def _start_for_down(stack: Stack, report: Report, state: Path) -> None:
    """What is on the cluster is known to it alone, so it has to run."""
    try:
        embedded.start(stack, report, state)
    except cluster.ClusterError as error:
        raise DestinationError(
            f"{error}\nWhat is on it cannot be asked for: `{stack.command('down', '--force')}` ends it with all stacks "
            "that are on it"
        ) from None


def _up_through_pulumi(
    stack: Stack, report: Report, made: Made, show: Show, observe: Observe
) -> Mapping[str, Any]:
    require_pulumi(stack)
    from ops import doctor  # noqa: PLC0415  the embedded cluster asks nothing of AWS

    state = automation.state(PROJECT, stack.full_name)
    doctor.check(stack, state, report)
    found = automation.make_stack(PROJECT, stack.full_name, report=report)
    doctor.check_account(stack.plan, state.resources)
    pending.mend(found, report, state=state)
    events = Events(report, made)
    with (
        config_file(PROJECT, stack.file, stack.changed) as config,
        real_look(stack, events, report, observe) as look,
    ):
        watch = Watch(stack.plan, look, show, embedded=False, made=made)
        with watch.running():
            changes = automation.up(found, report, events, config)
    report(f"{stack.name}: {changes}")
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


def _apply(
    evaluation: Evaluation,
    stack: Stack,
    kubectl: Kubectl,
    report: Report,
    *,
    state: Path,
    watch: Watch,
    made: Made,
) -> Changes:
    def why() -> tuple[Reason, ...]:
        return (*embedded.ended_parts(stack, state), *watch.reasons())

    waiter = Waiter(kubectl, report, why=why, timeout=EMBEDDED_TIMEOUT_SECONDS)
    end = partial(
        teardown.tear_down, kubectl=kubectl, report=report, stack=stack.name, timeout=TEARDOWN_TIMEOUT_SECONDS
    )

    def wait(obj: Mapping[str, Any]) -> None:
        made.begin(label(obj))
        waiter(obj)
        made.over(label(obj))
        made.end(label(obj))
        if stack.own_nodes and label(obj) == f"job/{DOWNLOAD_JOB}":
            report("add the stack's GPU nodes: the weights are there")
            embedded.add_gpu_nodes(stack, state)

    return apply(evaluation, stack.namespace, kubectl, wait=wait, end=end, report=report)
