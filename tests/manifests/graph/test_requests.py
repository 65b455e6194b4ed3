"""What pods ask for, and whether nodes have it."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
import yaml

from facts.hardware import INSTANCE_TYPES, InstanceType
from facts.weights import WEIGHTS_GB
from manifests.graph.deployment import graph_deployment
from manifests.graph.requests import of_worker
from manifests.graph.workers import worker_command
from ops.pulumi.stack_file import StackFile
from stacks.cost import cpu_instance
from stacks.load import from_text
from stacks.sections.cluster import NewEksClusterSettings
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from targets.pool import Pool
from targets.target import Target
from tests.manifests.graphs import components
from tests.plans import apart, every, resolved
from tests.project import PROJECT

STACKS = sorted(path.name.split(".")[1] for path in PROJECT.glob("Pulumi.*.yaml"))
CPU_SHARE, MEMORY_SHARE = 0.95, 0.97
"""What the kubelet leaves of a node for pods; EKS's own figures leave more on each type here."""
BESIDE_FRONTENDS = {"cpu": 8 + 2 + 1 + 2, "gib": 16 + 8 + 1 + 6}
"""The benchmark, the download, the profiler, and the operator with its like: on CPU nodes, never all at a time."""


def requests(plan: GraphPlan) -> dict[str, dict[str, str]]:
    found = {}
    for name, (component, _, main) in components(graph_deployment(plan, "dynamo")).items():
        resources = component.get("resources") or main.get("resources") or {}
        found[name] = dict(resources.get("requests", {}))
    return found


def figures(said: dict[str, str]) -> Counter[str]:
    return Counter(cpu=int(said.get("cpu", "0")), gib=int(said["memory"].removesuffix("Gi")))


def sum_of_workers(plan: GraphPlan) -> Counter[str]:
    """Of all of a graph's worker pods."""
    by_name = {name: said for name, said in requests(plan).items() if name != "Frontend"}
    total: Counter[str] = Counter()
    for planned, said in zip(plan.at_most.workers, by_name.values(), strict=False):
        for _ in range(planned.worker.replicas * planned.nodes):
            total += figures(said)
    return total


def room(instance: InstanceType, nodes: int) -> Counter[str]:
    return Counter(
        cpu=int(instance.vcpus * CPU_SHARE) * nodes, gib=int(instance.memory_gib * MEMORY_SHARE) * nodes
    )


def fits(pods: Iterable[Counter[str]], instance: InstanceType, nodes: int) -> bool:
    total = sum(pods, Counter[str]())
    return total <= room(instance, nodes)


@pytest.mark.parametrize("stack", STACKS)
def test_every_stacks_nodes_hold_what_its_pods_ask_for(stack: str) -> None:
    file = StackFile.load(PROJECT, stack)
    settings = from_text(file.config, set(file.secret_keys))
    plans = settings.graphs
    for pool in {plan.pool for plan in plans}:
        on_it = [plan for plan in plans if plan.pool == pool]
        assert fits(map(sum_of_workers, on_it), pool.instance, pool.nodes)
        assert all(fits([sum_of_workers(p)], pool.instance, 1) for p in on_it if p.on_one_node)
    if isinstance(settings.cluster, NewEksClusterSettings):
        frontends = [
            figures(requests(plan)["Frontend"]) for plan in plans for _ in range(plan.frontend.replicas)
        ]
        nodes = settings.cluster.cpu_size
        assert fits([*frontends, Counter(BESIDE_FRONTENDS)], cpu_instance(settings), nodes)


@pytest.mark.parametrize("target", [name for name in TARGETS if TARGETS[name].gpu_models])
def test_a_node_whose_gpus_are_taken_has_cpu_and_memory_for_them(target: str) -> None:
    published = TARGETS[target]
    for instance in INSTANCE_TYPES.values():
        fitting = instance.gpu in published.gpu_models and instance.arch in published.archs
        if not fitting or instance.gpus < max(worker.gpus for worker in published.workers):
            continue
        plan = resolved(published, instance, 64)
        for name, said in requests(plan).items():
            if name != "Frontend":
                gpus = int(said.get("nvidia.com/gpu") or said["gpu"])
                assert fits([figures(said)] * (instance.gpus // gpus), instance, 1), (instance.name, name)


@pytest.mark.parametrize("name", every())
def test_every_worker_asks_for_cpu_and_for_the_memory_of_its_weights(name: str) -> None:
    plan = every()[name]
    gib = 0 if not plan.gpus else sum(WEIGHTS_GB[each.model] for each in plan.cache.weights) * 1e9 / 2**30
    for said in requests(plan).values():
        assert int(said["cpu"]) >= 1
        assert int(said["memory"].removesuffix("Gi")) >= (gib if "gpu" in str(said) else 1)


def test_kv_cache_in_host_memory_is_asked_for() -> None:
    """8×H100, TP4: each worker's GPUs hold about 226 GiB of KV cache beside the weights."""
    over_tcp = apart(
        "vllm-disagg-h100", pool={"nodes": 2}, graph={"transport": "tcp", "dynamoVersion": "1.4.2"}
    )
    staged = requests(over_tcp)["VllmDecodeWorker"]
    over_efa = requests(every()["vllm-disagg-h100-1.4.2-efa"])["VllmDecodeWorker"]
    assert figures(staged)["gib"] - figures(over_efa)["gib"] == 226


def test_the_shipped_production_stack_has_two_frontends() -> None:
    config: dict[str, Any] = yaml.safe_load((PROJECT / "Pulumi.prod.yaml").read_text())["config"]
    assert config["dynamo-gpt-oss:graph"]["frontend"]["replicas"] == 2


ON_THEIR_NODES = [
    (target, instance)
    for target in TARGETS.values()
    for instance in INSTANCE_TYPES.values()
    if target.gpu_models and instance.gpu in target.gpu_models and instance.arch in target.archs
]


@pytest.mark.parametrize(
    ("target", "instance"),
    ON_THEIR_NODES,
    ids=[f"{target.name}-{instance.name}" for target, instance in ON_THEIR_NODES],
)
@pytest.mark.parametrize("transport", ["pod", "node", "efa", "rdma", "tcp"])
def test_whoever_fills_a_nodes_gpus_finds_cpus_and_memory_for_them(
    target: Target, instance: InstanceType, transport: str
) -> None:
    """So graphs that share nodes are counted by GPUs alone: no worker takes more of a node than its share of GPUs."""
    has = room(instance, 1)
    for parallel in (1, 2, 4, 8):
        role = {"tensorParallel": parallel, "freeGpuMemoryFraction": 0.95}
        said: dict[str, Any] = {worker.role.value: role for worker in target.workers}
        pool = Pool(instance=instance, nodes=16, efa=transport == "efa")
        plan = resolved(target, pool=pool, transport=transport, **said)
        for planned in plan.workers:
            asks = figures(of_worker(plan, planned, worker_command(plan, planned)))
            share = planned.worker.gpus / instance.gpus
            assert asks["cpu"] <= has["cpu"] * share, (planned.role, parallel)
            assert asks["gib"] <= has["gib"] * share, (planned.role, parallel)
