"""A changed worker comes up where its predecessor was, and a pod that is to end may finish its answers."""

import math
from dataclasses import dataclass
from typing import Any

import pytest

from manifests.graph.deployment import graph_deployment
from manifests.graph.rolling import rounds
from stacks.load import parse
from stacks.rules.graphs import knob_problems
from stacks.settings import ConfigError
from targets.catalogue import TARGETS
from targets.transport import Transport
from tests.manifests.graphs import components
from tests.plans import apart, every, resolved

SURGE = "nvidia.com/deployment-rolling-update-max-surge"
UNAVAILABLE = "nvidia.com/deployment-rolling-update-max-unavailable"
PUBLISHED = [name for name in TARGETS if TARGETS[name].gpu_models]
OPERATORS_OWN = {SURGE: "25%", UNAVAILABLE: "25%"}


def pod_annotations(component: dict[str, Any]) -> dict[str, str]:
    metadata = component.get("extraPodMetadata") or component.get("podTemplate", {}).get("metadata", {})
    return dict(metadata.get("annotations", {}))


@pytest.mark.parametrize("name", every())
def test_every_worker_says_on_its_pods_how_it_is_replaced(name: str) -> None:
    for component, (service, _, _) in components(graph_deployment(every()[name], "dynamo")).items():
        said = pod_annotations(service)
        assert (said.get(SURGE) == "0") == (component != "Frontend")
        assert (said.get(UNAVAILABLE) in ("1", "4", "100%")) == (component != "Frontend")


@dataclass
class Role:
    """Workers of one role while they are replaced; those that were there hold their GPUs."""

    gpus: int
    desired: int
    old: int
    new: int = 0
    running: int = 0


def roll(target: str, said: dict[str, dict[str, str]], spare: int = 0) -> tuple[list[Role], list[str]]:
    """The operator's arithmetic of a rolling update (resolveRollingUpdateParams, buildRollingUpdateContext), until it
    stands still, on a pool that is full but for `spare` GPUs. Also: which roles had new workers and old partners.
    """
    workers = {worker.role.value: worker for worker in TARGETS[target].workers}
    roles = {name: Role(worker.gpus, worker.replicas, worker.replicas) for name, worker in workers.items()}
    mixed: list[str] = []
    for _ in range(50):
        for name, role in roles.items():
            surge = math.ceil(share(said[name][SURGE], role.desired))
            missing = math.floor(share(said[name][UNAVAILABLE], role.desired))
            surge = 1 if surge == missing == 0 else surge
            least = role.desired - missing
            down = max(0, role.old + role.new - least - (role.new - role.running))
            surplus = max(0, role.old + role.running - least)
            up = max(0, role.desired + surge - role.old - role.new)
            role.old, role.new = max(0, role.old - min(down, surplus)), min(role.desired, role.new + up)
        for role in roles.values():
            free = spare - sum(r.gpus * (r.old + r.running - r.desired) for r in roles.values())
            role.running = min(role.new, role.running + free // role.gpus)
        mixed += [
            name
            for name, role in roles.items()
            if role.running and any(other.old and not other.running for other in roles.values())
        ]
    return list(roles.values()), mixed


def share(text: str, desired: int) -> float:
    """Workers that a percentage or a number means."""
    return float(text.removesuffix("%")) / 100 * desired if text.endswith("%") else float(text)


def said_by(target: str) -> dict[str, dict[str, str]]:
    graph = apart(target)
    found = components(graph_deployment(graph, "dynamo"))
    names = [name for name in found if name != "Frontend"]
    return {
        planned.role.value: pod_annotations(found[name][0])
        for planned, name in zip(graph.workers, names, strict=True)
    }


@pytest.mark.parametrize("target", PUBLISHED)
def test_a_change_comes_through_on_a_full_pool(target: str) -> None:
    roles, mixed = roll(target, said_by(target))
    assert all((role.old, role.running) == (0, role.desired) for role in roles)
    assert not mixed, "prefill and decode of two generations do not see each other"


def test_the_operators_own_numbers_do_not_come_through() -> None:
    own = dict.fromkeys(("prefill", "decode"), OPERATORS_OWN)
    assert all(role.running == 0 for role in roll("trtllm-disagg-b200", own)[0]), "it waits for ever"
    # Three GPUs are free beside 1 + 4: enough for a new prefill worker, never for a new decode worker.
    prefill, decode = roll("trtllm-disagg-8k", own, spare=3)[0]
    assert (prefill.old, prefill.running, decode.old, decode.running) == (0, 1, 1, 0)
    assert roll("trtllm-disagg-8k", said_by("trtllm-disagg-8k"), spare=3)[1] == []


def test_aggregated_workers_go_by_halves() -> None:
    assert {each[UNAVAILABLE] for each in said_by("vllm-agg-agentic-b200").values()} == {"4"}
    assert {each[UNAVAILABLE] for each in said_by("vllm-disagg-agentic-b200").values()} == {"100%"}
    assert {each[UNAVAILABLE] for each in said_by("trtllm-agg-gb200").values()} == {"1"}
    assert rounds(apart("vllm-agg-agentic-b200")) == 2
    assert rounds(apart("vllm-disagg-agentic-b200")) == 1
    assert rounds(apart("trtllm-agg-gb200", pool={"nodes": 3}, graph={"worker": {"replicas": 3}})) == 3


@pytest.mark.parametrize("target", ["vllm-agg-agentic-b200", "trtllm-agg-gb200", "trtllm-disagg-b200"])
def test_scaling_restarts_no_worker(target: str) -> None:
    """The operator takes every other difference of a worker for a new generation."""

    def worker(replicas: int) -> dict[str, Any]:
        role = TARGETS[target].workers[-1].role.value
        graph = apart(
            target,
            pool={"nodes": 4},
            graph={
                role: {"replicas": replicas},
                "dynamoVersion": "1.4.2",
                "transport": "efa",
                "kvTransfer": {"grants": "capabilities"},
            },
        )
        *_, (found, _, _) = components(graph_deployment(graph, "dynamo")).values()
        return {key: value for key, value in found.items() if key != "replicas"}

    assert worker(1) == worker(2)


def surging(target: str, **values: Any) -> dict[str, Any]:
    return {"target": target, "cluster": {"kind": "existing"}, "graph": {"surge": True}, **values}


def test_surge_brings_the_new_workers_first_where_there_is_room() -> None:
    found = parse(surging("trtllm-agg-gb200", pool={"nodes": 2}), set()).main
    (worker,) = [
        service
        for name, (service, _, _) in components(graph_deployment(found, "dynamo")).items()
        if name != "Frontend"
    ]
    assert pod_annotations(worker) | {SURGE: "100%", UNAVAILABLE: "0"} == pod_annotations(worker)


@pytest.mark.parametrize(
    ("stack", "message"),
    [
        (
            surging("trtllm-agg-gb200"),
            "graph.surge: true needs room for every worker twice, 8 GPUs with all that else runs there, but the pool "
            "has 4 (1 × p6e-gb200.36xlarge (4 × GB200 each)); raise pool.nodes, or leave it out",
        ),
        (
            surging("trtllm-disagg-b200", pool={"nodes": 2}),
            "graph.surge: true, but the workers of gpt-oss-disagg are one pod, beside which nobody has tried a second; "
            "leave it out, or put the changed graph beside this one (graphs) until it answers",
        ),
        (
            surging("trtllm-disagg-b200", pool={"nodes": 2}, graph={"surge": True, "transport": "node"}),
            "graph.surge: true, but target trtllm-disagg-b200 has prefill and decode workers, which the operator "
            "replaces each at its own pace: until both are new, requests find no partner; leave it out, or put the "
            "changed graph beside this one (graphs) until it answers",
        ),
        (
            surging("trtllm-agg-gb200", pool={"nodes": 2}, platform={"grove": "external"}),
            "graph.surge: true, but with platform.grove 'external' Grove replaces one worker after the other and adds "
            "none; leave it out",
        ),
    ],
)
def test_surge_that_cannot_be_is_refused(stack: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(stack, set())
    assert str(refused.value).splitlines() == [f"dynamo-gpt-oss:{message}"]


def test_a_pod_may_finish_its_answers() -> None:
    for version, waits in (("1.2.1", None), ("1.3.1", "590"), ("1.6.1", "590")):
        graph = apart(
            "vllm-disagg-h100", graph={"dynamoVersion": version, "terminationGracePeriodSeconds": 600}
        )
        found = components(graph_deployment(graph, "dynamo"))
        assert {pod["terminationGracePeriodSeconds"] for _, pod, _ in found.values()} == {600}
        env = {each["name"]: each["value"] for each in found["Frontend"][2]["env"]}
        assert env.get("DYN_HTTP_GRACEFUL_SHUTDOWN_TIMEOUT_SECS") == waits


def test_a_lost_workers_requests_go_on_elsewhere_where_the_frontend_can() -> None:
    for version, limit in (("0.4.1", False), ("1.0.2", True), ("1.6.1", True)):
        graph = apart("vllm-disagg-h100", graph={"dynamoVersion": version})
        args = components(graph_deployment(graph, "dynamo"))["Frontend"][2]["args"]
        assert ("--migration-limit" in args) is limit


@pytest.mark.parametrize("transport", Transport)
@pytest.mark.parametrize("release", ["1.2.1", "1.4.2"])
def test_workers_drain_no_longer_than_their_pod_lives(transport: Transport, release: str) -> None:
    """Over any transport: the runtime's own time, from 1.3 on, is longer than the pod's."""
    nvlink = transport is Transport.NVLINK
    efa = transport is Transport.EFA
    nodes = "p6e-gb200.36xlarge" if nvlink else "p6-b200.48xlarge"
    made = resolved("trtllm-disagg-8k", nodes, 2, efa=efa, transport=transport, dynamoVersion=release)
    assert knob_problems(made) == []
    drains = []
    for component, (service, _, _) in components(graph_deployment(made, "dynamo")).items():
        pod = service.get("extraPodSpec") or service["podTemplate"]["spec"]
        main = pod.get("mainContainer") or pod["containers"][0]
        env = {each["name"]: each["value"] for each in main["env"]}
        if component != "Frontend":
            drains.append(env.get("DYN_RUNTIME_GRACEFUL_SHUTDOWN_TIMEOUT_SECS"))
    grace = made.operation.termination_grace_period_seconds
    assert set(drains) == ({str(grace - 10)} if release == "1.4.2" else {None})
