"""A target with a user's knobs and pool applied: everything that graphs/ needs to render one graph. Pure."""

from dataclasses import dataclass, replace

from targets.catalogue import Engine, Role, Target, Worker
from targets.hardware import InstanceType
from targets.knobs import GraphKnobs, ImageKnobs, RoleKnobs
from targets.releases import Version

PUBLISHED_REPOSITORY = {
    Engine.VLLM: "nvcr.io/nvidia/ai-dynamo/vllm-runtime",
    Engine.SGLANG: "nvcr.io/nvidia/ai-dynamo/sglang-runtime",
    Engine.TRTLLM: "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime",
}


class Refusal(ValueError):
    """What was asked for cannot work; the message names the key, the value and what is allowed."""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """The GPU nodes a graph may use."""

    instance: InstanceType
    nodes: int

    @property
    def gpus(self) -> int:
        """GPUs of all nodes."""
        return self.nodes * self.instance.gpus

    def __str__(self) -> str:
        return f"{self.nodes} × {self.instance.name} ({self.instance.gpus} × {self.instance.gpu} each)"


@dataclass(frozen=True, kw_only=True)
class WorkerPlan:
    """One role as it will run: the published worker with the user's values, and what only the user can say."""

    worker: Worker
    nodes: int
    extra_args: tuple[str, ...]
    env: dict[str, str]

    @property
    def role(self) -> Role:
        """The worker's role."""
        return self.worker.role

    @property
    def gpus(self) -> int:
        """GPUs of all replicas."""
        return self.worker.replicas * self.worker.gpus


@dataclass(frozen=True, kw_only=True)
class GraphPlan:
    """One graph, resolved."""

    name: str
    target: Target
    version: Version
    image: str
    image_knobs: ImageKnobs
    router_mode: str
    knobs: GraphKnobs
    workers: tuple[WorkerPlan, ...]
    pool: Pool
    transport: str

    @property
    def gpus(self) -> int:
        """GPUs of all workers."""
        return sum(worker.gpus for worker in self.workers)


def resolve(target: Target, knobs: GraphKnobs, pool: Pool) -> GraphPlan:
    """Apply the knobs to the target. Raises Refusal for knobs of a role that the target does not have."""
    roles = {worker.role for worker in target.workers}
    for role in Role:
        if role not in roles and getattr(knobs, role.value) != RoleKnobs():
            raise Refusal(
                f"graph.{role}: target {target.name} has no such role; its roles are "
                + ", ".join(sorted(str(own) for own in roles))
            )
    workers = tuple(_worker(worker, getattr(knobs, worker.role.value)) for worker in target.workers)
    fits_one_node = sum(worker.gpus for worker in workers) <= pool.instance.gpus
    return GraphPlan(
        name=knobs.name or target.graph,
        target=target,
        version=Version.parse(knobs.dynamo_version),
        image=_image(target.engine, knobs),
        image_knobs=knobs.image,
        router_mode=knobs.frontend.router_mode or target.router_mode,
        knobs=knobs,
        workers=workers,
        pool=pool,
        transport=knobs.transport or ("node" if fits_one_node else "efa"),
    )


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
        worker=replace(published, **said), nodes=knobs.nodes, extra_args=knobs.extra_args, env=dict(knobs.env)
    )


def _image(engine: Engine, knobs: GraphKnobs) -> str:
    repository = knobs.image.repository or PUBLISHED_REPOSITORY[engine]
    if knobs.image.digest:
        return f"{repository}@{knobs.image.digest}"
    return f"{repository}:{knobs.image.tag or knobs.dynamo_version}"
