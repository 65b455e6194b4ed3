"""What the Dynamo platform cannot be, for the graphs that it is to serve. Pure.

Sources: README and values of the `dynamo-platform` chart (1.0 to 1.6), Dynamo's release notes and the upstream issues
named beside each refusal.
"""

from collections.abc import Iterator, Sequence

from facts.releases import LATEST_PATCH
from targets.plan import GraphPlan
from targets.platform import (
    ETCD_NEEDED_BEFORE,
    NATS_NEEDED_BEFORE,
    ONE_CHART_SINCE,
    Addon,
    Discovery,
    Platform,
)

LABEL_LIMIT = 63
"""Characters of a label's value."""


def platform_problems(platform: Platform, plans: Sequence[GraphPlan], *, install: bool) -> Iterator[str]:
    """Why the platform cannot serve the graphs.

    install: whether the stack installs it; how an existing one was installed is not ours to judge.
    """
    for plan in plans:
        yield from _multinode(platform, plan)
        yield from _inference_extension(platform, plan)
    if install:
        yield from chart_problems(platform)
        yield from _services(platform, min(plans, key=lambda plan: plan.version))


def namespace_problems(plans: Sequence[GraphPlan], namespace: str) -> Iterator[str]:
    """Graphs that the operator would admit in that namespace and then never make.

    It puts `<namespace>-<graph>`, the name by which workers and frontend find each other, into a label.
    """
    room = max(LABEL_LIMIT - len(namespace) - 1, 0)
    for plan in plans:
        if len(plan.name) > room:
            yield (
                f"{plan.key}.name: {plan.name!r} has {len(plan.name)} characters, and cluster.namespace {namespace!r} "
                f"leaves room for {room} of them in a label that the operator writes; shorten one of the two"
            )


def chart_problems(platform: Platform) -> Iterator[str]:
    """Why the chart cannot be installed so, whatever the graphs are."""
    if platform.version < ONE_CHART_SINCE:
        yield (
            f"platform.version: {platform.version} cannot be installed: its CRDs are a second chart near Helm's size "
            "limit and its etcd image has left its registry (dynamo#2806, PR#6466); use "
            f"{LATEST_PATCH['1.0']} or newer, which runs earlier graphs too, or set platform.install to false"
        )
    if platform.discovery is Discovery.ETCD and not platform.etcd:
        yield "platform.etcd: false, but platform.discovery is 'etcd'; leave the key out or choose 'kubernetes'"


def _services(platform: Platform, oldest: GraphPlan) -> Iterator[str]:
    runtime = oldest.version
    if not platform.nats and runtime < NATS_NEEDED_BEFORE:
        yield (
            f"platform.nats: false, but graphs of Dynamo {runtime} send events over NATS; leave the key out or use "
            f"{oldest.key}.dynamoVersion {NATS_NEEDED_BEFORE} or newer"
        )
    if not platform.etcd and platform.discovery is not Discovery.ETCD and runtime < ETCD_NEEDED_BEFORE:
        yield (
            f"platform.etcd: false, but graphs of Dynamo {runtime} need etcd; leave the key out or use "
            f"{oldest.key}.dynamoVersion {ETCD_NEEDED_BEFORE} or newer"
        )


def _inference_extension(platform: Platform, plan: GraphPlan) -> Iterator[str]:
    """The endpoint picker knows a worker's pod by its id, which is made from the pod's name by one discovery alone."""
    if plan.frontend.inference_extension and platform.discovery is Discovery.ETCD:
        yield (
            "platform.discovery: 'etcd', under which the endpoint picker of ingress.inferenceExtension finds no pod of "
            "a worker; choose 'kubernetes'"
        )


def _multinode(platform: Platform, plan: GraphPlan) -> Iterator[str]:
    if platform.grove is not Addon.NONE or platform.leader_worker_set:
        return
    for planned in plan.workers:
        if planned.nodes > 1:
            yield (
                f"{plan.key}.{planned.role}.nodes: {planned.nodes} nodes for one worker need a multi-node scheduler; "
                "without one the operator starts no pod of the graph; set platform.grove to bundled or external, or "
                "platform.leaderWorkerSet to true if that is on the cluster"
            )
