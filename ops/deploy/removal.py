"""What a `down` takes off the embedded cluster with kubectl, and what any `down` would do, without doing it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedded import cluster
from embedded.paths import PROJECT, STATE
from embedded.processes import Report
from manifests.kubectl import Kubectl, label
from manifests.names import RETAINED
from ops.deploy import teardown
from ops.deploy.apply import members
from ops.deploy.destination import Deployer, deployer, open_on_embedded, require_pulumi
from ops.deploy.objects import read
from ops.evaluate import evaluate
from ops.pulumi import automation
from ops.stack.cluster import embedded_kubectl
from ops.stack.stack import Stack
from ops.synth import manifests


@dataclass(frozen=True)
class Removal:
    """Objects in the order in which they go. kept: those that outlive the stack."""

    gone: tuple[Mapping[str, Any], ...]
    kept: tuple[Mapping[str, Any], ...]


def removal(stack: Stack, kubectl: Kubectl) -> Removal:
    """What of the stack goes, whether or not it is there. Raises as `evaluate` and kubectl do."""
    evaluation = evaluate(PROJECT, stack.file)
    objects = teardown.order(
        [resource.inputs for resource in manifests(evaluation)],
        members(kubectl, evaluation, stack.namespace),
        teardown.applyset_secret(stack.name, stack.namespace),
    )
    kept = [obj for obj in objects if RETAINED.items() <= obj["metadata"].get("labels", {}).items()]
    return Removal(tuple(obj for obj in objects if obj not in kept), tuple(kept))


def preview(stack: Stack, report: Report, *, state: Path = STATE) -> Iterator[str]:
    """The lines of `down --dry-run`. Raises as `down` does."""
    if not stack.embedded:
        require_pulumi(stack)
        opened = automation.open_stack(PROJECT, stack.full_name, report=report)
        yield automation.preview_down(opened, report)
        return
    if not cluster.is_running(state):
        yield "the embedded cluster is not running: nothing would go"
        return
    kubectl = embedded_kubectl(state)
    by = deployer(stack, kubectl, state)
    if by is not Deployer.KUBECTL:
        yield automation.preview_down(open_on_embedded(stack, by, automation.open_stack, report), report)
        return
    found = removal(stack, kubectl)
    there = [obj for obj in read(kubectl, found.gone) if obj]
    yield from (f"would keep {label(obj)}: cache.retain" for obj in found.kept)
    yield from (f"would remove {label(obj)}" for obj in there)
    yield f"{len(there)} to delete"
