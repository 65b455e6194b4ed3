"""What is measured of a stack: its points, their command lines, and what a run says of itself."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

from pydantic import ValidationError

from facts.versions import AIPERF_VERSION
from facts.weights import MODEL_REVISION
from manifests.benchmark import command as benchmark_command
from manifests.benchmark import job as benchmark
from manifests.benchmark import published as published_benchmarks
from manifests.benchmark.job import LoadPoint, shape_name
from manifests.names import HTTP_PORT, MODEL_PATH, frontend_service
from measure.run import Hardware, Load, Run, RunsError, Subject, Traffic
from stacks.cost import hourly_of_main_graph, hourly_of_main_pool
from stacks.plan import StackPlan
from stacks.rules.benchmark import shape_problems
from stacks.sections.benchmark import BenchmarkSettings
from targets.plan import GraphPlan
from targets.target import PublishedBenchmark


def with_benchmark(plan: StackPlan, chosen: Mapping[str, Any]) -> StackPlan:
    """The stack with another benchmark, checked like that of its file. Raises RunsError."""
    try:
        checked = BenchmarkSettings.model_validate(plan.checks.benchmark.model_dump() | dict(chosen))
    except ValidationError as invalid:
        lines = (
            f"--{'-'.join(map(str, e['loc'][:1]))}: {e['input']!r}: {e['msg']}" for e in invalid.errors()
        )
        raise RunsError("\n".join(lines)) from None
    return replace(plan, checks=replace(plan.checks, benchmark=checked))


def points(plan: StackPlan) -> tuple[LoadPoint, ...]:
    """Everything to measure, in order. Raises Refusal, RunsError."""
    graph = plan.main
    found = plan.checks.benchmark.points(graph.target, graph.gpus)
    if problems := list(shape_problems(graph, found[0].load)):
        raise RunsError("\n".join(problems))
    return found


def commands(plan: StackPlan, tool: str) -> list[str]:
    """Command lines for every point, inside the cluster. Raises Refusal, RunsError for a tool that is not known."""
    makers = {"aiperf": benchmark_command.aiperf, "genai-perf": benchmark_command.genai_perf}
    if tool not in makers:
        raise RunsError(f"--tool: {tool!r} is not known; choose one of {', '.join(makers)}")
    url = f"http://{frontend_service(plan.main.name)}.{plan.cluster.namespace}.svc:{HTTP_PORT}"
    lines = [
        shlex.join(
            makers[tool](
                point.load, url=url, tokenizer=MODEL_PATH, artifacts=f"/tmp/benchmark-results/{point.name}"
            )
        )
        for point in points(plan)
    ]
    if tool == "genai-perf":
        lines.insert(
            0,
            "# For the container of Dynamo 0.4; from PyPI it does not run: perf_analyzer there is a placeholder.",
        )
    return lines


def describe(
    stack: str, plan: StackPlan, measured: Sequence[LoadPoint], started: str, *, simulated: str
) -> Run:
    """The run that measures the points. simulated: what of it is not real."""
    graph, pool = plan.main, plan.main_pool
    load = plan.checks.benchmark.load(graph.target, graph.gpus)
    # On a cluster that is there already, nodes like its own at the list price.
    price = hourly_of_main_graph(plan) or hourly_of_main_pool(plan)
    return Run(
        stack=stack,
        started=started,
        traffic=Traffic(
            shape=shape_name(load),
            load=_load(load),
            points={point.name: _load(point.load) for point in measured},
            commands={point.name: tuple(_command_line(point)) for point in measured},
            differences=_differences(load),
        ),
        subject=Subject(
            target=graph.target.name,
            topology=graph.target.title,
            graph=graph.name,
            versions=_versions(graph),
        ),
        hardware=Hardware(
            gpu=str(pool.instance.gpu or "no GPU"),
            gpus=graph.gpus,
            instance=pool.instance.name,
            nodes=pool.nodes,
            usd_per_hour=price.usd_per_hour,
            price=f"{price.basis}: {', '.join(price.parts)}",
        ),
        simulated=simulated,
    )


def _versions(graph: GraphPlan) -> dict[str, str]:
    return {
        "Dynamo": str(graph.version),
        "Image": graph.image.reference,
        "Model revision": MODEL_REVISION,
        "AIPerf": AIPERF_VERSION,
        "Pulumi SDK": version("pulumi"),
    }


def _command_line(point: LoadPoint) -> list[str]:
    """The point's command, without the places that differ between runs."""
    return benchmark_command.aiperf(
        point.load, url="$URL", tokenizer="$MODEL", artifacts=f"$RESULTS/{point.name}"
    )


def _differences(load: PublishedBenchmark) -> Mapping[str, str]:
    published = published_benchmarks.AIPERF.get(shape_name(load))
    at_its_own = benchmark.published_shapes().get(shape_name(load))
    if published is None or at_its_own is None:
        return {}
    argv = benchmark_command.aiperf(at_its_own, url="", tokenizer="", artifacts="")
    return published_benchmarks.differences(published_benchmarks.parse_flags(argv), published)


def _load(load: PublishedBenchmark) -> Load:
    return Load(**asdict(load))
