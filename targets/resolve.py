"""A target with a user's knobs and pool applied, whether or not that can work. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from facts.engines import Engine, Role
from facts.releases import Version
from facts.weights import DRAFT_MODEL_ID, MODEL_ID, MODEL_REVISION, SHARED_CACHE, CacheUse, Weights
from targets.images import image_plan
from targets.knobs import GraphKnobs, RoleKnobs
from targets.observability import METRICS_ALONE, Observability
from targets.parts import FrontendPlan, Handover, Operation, Planner, Unused, WorkerPlan
from targets.plan import GraphPlan
from targets.pool import Pool
from targets.registration import PREFILL_FIRST, takes_strategy
from targets.target import PublishedWorker, Target
from targets.transport import POD_SINCE, Transport
from targets.transport import default as default_transport


def resolve(
    target: Target,
    knobs: GraphKnobs,
    pool: Pool,
    *,
    key: str = "graph",
    inference_extension: bool = False,
    cache: CacheUse = SHARED_CACHE,
    planner: Planner | None = None,
    platform: Version | None = None,
    observability: Observability = METRICS_ALONE,
) -> GraphPlan:
    """Apply the knobs to the target, whether or not that can work.

    platform: version of the operator, None for the graph's own.
    """
    workers = tuple(_worker(worker, knobs.of_role(worker.role)) for worker in target.workers)
    version = Version.parse(knobs.dynamo_version or target.releases.default)
    handover = _handover(target, knobs, pool, workers, one_by_one=inference_extension)
    return GraphPlan(
        key=key,
        name=knobs.name or target.graph,
        target=target,
        version=version,
        image=image_plan(target, knobs.image, version, pool, handover.transport),
        frontend=FrontendPlan(
            replicas=knobs.frontend.replicas,
            router_mode=knobs.frontend.router_mode or target.serving.router_mode,
            extra_args=knobs.frontend.extra_args,
            env=knobs.frontend.env,
            inference_extension=inference_extension,
        ),
        workers=workers,
        pool=pool,
        handover=handover,
        cache=replace(cache, weights=_weights(target, knobs)),
        operation=Operation(
            platform=platform or version,
            surge=knobs.surge,
            termination_grace_period_seconds=knobs.termination_grace_period_seconds,
            log_level=knobs.log_level,
            observability=observability,
            planner=planner if any(worker.max_replicas for worker in workers) else None,
        ),
        unused=_unused_knobs(target, knobs, version),
    )


def _handover(
    target: Target, knobs: GraphKnobs, pool: Pool, workers: Sequence[WorkerPlan], *, one_by_one: bool
) -> Handover:
    """one_by_one: whether something chooses among the workers' pods, so that they cannot be one."""
    version = Version.parse(knobs.dynamo_version or target.releases.default)
    whole = all(worker.nodes == 1 for worker in workers)
    fits_one_node = whole and sum(worker.at_most.gpus for worker in workers) <= pool.instance.gpus
    usual = default_transport(
        one_node=fits_one_node or not target.gpu_models or not target.disaggregated,
        one_pod=_may_share_a_pod(target, workers, version) and not one_by_one,
        efa=pool.efa and pool.instance.efa_devices > 0,
    )
    chained = takes_strategy(target, version)
    return Handover(
        transport=Transport(knobs.transport) if knobs.transport else usual,
        chosen=knobs.transport is not None,
        backend=knobs.kv_transfer.backend,
        grants=knobs.kv_transfer.grants,
        rdma_resource=knobs.kv_transfer.rdma_resource,
        strategy=(knobs.disaggregation_strategy or PREFILL_FIRST) if chained else None,
    )


def _weights(target: Target, knobs: GraphKnobs) -> tuple[Weights, ...]:
    """The models that the graph's pods read, the served one first."""
    served = Weights(model=MODEL_ID, revision=MODEL_REVISION, tokenizer_only=target.engine is Engine.MOCKER)
    if target.serving.speculative_tokens is None:
        return (served,)
    return (served, Weights(model=DRAFT_MODEL_ID, revision=knobs.draft_revision or "main"))


def _unused_knobs(target: Target, knobs: GraphKnobs, version: Version) -> Unused:
    own = {worker.role for worker in target.workers}
    return Unused(
        roles=tuple(role for role in Role if role not in own and knobs.of_role(role) != RoleKnobs()),
        strategy=None if takes_strategy(target, version) else knobs.disaggregation_strategy,
        draft_revision=None if target.serving.speculative_tokens else knobs.draft_revision,
    )


def beside_each_other(plans: Iterable[GraphPlan]) -> tuple[GraphPlan, ...]:
    """The graphs of one stack, each knowing what pods the others have in its pool."""
    together = tuple(plans)
    return tuple(
        replace(
            plan,
            handover=replace(
                plan.handover,
                beside=tuple(
                    gpus
                    for other in together
                    if other is not plan and other.pool == plan.pool
                    for _, gpus in other.gpu_pods
                ),
            ),
        )
        for plan in together
    )


def _may_share_a_pod(target: Target, workers: Iterable[WorkerPlan], version: Version) -> bool:
    """Whether the workers may be processes of one pod: an autoscaler would have to scale them one by one."""
    return (
        target.disaggregated
        and bool(target.gpu_models)
        and version >= POD_SINCE
        and not any(planned.max_replicas for planned in workers)
    )


def _worker(published: PublishedWorker, knobs: RoleKnobs) -> WorkerPlan:
    replicas = published.replicas if knobs.replicas is None else knobs.replicas
    return WorkerPlan(
        worker=replace(published, replicas=replicas, knobs=published.knobs.override(knobs)),
        nodes=knobs.nodes,
        extra_args=knobs.extra_args,
        env=dict(knobs.env),
        least=knobs.replicas,
        max_replicas=knobs.max_replicas,
    )
