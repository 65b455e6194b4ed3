"""`status`: what of a stack is deployed."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pulumi.automation import Stack as PulumiStack

from embedded import cluster, endpoints
from embedded.paths import PROJECT, STATE
from manifests.kubectl import Kubectl
from ops.deploy.apply import GRAPH_KIND, live, members
from ops.deploy.destination import Deployer, deployer, open_on_embedded, require_pulumi
from ops.evaluate import evaluate
from ops.progress import tell
from ops.pulumi import automation
from ops.stack.cluster import embedded_kubectl
from ops.stack.stack import Stack
from ops.synth import manifests


def status(stack: Stack, *, state: Path = STATE) -> list[str]:
    """What of the stack is there, a line each: on the embedded cluster its objects, elsewhere what Pulumi knows."""
    if not stack.embedded:
        require_pulumi(stack)
        return _state_lines(automation.open_stack(PROJECT, stack.full_name))
    if not cluster.is_running(state):
        return ["the embedded cluster is not running: start it with `make up`"]
    kubectl = embedded_kubectl(state)
    there = _there(stack, kubectl, state)
    if not there:
        return [f"{stack.name} is not deployed"]
    lines = [_object_line(obj) for obj in reversed(there)]
    pods = json.loads(kubectl("get", "pods", f"--namespace={stack.namespace}", "--output=json"))["items"]
    return [*lines, *(_pod_line(pod) for pod in pods), *_live_lines(stack, state)]


def _there(stack: Stack, kubectl: Kubectl, state: Path) -> list[dict[str, Any]]:
    """The stack's objects on the embedded cluster, newest first."""
    evaluation = evaluate(PROJECT, stack.file)
    by = deployer(stack, kubectl, state)
    if by is Deployer.KUBECTL:
        return members(kubectl, evaluation, stack.namespace)
    # What Pulumi makes has no label of ours; its state says whether it made anything.
    try:
        open_on_embedded(stack, by, automation.open_stack, tell)
    except automation.NoStackError:
        if by is Deployer.LOGIN:
            raise
        return []
    found = [live(kubectl, resource.inputs) for resource in manifests(evaluation)]
    return [obj for obj in reversed(found) if obj]


def _state_lines(found: PulumiStack) -> list[str]:
    kinds = Counter(str(resource["type"]) for resource in automation.resources(found))
    made = sum(kinds.values()) - kinds["pulumi:pulumi:Stack"]
    if not made:
        return ["nothing is deployed"]
    outputs = automation.outputs(found)
    graphs = sum(count for kind, count in kinds.items() if kind.endswith(f":{GRAPH_KIND}"))
    node_groups = kinds["aws:eks/nodeGroup:NodeGroup"]
    summary = f"{made} resources, {node_groups} node groups and {graphs} graphs among them"
    return [summary, *(f"{name}: {value}" for name, value in outputs.items())]


def _live_lines(stack: Stack, state: Path) -> list[str]:
    """Where each graph answers and with which Dynamo release, or why nothing answers for it."""
    entries = endpoints.read(state)
    served = {plan.name: entries.get(f"{stack.namespace}/{plan.name}") for plan in stack.plan.graphs}
    return [
        f"{'Endpoint':<24} {name:<32} "
        + (entry["reason"] or f"{entry['url']} on Dynamo {entry['release']}, {entry['simulated']} simulated")
        for name, entry in served.items()
        if entry
    ]


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
