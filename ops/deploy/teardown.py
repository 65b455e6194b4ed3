"""Take a stack off a cluster with kubectl: what depends on something goes before it, and nothing is forced."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from embedded.processes import Report
from manifests.graph.placement import GRAPH_LABEL
from manifests.kubectl import Kubectl, address, label
from ops.deploy.apply import GRAPH_KIND, applyset, is_of_another, live
from ops.deploy.wait import POLL_SECONDS, NotReadyError


def tear_down(
    objects: Sequence[Mapping[str, Any]],
    kubectl: Kubectl,
    report: Report,
    *,
    stack: str,
    timeout: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Delete the objects in the order given, each gone (a graph with its pods) before the next; returns how many.

    stack: whose they are; what was made for another is left. timeout: seconds for each object.
    Raises NotReadyError that names what is stuck and its finalizers; running it again goes on from there.
    """
    removed = 0
    for obj in objects:
        found = live(kubectl, obj)
        if not found or is_of_another(found, stack):
            continue
        report(f"remove {label(obj)}")
        kubectl("delete", *address(obj), "--cascade=background", "--wait=false", "--ignore-not-found")
        began = clock()
        while left := _left(kubectl, obj):
            if clock() - began > timeout:
                raise NotReadyError(_stuck(obj, left, timeout))
            sleep(POLL_SECONDS)
        removed += 1
    return removed


def applyset_secret(stack: str, namespace: str) -> dict[str, Any]:
    """The Secret that stands for the stack's ApplySet, deleted after the last member."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": applyset(stack), "namespace": namespace},
    }


def order(
    made: Sequence[Mapping[str, Any]], there: Iterable[Mapping[str, Any]], parent: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """What earlier versions of the stack left, then what it makes, last made first, then its ApplySet's Secret.

    made: in the order of their making. there: what of the stack is on the cluster. parent: that Secret. Graphs go
    before all, for they hold GPUs and mount the rest; namespaces after all.
    """
    known = {label(obj) for obj in made}
    left = [obj for obj in there if label(obj) not in known]
    ranks = {GRAPH_KIND: 0, "Namespace": 2}
    return sorted([*left, *reversed(made), parent], key=lambda obj: ranks.get(str(obj["kind"]), 1))


def _left(kubectl: Kubectl, obj: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The object and, for a graph, its pods, as far as they are still there."""
    left = [found] if (found := live(kubectl, obj)) else []
    if obj["kind"] == GRAPH_KIND:
        selector = f"--selector={GRAPH_LABEL}={obj['metadata']['name']}"
        pods = kubectl(
            "get", "pods", f"--namespace={obj['metadata']['namespace']}", selector, "--output=json"
        )
        left += [{"kind": "Pod", **pod} for pod in json.loads(pods)["items"]]
    return left


def _stuck(obj: Mapping[str, Any], left: Iterable[Mapping[str, Any]], timeout: float) -> str:
    named = []
    for item in left:
        finalizers = item["metadata"].get("finalizers", [])
        named.append(label(item) + (f" (finalizers {', '.join(finalizers)})" if finalizers else ""))
    return (
        f"{label(obj)} is not gone after {timeout:.0f} s: {', '.join(named)} is still there; no finalizer was "
        "cleared: see what its controller waits for, then run down again"
    )
