"""What of a stack a drawing shows, in words: clients, frontends, nodes and workers, KV cache, weights. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence

from facts.engines import Engine, Role
from facts.hardware import Gpu
from manifests.names import CACHE_CLAIM, HTTP_PORT
from ops.report.placement import Node, Share, placed
from ops.report.sketch import FrontendSketch, KvBand, NodeSketch, PoolSketch, Topology, Worker
from stacks.cost import cpu_instance
from stacks.plan import StackPlan
from stacks.pools import PoolPlan
from stacks.sections.cluster import NewEksClusterSettings
from targets.knobs import MAIN_POOL
from targets.plan import GraphPlan
from targets.transport import KvPath, Transport

DRAWN_NODES = 18
"""Nodes of a pool that are drawn each; an UltraServer has no more."""
_ROLES = {Role.PREFILL: "Prefill worker", Role.DECODE: "Decode worker", Role.WORKER: "Worker"}
_KV = {
    Transport.POD: "KV cache: GPU to GPU over NVLink, in one pod",
    Transport.NODE: "KV cache: pod to pod on one node, maybe through host memory",
    Transport.EFA: "KV cache: node to node over EFA",
    Transport.RDMA: "KV cache: pod to pod over InfiniBand or RoCE",
    Transport.NVLINK: "KV cache: node to node over the NVLink domain (unverified)",
    Transport.TCP: "KV cache: through host memory and TCP (slow)",
}
_IN_A_NODE = (Transport.POD, Transport.NODE)


def topology(stack: str, plan: StackPlan, *, embedded: bool = False) -> Topology:
    """The stack's drawing in words. embedded: whether its nodes are simulated."""
    pools = [each.pool for each in plan.pools]
    return Topology(
        stack=stack,
        entry=tuple(_entry(plan)),
        cpu=tuple(_cpu(plan)),
        frontends=tuple(
            FrontendSketch(graph=graph.name, facts=tuple(_frontend(graph)), pool=pools.index(graph.pool))
            for graph in plan.graphs
        ),
        pools=tuple(
            _pool(each, [g for g in plan.graphs if g.pool == each.pool], embedded=embedded)
            for each in plan.pools
        ),
        source=tuple(_source(plan)),
        cache=tuple(_cache(plan)),
        weights="copied to the node" if plan.cache.copies else "weights",
    )


def _entry(plan: StackPlan) -> Iterator[str]:
    yield "OpenAI API"
    if plan.ingress is None:
        yield "inside the cluster, or by port-forward"
    elif plan.ingress.inference_extension:
        yield f"https://{plan.ingress.host}, a Gateway with an endpoint picker"
    else:
        yield f"https://{plan.ingress.host}, through a Gateway"


def _cpu(plan: StackPlan) -> Iterator[str]:
    yield "Nodes without GPUs"
    if isinstance(plan.cluster, NewEksClusterSettings):
        yield f"{plan.cluster.cpu_size} × {cpu_instance(plan).name}"
    else:
        yield "the cluster's own"


def _frontend(graph: GraphPlan) -> Iterator[str]:
    replicas = graph.frontend.replicas
    yield f"graph {graph.name}"
    yield f"{replicas} frontend{'s' if replicas > 1 else ''}, port {HTTP_PORT}"
    yield f"router: {graph.frontend.router_mode}"


def _source(plan: StackPlan) -> Iterator[str]:
    if plan.cache.existing_claim:
        yield "Filled already"
        yield "nothing is downloaded"
        return
    yield "Hugging Face"
    simulated = all(graph.target.engine is Engine.MOCKER for graph in plan.graphs)
    yield "tokenizer alone, no weights" if simulated else "weights, by a download Job"


def _cache(plan: StackPlan) -> Iterator[str]:
    cache = plan.cache
    yield "Model cache"
    kinds = {"efs": "Amazon EFS", "fsx": "FSx for Lustre", "s3": "an S3 bucket"}
    yield kinds.get(cache.kind) or (
        f"StorageClass {cache.storage_class}" if cache.storage_class else "the cluster's StorageClass"
    )
    if cache.kind != "s3":
        own = f"claim {CACHE_CLAIM}, {cache.size}"
        yield f"claim {cache.existing_claim}" if cache.existing_claim else own
    if cache.retain:
        yield "outlives the stack"


def _pool(planned: PoolPlan, graphs: Sequence[GraphPlan], *, embedded: bool) -> PoolSketch:
    pool = planned.pool
    nodes, waiting = placed(pool, graphs)
    # Nodes with workers first: none of those is left out for an empty one.
    shown = sorted(nodes, key=lambda node: (not node.shares, node.number))[:DRAWN_NODES]
    left = [node for node in nodes if node not in shown]
    more = ""
    if left:
        busy = sum(bool(node.shares) for node in left)
        more = f"{len(left)} more nodes, {busy} of them with workers"
    if waiting:
        more = " ".join(filter(None, (more, f"{len(waiting)} workers find no room and wait")))
    return PoolSketch(
        name=_title(planned),
        facts=(*_pool_facts(planned), *(["SIMULATED nodes and GPUs"] if embedded else [])),
        nodes=tuple(_node(node, graphs) for node in shown),
        more=more,
        kv=tuple(_band(graph, graphs) for graph in graphs if _moves(graph) and not _stays(graph)),
    )


def _title(planned: PoolPlan) -> str:
    pool = planned.pool
    if not pool.instance.gpus:
        return "Workers on the same nodes"
    name = "" if pool.name == MAIN_POOL else f"{pool.name}: "
    return f"{name}{pool.nodes} × {pool.instance.name}"


def _pool_facts(planned: PoolPlan) -> Iterator[str]:
    pool, instance, capacity = planned.pool, planned.pool.instance, planned.capacity
    if not instance.gpus:
        yield "no GPUs: engines are Dynamo's mocker, SIMULATED"
        return
    facts = [
        f"{instance.gpus} × {instance.gpu} each" if pool.nodes > 1 else f"{instance.gpus} × {instance.gpu}"
    ]
    if instance.gpu is Gpu.GB200 and instance.nodes_per_ultraserver:
        facts.append("one NVLink domain across nodes")
    elif instance.gpus > 1:
        facts.append("NVLink among a node's GPUs")
    if pool.efa and instance.efa_devices:
        facts.append(f"{instance.efa_devices} EFA devices a node")
    yield " · ".join(facts)
    if planned.zones:
        kind = f"{capacity.kind} ({capacity.ultraserver})" if capacity.ultraserver else str(capacity.kind)
        yield f"{kind}, in {' or '.join(planned.zones)}"
    if not pool.runs:
        yield "not running now: pool.active is false"


def _node(node: Node, graphs: Sequence[GraphPlan]) -> NodeSketch:
    several = len(graphs) > 1
    here = {share.graph for share in node.shares}
    return NodeSketch(
        name=f"Node {node.number}" if node.gpus else "Any of them",
        workers=tuple(
            _worker(share, next(g for g in graphs if g.name == share.graph), several) for share in node.shares
        ),
        free=node.free,
        kv=tuple(_band(g, graphs) for g in graphs if g.name in here and _moves(g) and _stays(g)),
    )


def _worker(share: Share, graph: GraphPlan, several: bool) -> Worker:
    knobs = share.planned.worker.knobs
    facts = [f"graph {share.graph}"] if several else []
    parallel = [
        f"{label}{value}"
        for label, value in (
            ("TP", knobs.tensor_parallel),
            ("EP", knobs.expert_parallel),
            ("PP", knobs.pipeline_parallel),
        )
        if value and (value > 1 or label == "TP")
    ]
    if share.gpus:
        facts.append(" · ".join([f"{share.gpus} GPU{'s' if share.gpus > 1 else ''}", *parallel]))
    else:
        facts.append("simulated engine")
    if share.parts > 1:
        facts.append(f"node {share.part} of {share.parts}")
    most = share.planned.max_replicas
    if most and most > share.planned.worker.replicas:
        facts.append(f"scaled, up to {most}")
    hands = {Role.PREFILL: "gives KV cache", Role.DECODE: "takes KV cache"}.get(share.role)
    number = f" {share.number}" if share.planned.worker.replicas > 1 else ""
    return Worker(
        name=f"{_ROLES[share.role]}{number}",
        role=share.role,
        gpus=share.gpus,
        facts=tuple(facts),
        hands=hands if _moves(graph) else None,
    )


def _moves(graph: GraphPlan) -> bool:
    return graph.target.disaggregated and bool(graph.target.gpu_models)


def _stays(graph: GraphPlan) -> bool:
    return graph.transport in _IN_A_NODE


def _band(graph: GraphPlan, beside: Sequence[GraphPlan]) -> KvBand:
    path: KvPath = graph.kv_path
    of = f" ({graph.name})" if len(beside) > 1 else ""
    return KvBand(
        words=f"{_KV[path.transport]}{of}", sentence=path.sentence, slow=path.slow or path.unverified
    )


def described(drawn: Topology) -> str:
    """The drawing as sentences, for those who do not see it."""
    sentences = [f"Clients use the {drawn.entry[0]}, {drawn.entry[1]}."]
    for frontend in drawn.frontends:
        pool = drawn.pools[frontend.pool]
        sentences.append(f"{', '.join(frontend.facts)}; its workers are on {pool.name}.")
    for pool in drawn.pools:
        sentences.append(f"{pool.name}: {'; '.join(pool.facts)}.")
        for node in pool.nodes:
            if node.workers:
                names = Counter(f"{worker.name} ({worker.gpus} GPUs)" for worker in node.workers)
                sentences.append(f"{node.name}: {', '.join(names)}; {node.free} GPUs free.")
        empty = sum(not node.workers for node in pool.nodes)
        if empty:
            sentences.append(f"{empty} nodes have no worker.")
        if pool.more:
            sentences.append(f"{pool.more}.")
        sentences += [f"{band.sentence}." for node in pool.nodes[:1] for band in node.kv]
        sentences += [f"{band.sentence}." for band in pool.kv]
    sentences.append(
        f"{drawn.cache[0]}: {', '.join(drawn.cache[1:])}; filled from {', '.join(drawn.source)}."
    )
    return " ".join(sentences)
