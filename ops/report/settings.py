"""The settings of a stack that its page shows: chosen one by one, so that no secret is among them. Pure."""

from collections.abc import Iterator

from facts.weights import MODEL_ID
from stacks.plan import StackPlan
from stacks.sections.cluster import AwsCluster, NewEksClusterSettings
from targets.plan import GraphPlan


def settings(plan: StackPlan) -> Iterator[tuple[str, str]]:
    """Name and value, what the stack is first."""
    yield "Target", plan.target.name
    yield "Published as", plan.target.source
    yield (
        "Model",
        ", ".join(dict.fromkeys(str(w.model) for graph in plan.graphs for w in graph.cache.weights))
        or MODEL_ID,
    )
    yield "Cluster", " · ".join(_cluster(plan))
    for each in plan.pools:
        pool = each.pool
        label = "GPU nodes" if pool.instance.gpus else "Nodes"
        name = label if len(plan.pools) == 1 else f"{label} ({pool.name})"
        yield name, " · ".join([f"{pool.nodes} × {pool.instance.name}", str(each.capacity.kind), *each.zones])
    for graph in plan.graphs:
        of = f" ({graph.name})" if len(plan.graphs) > 1 else ""
        yield f"Engine{of}", f"{graph.target.engine} · Dynamo {graph.version}"
        yield f"Image{of}", graph.image.reference
        yield f"Workers{of}", ", ".join(_workers(graph))
        yield (
            f"KV transport{of}",
            str(graph.transport) if graph.target.disaggregated else "none, workers are aggregated",
        )
        yield f"Router{of}", f"{graph.frontend.router_mode}, {graph.frontend.replicas} frontend(s)"
    yield "Model cache", " · ".join(_cache(plan))
    whose = "installed by the stack" if plan.platform.install else "there already"
    yield "Platform", f"Dynamo {plan.platform.wanted.version}, {whose}"
    yield "Autoscaling", str(plan.autoscaling.kind)
    yield "Monitoring", plan.monitoring.kind
    yield "Way in", f"https://{plan.ingress.host}" if plan.ingress else "none from outside the cluster"
    yield "Time to live", plan.billing.tags.ttl or "none"


def _cluster(plan: StackPlan) -> Iterator[str]:
    cluster = plan.cluster
    yield {
        "eks": "EKS, made by the stack",
        "existing-eks": "EKS that is there",
        "stack": "another stack's",
    }.get(cluster.kind, "there already")
    if isinstance(cluster, AwsCluster):
        yield cluster.region
    if isinstance(cluster, NewEksClusterSettings):
        yield f"Kubernetes {cluster.version}"
    yield f"namespace {cluster.namespace}"


def _workers(graph: GraphPlan) -> Iterator[str]:
    for planned in graph.workers:
        most = f" to {planned.max_replicas}" if planned.max_replicas else ""
        gpus = planned.worker.gpus
        yield f"{planned.worker.replicas}{most} × {planned.role} of {gpus} GPU{'' if gpus == 1 else 's'}"


def _cache(plan: StackPlan) -> Iterator[str]:
    cache = plan.cache
    yield cache.kind
    if cache.kind != "s3" and not cache.existing_claim:
        yield cache.size
    if cache.copies:
        yield "copied to each node's disks"
    if cache.retain:
        yield "outlives the stack"
