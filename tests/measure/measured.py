"""Runs of the tests: one that the real AIPerf measured, and copies of it with other figures."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from facts.versions import AIPERF_VERSION
from manifests.benchmark import job as benchmark
from manifests.benchmark.job import LoadPoint
from measure import driver as measure
from measure import run as runs
from measure.results import EXPORT, Results
from measure.results import load as load_results
from measure.run import RAW, Hardware, Load, Run, Subject, Traffic
from targets.target import PublishedBenchmark

SHAPE = PublishedBenchmark(isl=64, osl=16, concurrency=4, requests=24, warmup=2, dataset_entries=24)
SWEEP = (1, 4)
POINTS = benchmark.points(SHAPE, SWEEP, 1)


def described(points: tuple[LoadPoint, ...] = POINTS, simulated: str = "engines (scripted)") -> Run:
    """A run of the embedded stack `dev` with the points still to be measured."""
    return Run(
        stack="dev",
        started=measure.now(),
        traffic=Traffic(
            shape="64/16",
            load=Load(**asdict(SHAPE)),
            points={point.name: Load(**asdict(point.load)) for point in points},
            commands={point.name: ("aiperf", "profile") for point in points},
        ),
        subject=Subject(
            target="trtllm-disagg-b200",
            topology="prefill and decode",
            graph="gpt-oss-disagg",
            versions={"AIPerf": AIPERF_VERSION},
        ),
        hardware=Hardware(
            gpu="B200",
            gpus=8,
            instance="p6-b200.48xlarge",
            nodes=1,
            usd_per_hour=113.9328,
            price="list price",
        ),
        simulated=simulated,
    )


def copied(
    results: Results, folder: Path, changes: Mapping[str, float], repetitions: int = 1, **said: Any
) -> Results:
    """The run again in a new folder, its figures multiplied by metric, repetitions one per cent apart each."""
    points = benchmark.points(SHAPE, SWEEP, repetitions)
    written = replace(described(points), **said)
    folder.mkdir(parents=True)
    written.write(folder)
    for point in points:
        source = results.folder / RAW / f"c{point.load.concurrency:05d}-r1" / EXPORT
        export = json.loads(source.read_text())
        for key, factor in changes.items():
            noise = 1 + (point.repetition - 1) / 100
            export[key] = {
                name: value * factor * noise if isinstance(value, float) else value
                for name, value in export[key].items()
            }
        target = folder / RAW / point.name
        target.mkdir(parents=True)
        (target / EXPORT).write_text(json.dumps(export))
    return load_results(folder)


def raw(results: Results, name: str) -> dict[str, Any]:
    """AIPerf's own JSON of a point."""
    export: dict[str, Any] = json.loads((results.folder / RAW / name / EXPORT).read_text())
    return export


def without(results: Results, folder: Path, name: str) -> Results:
    """A copy of the run that lacks one point."""
    shutil.copytree(results.folder, folder)
    shutil.rmtree(folder / RAW / name)
    return load_results(folder)


__all__ = ["POINTS", "SHAPE", "SWEEP", "copied", "described", "raw", "runs", "without"]
