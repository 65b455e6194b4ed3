"""Wait for an object on the cluster, and say in our words why it does not become ready."""

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from embedded.processes import Report
from manifests.gpu_nodes import GPU_PRODUCT_LABEL
from manifests.graph.placement import GRAPH_LABEL
from manifests.kubectl import Kubectl, address, label
from manifests.names import POOL_LABEL
from targets.errors import UserError

POLL_SECONDS = 0.5
UNSCHEDULABLE_SECONDS = 5
"""How long the scheduler may say no before it counts: nodes may just be joining."""


class NotReadyError(UserError):
    """An object will not become ready; the message says which, why, and what to do."""


class Waiter:
    """Waits for Jobs to complete and for objects that ask for it with `pulumi.com/waitFor: condition=…`."""

    def __init__(
        self,
        kubectl: Kubectl,
        report: Report,
        *,
        timeout: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._kubectl, self._report, self._timeout = kubectl, report, timeout
        self._clock, self._sleep = clock, sleep

    def __call__(self, obj: Mapping[str, Any]) -> None:
        """Return when the object is ready. Raises NotReadyError."""
        condition = _condition_of(obj)
        if condition is None:
            return
        began, last_message = self._clock(), ""
        refused_since: float | None = None
        while True:
            live = json.loads(self._kubectl("get", *address(obj), "--output=json"))
            conditions = {c["type"]: c for c in live.get("status", {}).get("conditions", [])}
            if _holds(live, conditions, condition):
                return
            if obj["kind"] == "Job" and conditions.get("Failed", {}).get("status") == "True":
                raise NotReadyError(
                    f"{label(obj)} failed: {conditions['Failed'].get('message', 'no reason given')}"
                )
            refused = self._unschedulable(obj)
            if not refused:
                refused_since = None
            elif refused_since is None:
                refused_since = self._clock()
            elif self._clock() - refused_since >= UNSCHEDULABLE_SECONDS:
                raise NotReadyError(refused)
            message = str(conditions.get(condition, {}).get("message", ""))
            if message and message != last_message:
                last_message = message
                self._report(f"wait for {label(obj)}: {message}")
            if self._clock() - began > self._timeout:
                raise NotReadyError(
                    f"{label(obj)} is not {condition} after {self._timeout:.0f} s: {last_message or 'no reason given'}"
                )
            self._sleep(POLL_SECONDS)

    def _unschedulable(self, obj: Mapping[str, Any]) -> str | None:
        pods = json.loads(self._kubectl("get", "pods", *_pods_of(obj), "--output=json"))["items"]
        for pod in pods:
            for condition in pod.get("status", {}).get("conditions", []):
                if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
                    return self._explain(pod, condition.get("message", ""))
        return None

    def _explain(self, pod: Mapping[str, Any], message: str) -> str:
        """Which worker, what it needs, what the nodes have; the scheduler's own words at the end."""
        labels = pod["metadata"].get("labels", {})
        who = labels.get("nvidia.com/dynamo-component", pod["metadata"]["name"])
        gpus = _gpus(pod)
        words = re.sub(r"\s+", " ", message).strip()
        if not gpus:
            return f"{who} (pod {pod['metadata']['name']}) cannot be placed: {words}"
        return (
            f"{who} (pod {pod['metadata']['name']}) needs {gpus} GPUs on one node, and none has them free: "
            f"{self._pool(pod)}; the scheduler says: {words}"
        )

    def _pool(self, pod: Mapping[str, Any]) -> str:
        """Nodes of the pod's GPU model and pool, with their GPUs and how many are taken."""
        wanted = _node_demands(pod)
        product = wanted[GPU_PRODUCT_LABEL]["values"][0] if GPU_PRODUCT_LABEL in wanted else None
        selector = ",".join(map(_selector, wanted.values())) or GPU_PRODUCT_LABEL
        nodes = json.loads(self._kubectl("get", "nodes", f"--selector={selector}", "--output=json"))["items"]
        if not nodes:
            pool = f" and label {_selector(wanted[POOL_LABEL])}" if POOL_LABEL in wanted else ""
            return f"the cluster has no node with {product or 'GPUs'}{pool}"
        pods = json.loads(self._kubectl("get", "pods", "--all-namespaces", "--output=json"))["items"]
        taken: dict[str, int] = {}
        for other in pods:
            node = other["spec"].get("nodeName")
            if node and other["status"].get("phase") not in ("Succeeded", "Failed"):
                taken[node] = taken.get(node, 0) + _gpus(other)
        return ", ".join(
            f"node {name} has {node['status']['allocatable'].get('nvidia.com/gpu', '0')} × {product or 'GPU'}, "
            f"{taken.get(name, 0)} taken"
            for node in nodes
            for name in [node["metadata"]["name"]]
        )


def _condition_of(obj: Mapping[str, Any]) -> str | None:
    if obj["kind"] == "Job":
        return "Complete"
    asked = obj["metadata"].get("annotations", {}).get("pulumi.com/waitFor", "")
    return asked.removeprefix("condition=") or None


def _holds(live: Mapping[str, Any], conditions: Mapping[str, Any], condition: str) -> bool:
    found = conditions.get(condition, {})
    seen = live.get("status", {}).get("observedGeneration", live["metadata"].get("generation"))
    return bool(found.get("status") == "True" and seen == live["metadata"].get("generation"))


def _pods_of(obj: Mapping[str, Any]) -> list[str]:
    key = "batch.kubernetes.io/job-name" if obj["kind"] == "Job" else GRAPH_LABEL
    return [f"--namespace={obj['metadata']['namespace']}", f"--selector={key}={obj['metadata']['name']}"]


def _gpus(pod: Mapping[str, Any]) -> int:
    return sum(
        int(container.get("resources", {}).get("limits", {}).get("nvidia.com/gpu", 0))
        for container in pod["spec"]["containers"]
    )


def _node_demands(pod: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What the pod demands of its node's GPU model and pool, by label."""
    required = (
        pod["spec"]
        .get("affinity", {})
        .get("nodeAffinity", {})
        .get("requiredDuringSchedulingIgnoredDuringExecution", {})
    )
    return {
        expression["key"]: expression
        for term in required.get("nodeSelectorTerms", [])
        for expression in term.get("matchExpressions", [])
        if expression["key"] in (GPU_PRODUCT_LABEL, POOL_LABEL)
    }


def _selector(expression: Mapping[str, Any]) -> str:
    """As kubectl takes it, for example `dynamo-gpt-oss/pool in (copy)`."""
    return f"{expression['key']} {expression['operator'].lower()} ({','.join(expression['values'])})"
