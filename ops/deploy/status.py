"""`python -m ops status`: what of a stack is deployed, and how it is."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from embedded import cluster, endpoints
from embedded.paths import PROJECT, STATE
from manifests.kubectl import Kubectl
from ops import options
from ops.deploy.apply import members
from ops.deploy.destination import Deployer, deployer, open_on_embedded, require_pulumi
from ops.deploy.objects import read
from ops.evaluate import evaluate
from ops.progress import tell
from ops.pulumi import automation
from ops.rollout.observer import Observer
from ops.stack.cluster import RealCluster, embedded_kubectl, reach
from ops.stack.place import find_deployed
from ops.stack.stack import Stack
from ops.synth import manifests
from ops.watch.look import Look, Observe
from ops.watch.money import spent
from ops.watch.reasons import reasons
from ops.watch.screen import screen
from ops.watch.snapshot import Snapshot
from ops.watch.terminal import span
from ops.watch.view import View, view
from ops.watch.watch import Watch
from targets.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Status:
    """note: why something was not looked at. outputs: of Pulumi, secrets hidden. endpoints: by graph, on the embedded
    cluster: `url`, `release`, `simulated`, and `reason` where nothing answers. seen: None where the cluster was not
    looked at."""

    stack: str
    place: str
    deployed: bool
    note: str = ""
    outputs: Mapping[str, Any] = field(default_factory=dict)
    endpoints: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    spent: str = ""
    found: Snapshot | None = None
    seen: View | None = None

    @property
    def ready(self) -> bool:
        """Whether all its graphs are, and there is one."""
        graphs = self.found.graphs if self.found else ()
        return bool(graphs) and all(graph.ready for graph in graphs)

    @property
    def age_seconds(self) -> float | None:
        """Since the first of its graphs was made."""
        made = [graph.created for graph in self.found.graphs if graph.created] if self.found else []
        return (self.found.at - min(made)).total_seconds() if self.found and made else None

    def lines(self) -> Iterator[str]:
        """For people."""
        if not self.deployed:
            yield self.note or f"{self.stack} is not deployed"
            return
        age = self.age_seconds
        state = "ready" if self.ready else "not ready" if self.seen else "deployed"
        yield f"{self.stack} on {self.place}: {state}{f', for {span(age)}' if age is not None else ''}"
        for name, one in self.endpoints.items():
            where = f"{one['url']} on Dynamo {one['release']}, {one['simulated']} simulated"
            yield f"endpoint of {name}: {one['reason'] or where}"
        for name, value in self.outputs.items():
            yield f"{name}: {value if isinstance(value, str) else json.dumps(value)}"
        if self.seen:
            yield ""
            width = max((len(row.subject) for row in self.seen.rows), default=0)
            for row in self.seen.rows:
                yield f"{row.subject:<{width}}  {', '.join(filter(None, (row.text, row.detail)))}"
            for reason in self.seen.reasons:
                yield f"! {reason}"
        if self.note:
            yield self.note

    def data(self) -> dict[str, Any]:
        """For programs, as docs/operations.md has it."""
        rows = self.seen.rows if self.seen else ()
        why = self.seen.reasons if self.seen else ()
        return {
            "stack": self.stack,
            "place": self.place,
            "deployed": self.deployed,
            "ready": self.ready,
            "ageSeconds": self.age_seconds,
            "endpoints": {name: dict(one) for name, one in self.endpoints.items()},
            "outputs": dict(self.outputs),
            "spent": self.spent,
            "rows": [
                {
                    "subject": row.subject,
                    "state": row.mark.value,
                    "text": ", ".join(filter(None, (row.text, row.detail))),
                    "since": row.since.isoformat() if row.since else None,
                }
                for row in rows
            ],
            "reasons": [{"about": one.about, "text": one.text, "final": one.final} for one in why],
            "note": self.note,
        }


def show_status(
    stack: options.Stack,
    embedded: options.Where = None,
    json_: options.Json = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on looking, and show what changes, until Ctrl-C.")
    ] = False,
) -> None:
    """What of the stack is deployed, and how it is: pods, endpoint, age, cost so far, and why something waits."""
    if watch and json_:
        raise typer.BadParameter("give --watch or --json")
    found = find_deployed(stack, embedded=embedded)
    if watch:
        follow(found)
        return
    observer = Observer()
    said = status(found, observe=observer)
    observer.keep(found, PROJECT)
    if json_:
        typer.echo(json.dumps(said.data(), indent=1, ensure_ascii=False))
        return
    for line in said.lines():
        typer.echo(line)


def status(stack: Stack, *, state: Path = STATE, observe: Observe = lambda _: None) -> Status:
    """What of the stack is there. observe: takes the objects that this is seen in.

    Raises what Pulumi's backend does; a cluster that is out of reach is a note.
    """
    if stack.embedded:
        return _on_embedded(stack, state, observe)
    require_pulumi(stack)
    opened = automation.open_stack(PROJECT, stack.full_name)
    made = [one for one in automation.resources(opened) if one["type"] != "pulumi:pulumi:Stack"]
    place = f"a cluster of kind {stack.plan.cluster.kind}"
    if not made:
        return Status(stack=stack.name, place=place, deployed=False)
    outputs = automation.outputs(opened)
    try:
        with ExitStack() as files:
            found = look(stack, files, state, observe)()
    except UserError as error:
        note = f"the cluster was not looked at: {error}"
        return Status(stack=stack.name, place=place, deployed=True, outputs=outputs, note=note)
    return _seen(Status(stack=stack.name, place=place, deployed=True, outputs=outputs), stack, found)


def follow(stack: Stack) -> None:
    """Show the stack and what changes, until somebody ends it."""
    with ExitStack() as files:
        shown = files.enter_context(
            screen(f"{stack.name}: {stack.plan.target.name}", hint="Ctrl-C ends the look.")
        )
        watch = Watch(stack.plan, look(stack, files), shown.show, embedded=stack.embedded, made=None)
        with watch.running(), suppress(KeyboardInterrupt):
            threading.Event().wait()


def look(stack: Stack, files: ExitStack, state: Path = STATE, observe: Observe = lambda _: None) -> Look:
    """What takes snapshots of the stack's namespace, for as long as `files` is open."""
    if stack.embedded:
        return Look(embedded_kubectl(state), stack.namespace, logs=False, observe=observe)
    reached = files.enter_context(reach(stack))
    assert isinstance(reached, RealCluster)
    return Look(reached.kubectl.impatient(), stack.namespace, logs=True, observe=observe)


def _on_embedded(stack: Stack, state: Path, observe: Observe) -> Status:
    nothing = Status(stack=stack.name, place="the embedded cluster", deployed=False)
    if not cluster.is_running(state):
        return replace(nothing, note="the embedded cluster is not running: start it with `make up`")
    kubectl = embedded_kubectl(state)
    if not _is_there(stack, kubectl, state):
        return nothing
    there = replace(nothing, deployed=True, endpoints=_live_endpoints(stack, state))
    return _seen(there, stack, Look(kubectl, stack.namespace, logs=False, observe=observe)())


def _seen(there: Status, stack: Stack, found: Snapshot) -> Status:
    why = reasons(found, stack.plan, nodes_join=not stack.embedded)
    return replace(
        there,
        spent=spent(stack.plan, found, embedded=stack.embedded),
        found=found,
        seen=view(found, why, stack.plan, embedded=stack.embedded),
    )


def _is_there(stack: Stack, kubectl: Kubectl, state: Path) -> bool:
    """Whether the embedded cluster has objects of the stack."""
    evaluation = evaluate(PROJECT, stack.file)
    by = deployer(stack, kubectl, state)
    if by is Deployer.KUBECTL:
        return bool(members(kubectl, evaluation, stack.namespace))
    # What Pulumi makes has no label of ours; its state says whether it made anything.
    try:
        open_on_embedded(stack, by, automation.open_stack, tell)
    except automation.NoStackError:
        if by is Deployer.LOGIN:
            raise
        return False
    return any(read(kubectl, [resource.inputs for resource in manifests(evaluation)]))


def _live_endpoints(stack: Stack, state: Path) -> dict[str, dict[str, str | None]]:
    """Where each graph answers and with which Dynamo release, or why nothing answers for it."""
    entries = endpoints.read(state)
    served = {plan.name: entries.get(f"{stack.namespace}/{plan.name}") for plan in stack.plan.graphs}
    return {
        name: {key: entry[key] for key in ("url", "release", "simulated", "reason")}
        for name, entry in served.items()
        if entry
    }
