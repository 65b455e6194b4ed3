"""What a stack needs on the embedded cluster: the cluster itself, simulated nodes, real Dynamo behind its pods."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from embedded import cluster, dynamo, endpoints, nodes, processes
from embedded.operator.platform import GraphVersion, Platform
from embedded.parts import PARTS
from embedded.paths import PROJECT, STATE
from embedded.processes import Report
from facts.hardware import INSTANCE_TYPES, InstanceType
from facts.releases import graph_api_version
from manifests.gpu_nodes import pool_labels
from manifests.kubectl import Kubectl
from manifests.names import MANAGED_BY
from ops.deploy.apply import GRAPH_KIND, STACK_LABEL
from ops.deploy.destination import DestinationError
from ops.evaluate import Evaluation
from ops.pulumi import automation
from ops.stack.cluster import embedded_kubectl
from ops.stack.stack import Stack
from ops.synth import manifests
from ops.watch.reasons import Reason
from targets.knobs import MAIN_POOL
from targets.platform import Addon
from targets.pool import Pool

SIMULATED = (
    "Simulated: nodes, GPUs, the weights' download, the Dynamo operator, and the engines (scripted text at a made-up "
    "pace). Real: API server, scheduler and controllers, Dynamo's frontend, router and workers' runtime, and the "
    "program that `pulumi up` runs."
)
_ENDPOINT_TIMEOUT_SECONDS = 60.0
_DATA_PLANE = "dataplane"


def start(stack: Stack, report: Report, state: Path) -> Kubectl:
    """Start what of the cluster is not running, as the stack wants it. Raises DestinationError, ClusterError."""
    version: GraphVersion = (
        "v1alpha1" if graph_api_version(stack.plan.main.version).endswith("v1alpha1") else "v1beta1"
    )
    _refuse_mixed_versions(stack, version, state)
    wanted = stack.plan.platform.wanted
    platform = Platform(version=wanted.version, grove=wanted.grove is not Addon.NONE)
    cluster.start(report, state, version, platform)
    return embedded_kubectl(state)


def _refuse_mixed_versions(stack: Stack, version: GraphVersion, state: Path) -> None:
    """The stand-in's definition serves one API version; a running graph of the other must go first."""
    if not cluster.is_running(state):
        return
    kubectl = embedded_kubectl(state)
    graphs = json.loads(kubectl("get", "dynamographdeployments", "--all-namespaces", "--output=json"))
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


def start_data_plane(stack: Stack, report: Report, state: Path) -> None:
    """Real Dynamo processes behind the simulated pods, of the releases that can be run here."""
    releases = {str(plan.version) for plan in stack.plan.graphs}
    for release in sorted(release for release in releases if not dynamo.unavailable(release)):
        dynamo.install(release, report)
    command = (sys.executable, "-m", "embedded.dataplane")
    options = (f"--kubeconfig={cluster.kubeconfig(state)}", f"--state={state}")
    kept = {name: os.environ[name] for name in ("PATH", "XDG_CACHE_HOME") if name in os.environ}
    environment = {**kept, "HOME": str(Path.home()), "PYTHONPATH": str(PROJECT), "PYTHONUNBUFFERED": "1"}
    processes.start(state, processes.Daemon(_DATA_PLANE, (*command, *options)), environment)


def ended_parts(stack: Stack, state: Path) -> Iterator[Reason]:
    """A reason for every part of the cluster that has ended: nobody does its work until an `up` starts it again."""
    for name in PARTS:
        if not processes.find(state, name):
            log = processes.log_file(state, name)
            yield Reason(name, f"has ended (log: {log}); `{stack.command('up')}` starts it again", final=True)


def live_endpoints(evaluation: Evaluation, stack: Stack, state: Path) -> dict[str, str]:
    """By output: where each graph answers and with which Dynamo release, or why nothing answers for it."""
    graphs = [r.inputs["metadata"]["name"] for r in manifests(evaluation) if r.inputs["kind"] == GRAPH_KIND]
    outputs = {}
    for graph in graphs:
        of = f".{graph}" if len(graphs) > 1 else ""
        try:
            url = endpoints.wait_for(state, stack.namespace, graph, _ENDPOINT_TIMEOUT_SECONDS)
            outputs[f"liveEndpoint{of}"] = url
            outputs[f"liveRelease{of}"] = endpoints.read(state)[f"{stack.namespace}/{graph}"]["release"]
        except dynamo.CannotRunError as error:
            outputs[f"liveEndpoint{of}"] = f"none: {error}"
    return outputs


def notes(outputs: Mapping[str, Any]) -> Iterator[str]:
    """What somebody has to know of an embedded stack besides its outputs."""
    yield SIMULATED
    url = str(outputs.get("liveEndpoint", ""))
    usual = endpoints.USUAL_PORT
    if url.startswith("http") and not url.endswith(f":{usual}"):
        yield f"Port {usual} is another's: where the guides say http://localhost:{usual}, write {url}"


def add_cpu_node(stack: Stack, state: Path) -> None:
    """For the stack's download and frontends, so that stacks do not crowd each other out."""
    cluster.add_nodes([_node(stack, "cpu", INSTANCE_TYPES["m7i.4xlarge"])], state)


def add_gpu_nodes(stack: Stack, state: Path) -> None:
    """The nodes of all its pools."""
    pools = [each.pool for each in stack.plan.pools]
    cluster.add_nodes(
        [_pool_node(stack, pool, index) for pool in pools for index in range(pool.nodes)], state
    )


def remove_nodes(stack: Stack, state: Path) -> None:
    """The nodes that it brought along."""
    cluster.remove_nodes(f"{STACK_LABEL}={stack.name}", state)


def _pool_node(stack: Stack, pool: Pool, index: int) -> dict[str, Any]:
    name = str(index) if pool.name == MAIN_POOL else f"{pool.name}-{index}"
    return _node(stack, name, pool.instance, pool_labels(pool.name))


def _node(
    stack: Stack, name: str, instance: InstanceType, labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    of_stack = {STACK_LABEL: stack.name, **(labels or {})}
    return nodes.node(instance, f"{stack.name}-{name}", "us-east-1a", of_stack)


def is_used(kubectl: Kubectl, state: Path) -> bool:
    """Whether other stacks' objects, anybody's graphs or retained weights are on the cluster."""
    if state == STATE and automation.available() and automation.EMBEDDED_BACKEND.exists():
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
