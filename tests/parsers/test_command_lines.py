"""Every command line that manifests/ writes is taken by the argument parser of the release that will read it."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from facts.engines import LOADERS_SINCE, Engine
from facts.hardware import INSTANCE_TYPES, InstanceType
from facts.releases import ENDPOINT_PICKER_SINCE, LATEST_PATCH, Version
from manifests.graph import worker_pod
from manifests.graph.deployment import graph_deployment
from manifests.graph.workers import worker_command
from stacks.rules.graphs import knob_problems
from targets.catalogue import TARGETS
from targets.engine_knobs import KNOBS
from targets.knobs import RoleKnobs
from targets.plan import GraphPlan
from targets.pool import Pool
from targets.target import Target
from tests.parsers.harness import RELEASES, parse_all
from tests.plans import resolved
from tests.targets.knob_values import least


def tuned(engine: Engine) -> RoleKnobs:
    """Every knob that adds an argument."""
    return RoleKnobs(**{name: least(name) for name, knob in KNOBS.items() if knob.argument(engine)})


def plans(target: Target, release: str) -> Iterator[GraphPlan]:
    """The target as published, and, where that can run on the release, with each knob that adds an argument."""
    pool = Pool(instance=_instance(target), nodes=18)
    published = resolved(target, pool=pool, dynamoVersion=release)
    if knob_problems(published):
        return
    yield published
    yield resolved(target, pool=pool, dynamoVersion=release, frontend={"routerMode": "kv"})
    roles: dict[str, Any] = {worker.role.value: tuned(target.engine) for worker in target.workers}
    yield resolved(target, pool=pool, dynamoVersion=release, transport="node", **roles)
    if target.disaggregated and target.gpu_models:
        yield resolved(target, pool=pool, dynamoVersion=release, transport="efa")
    if Version.parse(release) >= ENDPOINT_PICKER_SINCE:
        yield resolved(target, pool=pool, inference_extension=True, dynamoVersion=release)


def _instance(target: Target) -> InstanceType:
    """One of those with most GPUs: a graph of a release without EFA's images needs all of them on one node."""
    fitting = [
        instance
        for instance in reversed(INSTANCE_TYPES.values())
        if instance.gpu in (target.gpu_models or (None,)) and instance.arch in target.archs
    ]
    return max(fitting, key=lambda instance: instance.gpus)


def command_lines(manifest: object) -> Iterator[tuple[str, list[str]]]:
    """(module, arguments) of every `python3 -m dynamo.<module>`, at any depth and in pods that run several."""
    if isinstance(manifest, Mapping):
        if str(manifest.get("command", [""])[-1]).endswith(f"/{worker_pod.SCRIPT}"):
            for line in manifest["args"]:
                words = shlex.split(line)
                python = words.index("python3")
                assert words[python + 1] == "-m"
                yield words[python + 2].removeprefix("dynamo."), words[python + 3 :]
        if str(manifest.get("command", [""])[-1]).startswith("dynamo."):
            assert manifest["command"][:2] == ["python3", "-m"]
            yield manifest["command"][2].removeprefix("dynamo."), manifest["args"]
        manifest = list(manifest.values())
    if isinstance(manifest, list):
        for value in manifest:
            yield from command_lines(value)


def _worker_commands(plan: GraphPlan) -> int:
    """One a role, with the endpoint picker's frontend beside each, or in one pod one a worker."""
    if plan.in_one_pod:
        return sum(planned.worker.replicas for planned in plan.workers)
    return len(plan.workers) * (2 if plan.frontend.inference_extension else 1)


@pytest.mark.parametrize("release", LATEST_PATCH.values())
def test_the_release_takes_every_command_line(release: str) -> None:
    assert release in RELEASES
    lines: dict[str, dict[tuple[str, ...], str]] = {}
    for target in TARGETS.values():
        for plan in plans(target, release):
            found = list(command_lines(graph_deployment(plan, "default")))
            assert len(found) == 1 + _worker_commands(plan)
            for module, args in found:
                lines.setdefault(module, {})[tuple(args)] = target.name
    assert {"frontend", "trtllm", "vllm", "sglang"} <= lines.keys()
    refused = [
        f"{owner}: dynamo.{module} {' '.join(args)}\n  {verdict.error.splitlines()[-1]}"
        for module, owners in lines.items()
        for (args, owner), verdict in zip(
            owners.items(), parse_all(release, module, list(owners)), strict=True
        )
        if not verdict.accepted
    ]
    assert not refused, "\n".join(refused)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
def test_every_target_can_run_on_some_release_that_is_asked(target: Target) -> None:
    assert any(True for release in LATEST_PATCH.values() for _ in plans(target, release))


@pytest.mark.parametrize("release", LATEST_PATCH.values())
@pytest.mark.parametrize(
    ("engine", "target"), [("vllm", "vllm-disagg-h100"), ("sglang", "sglang-disagg-h100")]
)
def test_the_release_takes_its_loaders(engine: str, target: str, release: str) -> None:
    lines: dict[str, tuple[bool, list[str]]] = {}
    for loader, since in LOADERS_SINCE[Engine(engine)].items():
        plan = resolved(target, "p5.48xlarge", dynamoVersion=release, decode={"loader": loader})
        words = worker_command(plan, plan.workers[1]).args
        assert {"--load-format", "--model-loader-extra-config"} & {*words}
        lines[loader] = (Version.parse(release) >= since, list(words))
    verdicts = parse_all(release, engine, [words for _, words in lines.values()])
    for (loader, (known, _)), verdict in zip(lines.items(), verdicts, strict=True):
        assert verdict.accepted or not known, f"{loader}: {verdict.error}"
