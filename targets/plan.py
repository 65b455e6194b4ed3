"""A target with a user's knobs and pool applied: everything that graphs/ needs to render one graph. Pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations, product

from targets.catalogue import (
    DRAFT_MODEL_ID,
    MODEL_ID,
    MODEL_REVISION,
    WEIGHTS_GB,
    Engine,
    Role,
    Target,
    Worker,
)  # fmt: skip
from targets.errors import UserError
from targets.hardware import Gpu, InstanceType
from targets.knobs import MAIN_POOL, GraphKnobs, ImageKnobs, RoleKnobs, Toleration
from targets.observability import METRICS_ALONE, Observability
from targets.releases import EFA_IMAGES_SINCE, RUNTIME_VERSION_SAID_SINCE, Version, efa_tag
from targets.transport import KV_PATHS, NO_KV_PATH, POD_SINCE, KvPath, Transport
from targets.transport import default as default_transport

_REGISTRY = "nvcr.io/nvidia/ai-dynamo"
_REPOSITORY = {
    Engine.VLLM: f"{_REGISTRY}/vllm-runtime",
    Engine.SGLANG: f"{_REGISTRY}/sglang-runtime",
    Engine.TRTLLM: f"{_REGISTRY}/tensorrtllm-runtime",
}
ENDPOINT_PICKER_REPOSITORY = f"{_REGISTRY}/dynamo-frontend"
"""Its entry point is the endpoint picker; runtime images do not hold it."""
PLANNER_REPOSITORY = f"{_REGISTRY}/dynamo-planner"
"""Holds the Planner and the profiler; the engines' images lack what they import."""
_MOCKER_REPOSITORY, _MOCKER_REPOSITORY_SINCE = PLANNER_REPOSITORY, Version(1, 3)
"""There is no image of the mocker's own; this one is the smallest that holds it. Earlier releases: vLLM's."""


class Refusal(UserError, ValueError):
    """What was asked for cannot work; the message names the key, the value and what is allowed."""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """The nodes a graph's workers may use. key: where it stands in the stack's config, for messages.

    name: unique in the stack. alike: names of the stack's other pools with GPUs of the same model, which the GPU's
    label does not tell it from. runs: whether it has nodes now; graphs are not deployed onto one that has none.
    efa: whether its nodes have the EFA devices of their instance type, as AWS's have.
    """

    instance: InstanceType
    nodes: int
    key: str = "pool"
    name: str = MAIN_POOL
    alike: tuple[str, ...] = ()
    runs: bool = True
    node_selector: tuple[tuple[str, str], ...] = ()
    """Further labels of its nodes, key and value."""
    tolerations: tuple[Toleration, ...] = ()
    """Its nodes' taints beside that of GPUs."""
    gpu_product: str | None = None
    """What its nodes' GPU product label says, None where it is GPU Feature Discovery's."""
    efa: bool = True

    @property
    def gpus(self) -> int:
        """GPUs of all nodes."""
        return self.nodes * self.instance.gpus

    def __str__(self) -> str:
        return f"{self.nodes} × {self.instance.name} ({self.instance.gpus} × {self.instance.gpu} each)"


@dataclass(frozen=True, kw_only=True)
class Weights:
    """A Hugging Face model in the cache. revision: a commit, or `main` where none is pinned.

    tokenizer_only: whether everything but the weights themselves is enough.
    """

    model: str
    revision: str
    tokenizer_only: bool = False


@dataclass(frozen=True, kw_only=True)
class WorkerPlan:
    """One role as it will run: the published worker with the user's values, and what only the user can say."""

    worker: Worker
    nodes: int
    extra_args: tuple[str, ...]
    env: dict[str, str]
    position: int = 0
    """Of one worker among all of its pod: those that share an address must not share a port."""
    max_replicas: int | None = None
    """Replicas that an autoscaler may go up to, None where the number is fixed."""

    @property
    def role(self) -> Role:
        """The worker's role."""
        return self.worker.role

    @property
    def gpus(self) -> int:
        """GPUs of all replicas."""
        return self.worker.replicas * self.worker.gpus

    @property
    def at_most(self) -> "WorkerPlan":
        """The role with as many replicas as it may ever have."""
        return replace(self, worker=replace(self.worker, replicas=self.max_replicas or self.worker.replicas))


@dataclass(frozen=True, kw_only=True)
class Planner:
    """Dynamo's Planner. optimization: what it scales for. ttft, itl: seconds that optimization `sla` holds.

    advisory: whether it only says what it would do.
    """

    optimization: str
    ttft: float
    itl: float
    advisory: bool


@dataclass(frozen=True, kw_only=True)
class GraphPlan:
    """One graph, resolved. key: where its knobs stand in the stack's config, for messages.

    platform: version of the operator that runs it.
    image: what its pods run; where the stack builds an image, the published one that is there meanwhile.
    inference_extension: whether a Gateway routes to its workers through an endpoint picker.
    cache_claim: claim of somebody's own that holds the weights, None for the stack's.
    local_copy: whether workers read the weights from a copy on their node's disks.
    from_bucket: whether every pod copies what it reads of the models from a bucket; no claim holds them then.
    """

    key: str
    name: str
    target: Target
    version: Version
    platform: Version
    image: str
    image_knobs: ImageKnobs
    router_mode: str
    knobs: GraphKnobs
    workers: tuple[WorkerPlan, ...]
    pool: Pool
    transport: Transport
    beside: tuple[int, ...] = ()
    """GPUs of each worker pod of the pool's other graphs."""
    inference_extension: bool = False
    local_copy: bool = False
    from_bucket: bool = False
    cache_claim: str | None = None
    planner: Planner | None = None
    """Dynamo's Planner in the graph, None where it is not the autoscaler."""
    observability: Observability = METRICS_ALONE

    @property
    def says_runtime_version(self) -> bool:
        """Whether the operator reads the Dynamo version of an image from the graph; earlier ones refuse the field."""
        return self.platform >= RUNTIME_VERSION_SAID_SINCE

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
        moves = self.target.disaggregated and self.target.gpus
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
        beside = product((gpus for _, gpus in self.gpu_pods), self.beside)
        return any(one + other <= self.pool.instance.gpus for one, other in (*own, *beside))

    @property
    def grants(self) -> str:
        """What workers may do: none, capabilities or privileged, as `kvTransfer.grants` has it.

        A privileged container sees every GPU of its node, those of the pod beside it too (k8s-device-plugin#336), and
        takes the first of them: so where pods may stand beside each other, those of the pool's other graphs included,
        workers get capabilities, which a second one changes for the first.
        """
        if not self.target.disaggregated or not self.target.gpus:
            return "none"
        over_efa = "capabilities" if self.pods_share_nodes else "privileged"
        with_capabilities = dict.fromkeys((Transport.RDMA, Transport.NODE), "capabilities")
        usual = {Transport.EFA: over_efa, **with_capabilities}.get(self.transport, "none")
        return self.knobs.kv_transfer.grants or usual

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
        return self.version < self.target.unprivileged_since

    @property
    def reuses_kv_blocks(self) -> bool:
        """Whether workers keep a prompt's KV blocks for the next prompt that begins alike."""
        files = (planned.worker.engine_file for planned in self.workers)
        return all(file.get("kv_cache_config", {}).get("enable_block_reuse", True) for file in files)

    @property
    def needs_compute_domain(self) -> bool:
        """Whether workers want a channel of a ComputeDomain; on GB200 NCCL fails to load a model without one."""
        return self.target.needs_compute_domain or self.pool.instance.gpu is Gpu.GB200

    @property
    def weights(self) -> tuple[Weights, ...]:
        """The models that the graph's pods read, the served one first."""
        served = Weights(
            model=MODEL_ID, revision=MODEL_REVISION, tokenizer_only=self.target.engine is Engine.MOCKER
        )
        if self.target.speculative_tokens is None:
            return (served,)
        return (served, Weights(model=DRAFT_MODEL_ID, revision=self.knobs.draft_revision or "main"))

    @property
    def copied_weights(self) -> tuple[Weights, ...]:
        """The models that every worker pod copies to its node; none for workers that load no weights."""
        return tuple(each for each in self.weights if self.local_copy and not each.tokenizer_only)

    @property
    def copy_gib(self) -> int:
        """GiB of disk that a worker pod's copy is given."""
        return room_gib(self.copied_weights)


def resolve(
    target: Target,
    knobs: GraphKnobs,
    pool: Pool,
    *,
    key: str = "graph",
    inference_extension: bool = False,
    local_copy: bool = False,
    from_bucket: bool = False,
    cache_claim: str | None = None,
    planner: Planner | None = None,
    platform: Version | None = None,
    observability: Observability = METRICS_ALONE,
) -> GraphPlan:
    """Apply the knobs to the target, whether or not that can work.

    platform: version of the operator, None for the graph's own.
    """
    workers = tuple(_worker(worker, getattr(knobs, worker.role.value)) for worker in target.workers)
    version = Version.parse(knobs.dynamo_version or target.dynamo_version)
    whole = all(worker.nodes == 1 for worker in workers)
    fits_one_node = whole and sum(worker.at_most.gpus for worker in workers) <= pool.instance.gpus
    transport = (
        Transport(knobs.transport)
        if knobs.transport
        else default_transport(
            one_node=fits_one_node or not target.gpus or not target.disaggregated,
            one_pod=_may_share_a_pod(target, workers, version) and not inference_extension,
            efa=pool.efa and pool.instance.efa_devices > 0,
        )
    )
    return GraphPlan(
        key=key,
        name=knobs.name or target.graph,
        target=target,
        version=version,
        platform=platform or version,
        image=_image(target, knobs.image, version, efa=transport is Transport.EFA),
        image_knobs=_image_knobs(target, knobs.image, version, pool),
        router_mode=knobs.frontend.router_mode or target.router_mode,
        knobs=knobs,
        workers=workers,
        pool=pool,
        transport=transport,
        inference_extension=inference_extension,
        local_copy=local_copy,
        from_bucket=from_bucket,
        cache_claim=cache_claim,
        planner=planner if any(worker.max_replicas for worker in workers) else None,
        observability=observability,
    )


def beside_each_other(plans: Iterable[GraphPlan]) -> tuple[GraphPlan, ...]:
    """The graphs of one stack, each knowing what pods the others have in its pool."""
    together = tuple(plans)
    return tuple(
        replace(
            plan,
            beside=tuple(
                gpus
                for other in together
                if other is not plan and other.pool == plan.pool
                for _, gpus in other.gpu_pods
            ),
        )
        for plan in together
    )


def _may_share_a_pod(target: Target, workers: Iterable[WorkerPlan], version: Version) -> bool:
    """Whether the workers may be processes of one pod: an autoscaler would have to scale them one by one."""
    return (
        target.disaggregated
        and bool(target.gpus)
        and version >= POD_SINCE
        and not any(planned.max_replicas for planned in workers)
    )


def all_weights(plans: Iterable[GraphPlan]) -> tuple[Weights, ...]:
    """What the graphs' pods read together, each model once; whole where one graph needs it whole."""
    found = dict.fromkeys(weights for plan in plans for weights in plan.weights)
    return tuple(w for w in found if not (w.tokenizer_only and replace(w, tokenizer_only=False) in found))


def gigabytes(weights: Iterable[Weights]) -> float:
    """GB (10⁹ bytes) of models; of tokenizers alone none."""
    return sum(WEIGHTS_GB[each.model] for each in weights if not each.tokenizer_only)


def room_gib(weights: Iterable[Weights]) -> int:
    """GiB of disk for models: a tenth more than they have."""
    return math.ceil(1.1 * gigabytes(weights) * 1e9 / 2**30)


def _image_knobs(target: Target, knobs: ImageKnobs, version: Version, pool: Pool) -> ImageKnobs:
    """What is known of an image without being said.

    One that the stack builds holds the pool's architecture alone, and its commit is of the graph's release, as is
    the target's own image.
    """
    known: dict[str, object] = {}
    if knobs.build is not None:
        known["archs"] = (pool.instance.arch.value,)
    of_target = target.image is not None and not (knobs.repository or knobs.tag or knobs.digest)
    if knobs.runtime_version is None and (knobs.build is not None or of_target):
        known["runtime_version"] = str(version)
    return knobs.model_copy(update=known)


def _worker(published: Worker, knobs: RoleKnobs) -> WorkerPlan:
    said = {
        name: getattr(knobs, name)
        for name in (
            "replicas", "tensor_parallel", "pipeline_parallel", "expert_parallel", "max_num_tokens",
            "max_batch_size", "max_seq_len", "free_gpu_memory_fraction", "chunked_prefill",
        )
        if getattr(knobs, name) is not None
    }  # fmt: skip
    return WorkerPlan(
        worker=replace(published, **said),
        nodes=knobs.nodes,
        extra_args=knobs.extra_args,
        env=dict(knobs.env),
        max_replicas=knobs.max_replicas,
    )


def _image(target: Target, knobs: ImageKnobs, version: Version, *, efa: bool) -> str:
    if target.image is not None and not knobs.repository:
        repository, _, tag = target.image.rpartition(":")
        return f"{repository}@{knobs.digest}" if knobs.digest else f"{repository}:{knobs.tag or tag}"
    repository = knobs.repository or _published_repository(target.engine, version)
    if knobs.digest:
        return f"{repository}@{knobs.digest}"
    # Only the image with EFA's libraries transfers over EFA; the others fall back to TCP without a word.
    over_efa = efa and target.disaggregated and not knobs.repository
    published = efa_tag(version) if over_efa and version >= EFA_IMAGES_SINCE else str(version)
    return f"{repository}:{knobs.tag or published}"


def _published_repository(engine: Engine, version: Version) -> str:
    if engine is Engine.MOCKER:
        return _MOCKER_REPOSITORY if version >= _MOCKER_REPOSITORY_SINCE else _REPOSITORY[Engine.VLLM]
    return _REPOSITORY[engine]
