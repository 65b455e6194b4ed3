"""What a stack has cost since its first GPU node, and how long the rest may take. Pure."""

from datetime import datetime

from facts.hardware import GPU_PRODUCT
from facts.prices import Cost
from manifests.gpu_nodes import GPU_PRODUCT_LABEL
from manifests.names import DOWNLOAD_JOB, POOL_LABEL
from ops.watch.pods import Stage
from ops.watch.snapshot import Node, Snapshot
from stacks.cost import cost_per_hour
from stacks.plan import StackPlan
from stacks.rollout import setting
from targets.knobs import MAIN_POOL
from targets.pool import Pool
from targets.timeline import Step, our_order

_HAVE_IMAGES = (Stage.PREPARING, Stage.LOADING, Stage.READY)


def nodes_of(pool: Pool, found: Snapshot) -> list[Node]:
    """Nodes with the pool's labels that are there."""
    gpu = pool.instance.gpu
    product = pool.gpu_product or (GPU_PRODUCT[gpu] if gpu else "")
    wanted = {GPU_PRODUCT_LABEL: product, **dict(pool.node_selector)}
    labelled = [node for node in found.gpu_nodes if wanted.items() <= node.labels.items()]
    if not pool.alike:
        return labelled
    named = None if pool.name == MAIN_POOL else pool.name
    return [node for node in labelled if node.labels.get(POOL_LABEL) == named]


def first_gpu(plan: StackPlan, found: Snapshot) -> datetime | None:
    """When the first GPU node of the stack's pools joined."""
    nodes = (node for each in plan.pools for node in nodes_of(each.pool, found))
    return min((node.since for node in nodes if node.since), default=None)


def spent(plan: StackPlan, found: Snapshot, *, embedded: bool) -> str:
    """In words, with what it rests on; empty where the stack pays for no node."""
    if embedded:
        return "0 USD: the nodes are simulated"
    price, since = cost_per_hour(plan), first_gpu(plan, found)
    if price is None:
        return ""
    if since is None:
        return f"no GPU node yet; {_per_hour(price)} once all runs"
    hours = (found.at - since).total_seconds() / 3600
    return f"{hours * price.known_usd_per_hour:.2f} USD since the first GPU node, at {_per_hour(price)}"


def _per_hour(price: Cost) -> str:
    missing = f" + what `prices` does not say of {', '.join(price.unknown)}" if price.unknown else ""
    return f"{price.known_usd_per_hour:.2f} USD/h{missing}"


def minutes_left(plan: StackPlan, found: Snapshot) -> float | None:
    """By the simulated rollout's assumptions; None once the graphs are ready, and for workers without GPUs.

    The assumptions are about GPU nodes and what they load.
    """
    if not plan.main_pool.gpus or (found.graphs and all(graph.ready for graph in found.graphs)):
        return None
    decided = setting(plan)
    rollout = our_order(decided.assumptions(), decided)
    done = _done(plan, found)
    left = sorted((step for step in rollout.steps if step.name not in done), key=lambda step: step.start)
    if not left:
        return None
    since = _since(left[0], found)
    elapsed = (found.at - since).total_seconds() / 60 if since else 0.0
    return max(0.0, _length(left) - min(elapsed, left[0].end - left[0].start))


def _length(steps: list[Step]) -> float:
    """Minutes in which one of the steps runs at least."""
    total, until = 0.0, 0.0
    for step in steps:
        total += max(0.0, step.end - max(step.start, until))
        until = max(until, step.end)
    return total


def _done(plan: StackPlan, found: Snapshot) -> set[str]:
    """Names of the rollout's steps that have ended."""
    workers = [pod for pod in found.pods if pod.gpus]
    ready = [node for each in plan.pools for node in nodes_of(each.pool, found) if node.ready and node.gpus]
    loaded = bool(workers) and all(pod.stage is Stage.READY for pod in workers)
    ended = {
        "CPU nodes": any(node.ready for node in found.nodes),
        "platform": bool(found.graphs),
        "download": any(job.name == DOWNLOAD_JOB and job.state == "Complete" for job in found.jobs),
        "scale up": first_gpu(plan, found) is not None,
        "GPU nodes": bool(ready),
        "image pull": bool(workers) and all(pod.stage in _HAVE_IMAGES for pod in workers),
        "weights copy": bool(workers) and all(pod.stage in _HAVE_IMAGES[1:] for pod in workers),
        "model load": loaded,
    }
    return {name for name, over in ended.items() if over or loaded}


def _since(step: Step, found: Snapshot) -> datetime | None:
    """When a step that is under way began."""
    if step.name == "download":
        return next((job.since for job in found.jobs if job.name == DOWNLOAD_JOB), None)
    if step.name in ("image pull", "weights copy", "model load"):
        return max((pod.since for pod in found.pods if pod.gpus and pod.since), default=None)
    return None
