"""What a resolved graph is made of beside its workers' pool and image. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from facts.engines import Role
from facts.releases import Version
from targets.observability import Observability
from targets.target import PublishedWorker
from targets.transport import Transport


@dataclass(frozen=True, kw_only=True)
class WorkerPlan:
    """One role as it will run: the published worker with the user's values, and what only the user can say."""

    worker: PublishedWorker
    nodes: int
    extra_args: tuple[str, ...]
    env: dict[str, str]
    position: int = 0
    """Of one worker among all of its pod: those that share an address must not share a port."""
    least: int | None = None
    """Replicas that the stack says itself, None where they are the published ones."""
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
class FrontendPlan:
    """The OpenAI-compatible frontend, and how requests find workers."""

    replicas: int
    router_mode: str
    extra_args: tuple[str, ...]
    env: Mapping[str, str]
    inference_extension: bool
    """Whether a Gateway routes to the workers through an endpoint picker."""


@dataclass(frozen=True, kw_only=True)
class Handover:
    """How prefill and decode workers hand requests and KV cache over."""

    transport: Transport
    chosen: bool
    """Whether the stack names the transport; otherwise it is the fastest known way."""
    backend: str | None
    """NIXL's backend over EFA, None where the stack names none."""
    grants: str | None
    """What workers may do, as `kvTransfer.grants` has it; None for the transport's own."""
    rdma_resource: str
    """Resource of which a worker asks for one a GPU over RDMA."""
    strategy: str | None
    """Which of the two gets requests first; None where the frontend talks to both."""
    beside: tuple[int, ...] = ()
    """GPUs of each worker pod of the pool's other graphs."""


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
class Operation:
    """How a graph is run and watched."""

    platform: Version
    """Version of the operator that runs it."""
    surge: bool
    """Whether changed workers come beside the old ones."""
    termination_grace_period_seconds: int
    log_level: str
    observability: Observability
    planner: Planner | None
    """Dynamo's Planner in the graph, None where it is not the autoscaler."""


@dataclass(frozen=True, kw_only=True)
class Unused:
    """What a stack says of a graph that can have none of it."""

    roles: tuple[Role, ...] = ()
    """Roles that the target lacks."""
    strategy: str | None = None
    """A disaggregation strategy where the frontend decides."""
    draft_revision: str | None = None
    """A commit of the draft model where there is none."""
