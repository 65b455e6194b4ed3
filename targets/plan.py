"""One graph, resolved: everything that manifests/ needs to render it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations, product

from facts.engines import Role
from facts.hardware import Gpu
from facts.releases import RUNTIME_VERSION_SAID_SINCE, Version
from facts.weights import CacheUse, Weights, room_gib
from targets.images import ImagePlan
from targets.parts import FrontendPlan, Handover, Operation, Unused, WorkerPlan
from targets.pool import Pool
from targets.target import Target
from targets.transport import KV_PATHS, NO_KV_PATH, KvPath, Transport


@dataclass(frozen=True, kw_only=True)
class GraphPlan:
    """One graph, resolved; nothing of it is what a stack asked for, but what became of that."""

    key: str
    """Where its settings stand in the stack's config, for messages."""
    name: str
    """Of its DynamoGraphDeployment."""
    target: Target
    """The published system that it is."""
    version: Version
    """Its Dynamo release, which decides flags and fields; the image's own may be another build of it."""
    image: ImagePlan
    """What its pods run."""
    frontend: FrontendPlan
    """What answers HTTP and routes to the workers."""
    workers: tuple[WorkerPlan, ...]
    """One entry a role, with how many workers of it."""
    pool: Pool
    """The GPU nodes that its workers run on."""
    handover: Handover
    """How KV cache comes from prefill to decode."""
    cache: CacheUse
    """Where the weights are, and how pods get them."""
    operation: Operation
    """What holds of all of its pods."""
    unused: Unused
    """What its stack said and the target has no use for, for refusals."""

    @property
    def transport(self) -> Transport:
        """How KV cache travels."""
        return self.handover.transport

    @property
    def says_runtime_version(self) -> bool:
        """Whether the operator reads the Dynamo version of an image from the graph; earlier ones refuse the field."""
        return self.operation.platform >= RUNTIME_VERSION_SAID_SINCE

    @property
    def gpus(self) -> int:
        """GPUs of all workers."""
        return sum(worker.gpus for worker in self.workers)

    @property
    def autoscaled(self) -> tuple[WorkerPlan, ...]:
        """The roles whose number of workers an autoscaler decides."""
        return tuple(planned for planned in self.workers if planned.max_replicas is not None)

    @property
    def at_most(self) -> "GraphPlan":
        """The graph with as many workers as it may ever have, which is what its pool must have room for."""
        return replace(self, workers=tuple(planned.at_most for planned in self.workers))

    @property
    def on_one_node(self) -> bool:
        """Whether its workers are pods of their own that are kept together on one node, to hand KV cache over there."""
        return self.transport is Transport.NODE and self.target.disaggregated

    @property
    def in_one_pod(self) -> bool:
        """Whether its workers are processes of one pod, to hand KV cache over NVLink."""
        return self.transport is Transport.POD and self.target.disaggregated

    @property
    def pod_roles(self) -> tuple[str, ...]:
        """What its worker pods are called: their roles, or `worker` for one pod with workers of all roles."""
        if self.in_one_pod:
            return (Role.WORKER.value,)
        return tuple(planned.role.value for planned in self.workers)

    @property
    def kv_path(self) -> KvPath:
        """The way that KV cache takes between its workers, and whether it is slow."""
        moves = self.target.disaggregated and self.target.gpu_models
        return KV_PATHS[self.transport] if moves else NO_KV_PATH

    @property
    def gpu_pods(self) -> tuple[tuple[Role, int], ...]:
        """Role and GPUs of each worker pod with GPUs that it may ever have: one for each node of each worker."""
        if self.in_one_pod:
            return ((Role.WORKER, self.gpus),)
        return tuple(
            (planned.role, planned.worker.gpus // planned.nodes)
            for planned in self.at_most.workers
            for _ in range(planned.worker.replicas * planned.nodes)
            if planned.worker.gpus
        )

    @property
    def pods_share_nodes(self) -> bool:
        """Whether a node that has one of its worker pods may have another pod's GPUs too, of this graph or another.

        Over EFA prefill and decode of one graph keep off each other's nodes.
        """
        own = (
            (one, other)
            for (role, one), (of, other) in combinations(self.gpu_pods, 2)
            if role is of or not self.uses_efa
        )
        beside = product((gpus for _, gpus in self.gpu_pods), self.handover.beside)
        return any(one + other <= self.pool.instance.gpus for one, other in (*own, *beside))

    @property
    def grants(self) -> str:
        """What workers may do: none, capabilities or privileged, as `kvTransfer.grants` has it.

        A privileged container sees every GPU of its node, those of the pod beside it too (k8s-device-plugin#336), and
        takes the first of them: so where pods may stand beside each other, those of the pool's other graphs included,
        workers get capabilities, which a second one changes for the first.
        """
        if not self.target.disaggregated or not self.target.gpu_models:
            return "none"
        over_efa = "capabilities" if self.pods_share_nodes else "privileged"
        with_capabilities = dict.fromkeys((Transport.RDMA, Transport.NODE), "capabilities")
        usual = {Transport.EFA: over_efa, **with_capabilities}.get(self.transport, "none")
        return self.handover.grants or usual

    @property
    def fills_a_node(self) -> bool:
        """Whether its workers, kept on one node, take more than half of it: two such graphs can never share one.

        Half of each on a node would leave both waiting for ever for the rest of it.
        """
        return self.on_one_node and self.at_most.gpus * 2 > self.pool.instance.gpus

    @property
    def uses_efa(self) -> bool:
        """Whether KV cache travels over EFA; aggregated workers hand none over."""
        return self.transport is Transport.EFA and self.target.disaggregated

    @property
    def runs_as_root(self) -> bool:
        """Whether the image of its release runs its workers as root alone."""
        return self.version < self.target.releases.unprivileged_since

    @property
    def reuses_kv_blocks(self) -> bool:
        """Whether workers keep a prompt's KV blocks for the next prompt that begins alike."""
        files = (planned.worker.engine_file for planned in self.workers)
        return all(file.get("kv_cache_config", {}).get("enable_block_reuse", True) for file in files)

    @property
    def needs_compute_domain(self) -> bool:
        """Whether workers want a channel of a ComputeDomain; on GB200 NCCL fails to load a model without one."""
        return self.target.pods.compute_domain or self.pool.instance.gpu is Gpu.GB200

    @property
    def copied_weights(self) -> tuple[Weights, ...]:
        """The models that every worker pod copies to its node; none for workers that load no weights."""
        return tuple(each for each in self.cache.weights if self.cache.local_copy and not each.tokenizer_only)

    @property
    def copy_gib(self) -> int:
        """GiB of disk that a worker pod's copy is given."""
        return room_gib(self.copied_weights)


def all_weights(plans: Iterable[GraphPlan]) -> tuple[Weights, ...]:
    """What the graphs' pods read together, each model once; whole where one graph needs it whole."""
    found = dict.fromkeys(weights for plan in plans for weights in plan.cache.weights)
    return tuple(w for w in found if not (w.tokenizer_only and replace(w, tokenizer_only=False) in found))
