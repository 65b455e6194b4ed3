"""What a cluster that is there has for the stack: an answer, drivers and services, GPUs that are free, a class."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from facts.hardware import GPU_PRODUCT
from manifests.gpu_nodes import GPU_PRODUCT_LABEL
from manifests.graph.placement import GRAPH_LABEL
from manifests.kubectl import Kubectl
from ops.checks import existing_cluster
from ops.checks.finding import Check, Finding, ok, wrong
from ops.deploy import preflight
from ops.evaluate import Evaluation
from stacks.plan import StackPlan
from targets.pool import Pool

_GPU = "nvidia.com/gpu"
_DEFAULT = "storageclass.kubernetes.io/is-default-class"
_ONE_NODE_ONLY = ("ebs.csi.aws.com", "kubernetes.io/aws-ebs", "pd.csi.storage.gke.io", "disk.csi.azure.com")
"""Provisioners of block storage, none of which makes a ReadWriteMany claim with a file system."""


def answer(kubectl: Kubectl) -> Iterator[Finding]:
    """Whether the API answers. Raises existing_cluster.KubectlError if not."""
    version = json.loads(kubectl("get", "--raw", "/version"))
    yield ok("cluster", f"Kubernetes {version['gitVersion']} answers")


def checks(plan: StackPlan, evaluate: Callable[[], Evaluation], kubectl: Kubectl) -> list[Check]:
    """What is asked of a cluster that answers. evaluate: gives what the stack would register."""
    return [
        Check("drivers and services", lambda: _drivers_and_services(plan, kubectl)),
        Check("what the stack names", lambda: _check_named(evaluate(), kubectl)),
        Check("GPUs", lambda: gpus(plan, kubectl)),
        Check("storage class", lambda: storage_class(plan, kubectl)),
    ]


def _drivers_and_services(plan: StackPlan, kubectl: Kubectl) -> Iterator[Finding]:
    about, plans = "drivers and services", plan.graphs
    problems = [
        *existing_cluster.drivers(plans, kubectl),
        *existing_cluster.services(plan.platform.wanted, kubectl),
    ]
    yield from (wrong(about, problem) for problem in problems)
    if not problems:
        yield ok(about, "none that is too old or not ready")


def _check_named(evaluation: Evaluation, kubectl: Kubectl) -> Iterator[Finding]:
    about = "what the stack names"
    try:
        preflight.check(evaluation, kubectl)
    except preflight.PreflightError as error:
        yield from (wrong(about, problem) for problem in str(error).splitlines())
    else:
        yield ok(about, "Secrets and platform are there")


def gpus(plan: StackPlan, kubectl: Kubectl) -> Iterator[Finding]:
    """A line a pool. What the stack's own pods hold is free for it."""
    nodes, pods = _items(kubectl, "nodes"), _items(kubectl, "pods", "--all-namespaces")
    for each in plan.pools:
        pool = each.pool
        if pool.instance.gpu is None:
            continue
        wanted = sum(plan.gpus for plan in plan.graphs if plan.pool.name == pool.name)
        about, product = f"GPUs of {pool.key}", pool.gpu_product or GPU_PRODUCT[pool.instance.gpu]
        names = {node["metadata"]["name"] for node in nodes if _is_free(node, pool)}
        if not names:
            yield wrong(
                about,
                f"no node has the label {GPU_PRODUCT_LABEL}={product}; install GPU feature discovery, or say what is "
                f"there in {pool.key}.gpuProduct and nodeSelector",
            )
            continue
        there = sum(_allocatable(node) for node in nodes if node["metadata"]["name"] in names)
        holders = Counter[str]()
        for pod in pods:
            if _holds(pod, names, plan.cluster.namespace):
                holders[_holder(pod)] += _held(pod)
        free = there - holders.total()
        text = f"the stack wants {wanted}, {free} of {there} on {len(names)} nodes are free"
        if wanted <= free:
            yield ok(about, text)
            continue
        taken = ", ".join(f"{who} ({held})" for who, held in sorted(holders.items()) if held)
        by = f", taken by {taken}" if taken else ""
        yield wrong(
            about,
            f"{text}{by}; free some, name other nodes in {pool.key}.nodeSelector, or make the graph smaller "
            "(replicas, tensorParallel)",
        )


def storage_class(plan: StackPlan, kubectl: Kubectl) -> Iterator[Finding]:
    """Whether the one that the cache names is there and can be ReadWriteMany, as far as that can be told."""
    about, cache = "storage class", plan.cache
    if cache.kind != "class" or cache.existing_claim is not None:
        return
    classes = _items(kubectl, "storageclasses")
    there = ", ".join(sorted(each["metadata"]["name"] for each in classes)) or "none"
    if cache.storage_class is None:
        found = [each for each in classes if each["metadata"].get("annotations", {}).get(_DEFAULT) == "true"]
        missing = f"the cluster has no default (there: {there}); name one in cache.storageClass"
    else:
        found = [each for each in classes if each["metadata"]["name"] == cache.storage_class]
        missing = f"cache.storageClass: {cache.storage_class} is not there; choose among {there}"
    if not found:
        yield wrong(about, missing)
        return
    name, provisioner = found[0]["metadata"]["name"], found[0]["provisioner"]
    if provisioner in _ONE_NODE_ONLY:
        yield wrong(
            about,
            f"{name} ({provisioner}) makes volumes for one node, and the cache is ReadWriteMany; name another in "
            f"cache.storageClass (there: {there})",
        )
    else:
        yield ok(about, f"{name} ({provisioner}), whose claims must be able to be ReadWriteMany")


def _is_free(node: dict[str, Any], pool: Pool) -> bool:
    return existing_cluster.is_of_pool(node, pool) and not node["spec"].get("unschedulable", False)


def _allocatable(node: dict[str, Any]) -> int:
    return int(node["status"].get("allocatable", {}).get(_GPU, 0))


def _holds(pod: dict[str, Any], nodes: set[str], own_namespace: str) -> bool:
    """Whether it is another's and holds what it asks for on one of the nodes."""
    over = pod["status"].get("phase") in ("Succeeded", "Failed")
    return pod["spec"].get("nodeName") in nodes and not over and pod["metadata"]["namespace"] != own_namespace


def _holder(pod: dict[str, Any]) -> str:
    """Whose the pod is: its graph, or itself."""
    metadata = pod["metadata"]
    return f"{metadata.get('labels', {}).get(GRAPH_LABEL, metadata['name'])} in {metadata['namespace']}"


def _held(pod: dict[str, Any]) -> int:
    limits = (container.get("resources", {}).get("limits", {}) for container in pod["spec"]["containers"])
    return sum(int(each.get(_GPU, 0)) for each in limits)


def _items(kubectl: Kubectl, *what: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(kubectl("get", *what, "--output=json"))["items"]
    return items
