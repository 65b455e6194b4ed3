"""What the `bench` verbs do; see ops/bench.py for their options."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bench import compare, gate, plots
from bench.results import METRIC, Results
from bench.results import load as load_results
from bench.run import Load, Run, RunError
from embedded import dataplane
from embedded.paths import PROJECT, STATE
from embedded.processes import Report
from graphs import benchmark, published_benchmarks
from graphs.benchmark import Point, shape_name, shape_problems
from graphs.names import HTTP_PORT, MODEL_PATH, frontend_service
from ops import measure
from ops.benchmark_sites import site
from ops.deploy import deploy
from ops.deploy.deploy import Stack
from ops.errors import OpsError
from stacks.cost import hourly_of_main_graph
from stacks.plan import StackPlan
from stacks.sections.benchmark import BenchmarkSettings
from targets.catalogue import MODEL_REVISION, Benchmark
from targets.plan import GraphPlan, Refusal
from targets.prices import REGION, Cost, Part, cost
from targets.versions import AIPERF_VERSION

RUNS = PROJECT / "out" / "bench"


class RunsError(OpsError):
    """Runs cannot be used as asked; the message says why."""


class Regression(OpsError):
    """A run is worse than its baseline; a line each."""


def run(
    stack: str,
    chosen: Mapping[str, Any],
    *,
    embedded: bool,
    teardown: bool | None,
    seconds: float,
    out: Path | None,
    report: Report,
    state: Path = STATE,
) -> Path:
    """Measure a stack; returns the run's folder.

    chosen: fields of BenchmarkSettings over the stack's. teardown: None for unless it was up before. Raises OpsError
    or pulumi.RunError for what went wrong, guard.Ended if it was ended.
    """
    found = _with_benchmark(deploy.find(stack, embedded=embedded), chosen)
    points = _points(found)
    where = site(found, report, state=state)
    ends = not where.is_up() if teardown is None else teardown
    if not ends:
        where_it_is = " --embedded" if embedded else ""
        report(f"{stack} stays up: `python -m ops down --stack {stack}{where_it_is}` takes it down")
    started = measure.now()
    folder = out or RUNS / f"{stack}-{started.replace(':', '').removesuffix('+0000')}"
    if folder.exists():
        raise RunsError(f"--out: {folder} is there already; a run gets a folder of its own")
    described = _described(found, points, started)
    measure.drive(where, described, points, folder, teardown=ends, seconds=seconds, report=report)
    return folder


def compared(folders: Sequence[Path], out: Path | None) -> str:
    """The runs as a Markdown table; also written to `out`, with plots of all of them. Raises RunsError."""
    if len(folders) < 2:
        raise RunsError("compare takes two runs or more")
    try:
        runs = [load_results(folder) for folder in folders]
        table = compare.table(runs)
        if out:
            named = list(zip(compare.labels(runs), runs, strict=True))
            drawn = plots.write(named, out / "plots")
            images = "".join(f"\n![{name}](plots/{name}.png)\n" for name in drawn)
            (out / "compare.md").write_text(f"# Benchmark runs compared\n\n{table}{images}")
    except (RunError, compare.NotComparable) as error:
        raise RunsError(str(error)) from None
    return table


def gated(folder: Path | None, against: Path, tolerances: Sequence[str]) -> list[str]:
    """A line for each metric. Raises Regression if any is worse beyond tolerance and noise, RunsError."""
    try:
        baseline = load_results(against)
        candidate = load_results(folder or _newest(baseline))
        findings = gate.findings(candidate, baseline, {**gate.TOLERANCES, **_tolerances(tolerances)})
        failed = gate.failures(candidate, baseline)
    except (RunError, compare.NotComparable) as error:
        raise RunsError(str(error)) from None
    regressed = [str(finding) for finding in findings if finding.regressed]
    if failed or regressed:
        raise Regression("\n".join([*failed, *regressed]))
    return [*map(str, findings), f"{candidate.folder} is not behind {baseline.folder}"]


def commands(stack: str, tool: str) -> list[str]:
    """Command lines for every point. Raises RunsError for a tool that is not known."""
    found = deploy.find(stack, embedded=False)
    plan = found.plan.main
    url = f"http://{frontend_service(plan.name)}.{found.namespace}.svc:{HTTP_PORT}"
    makers = {"aiperf": benchmark.aiperf, "genai-perf": benchmark.genai_perf}
    if tool not in makers:
        raise RunsError(f"--tool: {tool!r} is not known; choose one of {', '.join(makers)}")
    lines = [
        shlex.join(
            makers[tool](
                point.load, url=url, tokenizer=MODEL_PATH, artifacts=f"/tmp/benchmark-results/{point.name}"
            )
        )
        for point in _points(found)
    ]
    if tool == "genai-perf":
        lines.insert(
            0,
            "# For the container of Dynamo 0.4; from PyPI it does not run: perf_analyzer there is a placeholder.",
        )
    return lines


def _with_benchmark(stack: Stack, chosen: Mapping[str, Any]) -> Stack:
    """The stack with another benchmark, checked like that of its file."""
    own = stack.plan.checks.benchmark
    try:
        checked = BenchmarkSettings.model_validate(own.model_dump() | dict(chosen))
    except ValidationError as invalid:
        lines = (
            f"--{'-'.join(map(str, e['loc'][:1]))}: {e['input']!r}: {e['msg']}" for e in invalid.errors()
        )
        raise RunsError("\n".join(lines)) from None
    return replace(stack, plan=replace(stack.plan, checks=replace(stack.plan.checks, benchmark=checked)))


def _points(stack: Stack) -> tuple[Point, ...]:
    plan = stack.plan.main
    try:
        points = stack.plan.checks.benchmark.points(plan.target, plan.gpus)
    except Refusal as refusal:
        raise RunsError(str(refusal)) from None
    if problems := list(shape_problems(plan, points[0].load)):
        raise RunsError("\n".join(problems))
    return points


def _described(stack: Stack, points: Sequence[Point], started: str) -> Run:
    plan = stack.plan.main
    load = stack.plan.checks.benchmark.load(plan.target, plan.gpus)
    pool = plan.pool
    price = _price(stack.plan)
    argv = {point.name: tuple(_shown(point)) for point in points}
    return Run(
        stack=stack.name,
        started=started,
        shape=shape_name(load),
        load=_load(load),
        points={point.name: _load(point.load) for point in points},
        target=plan.target.name,
        topology=plan.target.title,
        graph=plan.name,
        gpu=str(pool.instance.gpu or "no GPU"),
        gpus=plan.gpus,
        instance=pool.instance.name,
        nodes=pool.nodes,
        usd_per_hour=price.usd_per_hour,
        price=f"{price.basis}: {', '.join(price.parts)}",
        simulated=f"nodes, GPUs and {dataplane.SIMULATED}" if stack.embedded else "",
        versions=_versions(stack, plan),
        commands=argv,
        differences=_differences(load),
    )


def _price(plan: StackPlan) -> Cost:
    """What the main graph costs an hour; on a cluster that is there already, nodes like its own at the list price."""
    pool = plan.main_pool
    name = f"{pool.nodes} × {pool.instance.name}"
    part = Part(name=name, unit=pool.instance.name, count=pool.nodes)
    return hourly_of_main_graph(plan) or cost([part], REGION, plan.billing.prices)


def _versions(stack: Stack, plan: GraphPlan) -> dict[str, str]:
    return {
        "Dynamo": str(plan.version),
        "Image": plan.image,
        "Model revision": MODEL_REVISION,
        "AIPerf": AIPERF_VERSION,
        "Pulumi SDK": version("pulumi"),
    }


def _shown(point: Point) -> list[str]:
    """The point's command, without the places that differ between runs."""
    return benchmark.aiperf(point.load, url="$URL", tokenizer="$MODEL", artifacts=f"$RESULTS/{point.name}")


def _differences(load: Benchmark) -> Mapping[str, str]:
    published = published_benchmarks.AIPERF.get(shape_name(load))
    at_its_own = benchmark.published().get(shape_name(load))
    if published is None or at_its_own is None:
        return {}
    argv = benchmark.aiperf(at_its_own, url="", tokenizer="", artifacts="")
    return published_benchmarks.differences(published_benchmarks.parsed(argv), published)


def _load(load: Benchmark) -> Load:
    return Load(**asdict(load))


def _newest(baseline: Results) -> Path:
    """The newest other run of the baseline's stack in its folder. Raises RunError."""
    others = [
        (candidate.run.started, candidate.folder)
        for path in baseline.folder.resolve().parent.glob("*/run.json")
        if (candidate := load_results(path.parent)).run.stack == baseline.run.stack
        and path.parent != baseline.folder.resolve()
    ]
    if not others:
        raise RunError(
            f"beside {baseline.folder} there is no other run of {baseline.run.stack}; say which one"
        )
    return max(others)[1]


def _tolerances(said: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in said:
        name, _, percent = text.partition("=")
        if name not in METRIC or not percent.replace(".", "", 1).isdigit():
            raise RunsError(f"--tolerance: {text!r}: METRIC=PERCENT with one of {', '.join(METRIC)}")
        found[name] = float(percent)
    return found
