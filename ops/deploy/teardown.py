"""Take a stack off a cluster with kubectl: what depends on something goes before it, and nothing is forced."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from embedded.processes import Report
from manifests.graph.placement import GRAPH_LABEL
from manifests.kubectl import Kubectl, address, items, label
from ops.deploy.apply import GRAPH_KIND, applyset, is_of_another
from ops.deploy.objects import addresses, read
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
    """Delete the objects, each step of `order` gone (graphs with their pods) before the next; returns how many.

    stack: whose they are; what was made for another is left. timeout: seconds for each step.
    Raises NotReadyError that names what is stuck and its finalizers; running it again goes on from there.
    """
    there = [obj for obj in read(kubectl, objects) if obj and not is_of_another(obj, stack)]
    for _, step in groupby(there, key=_step):
        going = list(step)
        for obj in going:
            report(f"remove {label(obj)}")
        for named in addresses(going):
            kubectl("delete", *named, "--cascade=background", "--wait=false", "--ignore-not-found")
        began = clock()
        while left := _left(kubectl, going):
            if clock() - began > timeout:
                raise NotReadyError(_stuck(going, left, timeout))
            sleep(POLL_SECONDS)
    return len(there)


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
    """What earlier versions of the stack left, then what it makes, then its ApplySet's Secret.

    made: in the order of their making. there: what of the stack is on the cluster. parent: that Secret. Graphs go
    before all, for they hold GPUs and mount the rest; namespaces after all.
    """
    known = [address(obj) for obj in made]
    left = [obj for obj in there if address(obj) not in known]
    return sorted([*left, *reversed(made), parent], key=_step)


def _step(obj: Mapping[str, Any]) -> int:
    """The ApplySet's Secret knows what is left of an earlier version, so it goes once that is gone."""
    if obj["kind"] == "Secret" and obj["metadata"]["name"].startswith(applyset("")):
        return 2
    return {GRAPH_KIND: 0, "Namespace": 3}.get(str(obj["kind"]), 1)


def _left(kubectl: Kubectl, objects: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The objects and, for graphs, their pods, as far as they are still there."""
    left = [obj for obj in read(kubectl, objects) if obj]
    for obj in objects:
        if obj["kind"] == GRAPH_KIND:
            selector = f"--selector={GRAPH_LABEL}={obj['metadata']['name']}"
            pods = kubectl(
                "get", "pods", f"--namespace={obj['metadata']['namespace']}", selector, "--output=json"
            )
            left += [{"kind": "Pod", **pod} for pod in items(pods)]
    return left


def _stuck(going: Sequence[Mapping[str, Any]], left: Sequence[Mapping[str, Any]], timeout: float) -> str:
    named = []
    for item in left:
        finalizers = item["metadata"].get("finalizers", [])
        named.append(label(item) + (f" (finalizers {', '.join(finalizers)})" if finalizers else ""))
    there = {label(item) for item in left}
    stuck = [label(obj) for obj in going if label(obj) in there] or [label(obj) for obj in going]
    return (
        f"{', '.join(stuck)} {_is(stuck)} not gone after {timeout:.0f} s: {', '.join(named)} {_is(named)} still there; "
        "no finalizer was cleared: see what its controller waits for, then run down again"
    )


def _is(those: Sequence[str]) -> str:
    return "is" if len(those) == 1 else "are"
