"""Apply an evaluated stack with kubectl, in dependency order, and take back what it no longer holds.

For clusters where no Pulumi engine does it. Server-side apply does the merging and an ApplySet the pruning, so that
kubectl, not this module, knows what belongs to the stack.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embedded.processes import Report
from manifests.graph.topology import TOPOLOGY_ANNOTATION
from manifests.kubectl import Kubectl, address, as_list, items, label
from manifests.names import RETAINED
from ops.deploy.objects import BUILT_IN, addresses, read, unserved
from ops.deploy.wait import condition_of
from ops.evaluate import Evaluation, Resource, Secret
from ops.synth import manifests
from targets.errors import UserError

GRAPH_KIND = "DynamoGraphDeployment"
_MANAGER = "dynamo-gpt-oss"
_SET_MANAGER = "dynamo-gpt-oss-applyset"
"""The ApplySet's label is owned apart, or each ordered apply would drop it and show as a change."""
STACK_LABEL = "dynamo-gpt-oss/stack"
"""On every object of a stack from the moment it is made: the ApplySet knows only those of a finished `up`."""


_PART_OF = "applyset.kubernetes.io/part-of"
_SECONDS_TO_GO = 120


class UnservedError(UserError):
    """The cluster does not know a kind that the stack makes."""


class TakenError(UserError):
    """What the stack would make is another stack's, which a copied stack file may have come from."""


Wait = Callable[[Mapping[str, Any]], None]
End = Callable[[Sequence[Mapping[str, Any]]], object]


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Objects by what happened to them, each as `kind/name`."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]

    @property
    def count(self) -> int:
        """Objects that are not as they were."""
        return len(self.created) + len(self.changed) + len(self.removed)

    def __str__(self) -> str:
        counts = [
            f"{len(self.created)} created",
            f"{len(self.changed)} changed",
            f"{len(self.removed)} removed",
        ]
        return f"{self.count} changes ({', '.join(counts)}, {len(self.unchanged)} unchanged)"


def apply(
    evaluation: Evaluation, namespace: str, kubectl: Kubectl, *, wait: Wait, end: End, report: Report
) -> Changes:
    """Put every object of the stack on the cluster, each after what it depends on is ready.

    wait: returns when the object is ready, raises when it will not be. end: deletes objects and returns when they are
    gone. Graphs that the stack no longer holds, or holds in a shape that the operator does not change, go first: the
    new ones may need their GPUs. Raises UnservedError and TakenError before it changes anything, and the errors of
    kubectl, wait and end.
    """
    objects = [_reveal(resource, evaluation.stack) for resource in manifests(evaluation)]
    _refuse_unserved(kubectl, objects)
    wanted = {tuple(address(obj)): obj for obj in objects}
    parent = _parent(kubectl, namespace, evaluation.stack)
    labelled = _labelled(kubectl, evaluation, parent)
    _refuse_taken([obj for obj in labelled if is_of_another(obj, evaluation.stack)], objects, namespace)
    there = [obj for obj in labelled if not is_of_another(obj, evaluation.stack)]
    stale = [obj for obj in there if tuple(address(obj)) not in wanted and not _is_retained(obj)]
    end(
        [
            obj
            for obj in there
            if obj["kind"] == GRAPH_KIND and _topology(obj) != _topology(wanted.get(tuple(address(obj))))
        ]
    )
    created, changed, unchanged = [], [], []
    for wave in _waves(objects):
        found = _settled(kubectl, wave, report)
        for before, after in zip(found, _apply(kubectl, wave, found), strict=True):
            if before is None:
                created.append(label(after))
                report(f"create {label(after)}")
            elif before["metadata"]["resourceVersion"] != after["metadata"]["resourceVersion"]:
                changed.append(label(after))
                report(f"change {label(after)}")
            else:
                unchanged.append(label(after))
            wait(after)
    left = [obj for obj in stale if obj["kind"] != GRAPH_KIND]
    for obj in left:
        report(f"remove {label(obj)}")
    for named in addresses(left):  # the ApplySet does not have what an `up` made that broke off
        kubectl("delete", *named, "--wait=false", "--ignore-not-found")
    if stale or created or not parent or any(_PART_OF not in obj["metadata"]["labels"] for obj in there):
        _apply_set(kubectl, objects, namespace, evaluation.stack)
    return Changes(
        created=tuple(created),
        changed=tuple(changed),
        removed=tuple(map(label, stale)),
        unchanged=tuple(unchanged),
    )


def members(kubectl: Kubectl, evaluation: Evaluation, namespace: str) -> list[dict[str, Any]]:
    """The objects of the stack that are on the cluster, newest first, also those of an `up` that broke off."""
    labelled = _labelled(kubectl, evaluation, _parent(kubectl, namespace, evaluation.stack))
    return [obj for obj in labelled if not is_of_another(obj, evaluation.stack)]


def is_of_another(obj: Mapping[str, Any], stack: str) -> bool:
    """Whether an object of the cluster was made for a stack of another name."""
    return bool(obj["metadata"].get("labels", {}).get(STACK_LABEL, stack) != stack)


def _is_retained(obj: Mapping[str, Any]) -> bool:
    """Whether it outlives its stack, as weights of an earlier life of it may have."""
    return bool(RETAINED.items() <= obj["metadata"]["labels"].items())


def _refuse_taken(
    others: Iterable[Mapping[str, Any]], objects: Iterable[Mapping[str, Any]], namespace: str
) -> None:
    """Weights that outlive their stack are for whoever comes next."""
    wanted = [address(obj) for obj in objects]
    taken = [obj for obj in others if address(obj) in wanted and not _is_retained(obj)]
    if taken:
        whose = ", ".join(sorted({obj["metadata"]["labels"][STACK_LABEL] for obj in taken}))
        raise TakenError(
            f"cluster.namespace: the stack {whose} has {', '.join(map(label, taken))} in {namespace}; choose another "
            "namespace, or take that stack down"
        )


def _refuse_unserved(kubectl: Kubectl, objects: Iterable[Mapping[str, Any]]) -> None:
    kinds = {address(obj)[0]: label(obj) for obj in objects}
    for kind in sorted(unserved(kubectl, kinds)):
        raise UnservedError(
            f"{kinds[kind]}: the cluster serves no {kind}; install what brings it, or leave out of the stack file what "
            "asks for it"
        )


def _waves(objects: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """What can be applied together: each object that is waited for ends a wave."""
    wave: list[dict[str, Any]] = []
    for obj in objects:
        wave.append(obj)
        if condition_of(obj):
            yield wave
            wave = []
    if wave:
        yield wave


def _labelled(
    kubectl: Kubectl, evaluation: Evaluation, parent: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """The objects of any stack, of the kinds that this one has or had, newest first. parent: of its ApplySet."""
    annotations = parent["metadata"]["annotations"] if parent else {}
    kinds = set(filter(None, annotations.get("applyset.kubernetes.io/contains-group-kinds", "").split(",")))
    kinds |= {address(resource.inputs)[0] for resource in manifests(evaluation)} | BUILT_IN
    kinds -= unserved(kubectl, kinds)
    selector = f"--selector={STACK_LABEL}"
    listed = kubectl(
        "get", ",".join(sorted(kinds)), "--all-namespaces", selector, "--ignore-not-found", "--output=json"
    )
    found = {obj["metadata"]["uid"]: obj for obj in items(listed)}
    return sorted(found.values(), key=lambda obj: str(obj["metadata"]["creationTimestamp"]), reverse=True)


def applyset(stack: str) -> str:
    """Name of the Secret that stands for the stack's ApplySet."""
    return f"dynamo-gpt-oss-{stack}"


def _topology(graph: Mapping[str, Any] | None) -> str | None:
    return graph["metadata"].get("annotations", {}).get(TOPOLOGY_ANNOTATION) if graph else None


def _reveal(resource: Resource, stack: str) -> dict[str, Any]:
    opened: dict[str, Any] = _open(resource.inputs)
    metadata = opened["metadata"]
    return opened | {"metadata": metadata | {"labels": metadata.get("labels", {}) | {STACK_LABEL: stack}}}


def _open(value: Any) -> Any:
    """The value with its secrets; it goes to kubectl's standard input and nowhere else."""
    if isinstance(value, Secret):
        return _open(value.value)
    if isinstance(value, Mapping):
        return {key: _open(item) for key, item in value.items()}
    return [_open(item) for item in value] if isinstance(value, list) else value


def _settled(
    kubectl: Kubectl, objects: Sequence[Mapping[str, Any]], report: Report
) -> list[dict[str, Any] | None]:
    """Each object once it is either there to stay or gone: a `down` that broke off has left some half removed."""
    while True:
        found = read(kubectl, objects)
        going = [obj for obj in found if obj and "deletionTimestamp" in obj["metadata"]]
        if not going:
            return found
        report(
            f"wait for {', '.join(map(label, going))}, which {'is' if len(going) == 1 else 'are'} being removed"
        )
        for named in addresses(going):
            kubectl("wait", "--for=delete", *named, f"--timeout={_SECONDS_TO_GO}s")


def _apply(
    kubectl: Kubectl, objects: Sequence[dict[str, Any]], before: Sequence[Mapping[str, Any] | None]
) -> list[dict[str, Any]]:
    for obj, found in zip(objects, before, strict=True):
        if found and obj["kind"] == "Job" and _is_unready(found):
            _delete_job(kubectl, obj)
    # kubectl goes on after a refusal, and the last object may need the others.
    *together, last = objects
    applied = _put(kubectl, together) if together else []
    try:
        return [*applied, *_put(kubectl, [last])]
    except Exception as refused:
        if last["kind"] != "Job" or not before[-1] or "field is immutable" not in str(refused):
            raise
    _delete_job(kubectl, last)  # its pod template cannot be changed
    return [*applied, *_put(kubectl, [last])]


def _put(kubectl: Kubectl, objects: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The objects as they then are."""
    return items(_server_side(kubectl, objects, _MANAGER, "--output=json"))


def _delete_job(kubectl: Kubectl, job: Mapping[str, Any]) -> None:
    kubectl("delete", *address(job), "--cascade=foreground", "--wait=true")


def _is_unready(job: Mapping[str, Any]) -> bool:
    """Whether a Job that asks to be made anew until it completes has not; Pulumi's provider does the same."""
    asked = job["metadata"].get("annotations", {}).get("pulumi.com/replaceUnready") == "true"
    conditions = job.get("status", {}).get("conditions", [])
    return asked and not any(one["type"] == "Complete" and one["status"] == "True" for one in conditions)


def _apply_set(kubectl: Kubectl, objects: Sequence[Mapping[str, Any]], namespace: str, stack: str) -> None:
    """Make the objects the stack's ApplySet; kubectl deletes what was in it and no longer is."""
    parent = (f"--applyset=secrets/{applyset(stack)}", f"--namespace={namespace}")
    # Their names alone, which are no valid objects: what a second manager says too, the first cannot take back.
    named = [
        {key: obj[key] for key in ("apiVersion", "kind")}
        | {"metadata": {key: obj["metadata"][key] for key in ("name", "namespace") if key in obj["metadata"]}}
        for obj in objects
    ]
    _server_side(kubectl, named, _SET_MANAGER, "--validate=false", "--prune", *parent)


def _server_side(kubectl: Kubectl, objects: Iterable[Mapping[str, Any]], manager: str, *options: str) -> str:
    return kubectl(
        "apply",
        "--server-side",
        "--force-conflicts",
        f"--field-manager={manager}",
        "--filename=-",
        *options,
        stdin=json.dumps(as_list(objects)),
    )


def _parent(kubectl: Kubectl, namespace: str, stack: str) -> dict[str, Any] | None:
    found = items(
        kubectl(
            "get",
            "secret",
            applyset(stack),
            f"--namespace={namespace}",
            "--ignore-not-found",
            "--output=json",
        )
    )
    return found[0] if found else None
