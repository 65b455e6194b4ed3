"""Benchmarks: from a traffic shape to the points that are measured and the Job that measures them. Pure."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from facts.versions import AIPERF_VERSION
from facts.weights import MODEL_ID, MODEL_REVISION, Weights
from manifests import objects, pod_scripts
from manifests.benchmark.command import aiperf
from manifests.cache import bucket
from manifests.gpu_nodes import node_affinity
from manifests.names import (
    CACHE_CLAIM,
    CACHE_PATH,
    HTTP_PORT,
    LABEL_PREFIX,
    MODEL_PATH,
    frontend_service,
)
from targets.catalogue import TARGETS
from targets.target import PublishedBenchmark, Target

AIPERF_IMAGE = f"nvcr.io/nvidia/ai-dynamo/aiperf:{AIPERF_VERSION}"
"""NVIDIA's own image: Python and AIPerf in /opt/aiperf/venv, home /app of user 1000, no shell tools.

Its size was not measured, and whether it holds ARM64 is not known.
"""
AIPERF_PYTHON = "/opt/aiperf/venv/bin/python"

NAME = "benchmark"
"""Of the Job and its ConfigMap; the claim and the reader are called after it."""
RUN_NAME = "benchmark-run"
"""Of the Job of `ops bench`, beside one that the stack itself may have."""
RESULTS_PATH = "/results"
SCRIPT = "run_benchmark.py"
PLAN = "plan.json"
PLAN_ANNOTATION = f"{LABEL_PREFIX}/benchmark-plan"
_READER_SECONDS = 900

PUBLISHED_GPUS = {"trtllm-disagg-8k": 6}
"""GPUs that a published concurrency was computed from, where that is not the graph's own number (it has 5)."""


@dataclass(frozen=True, kw_only=True)
class LoadPoint:
    """One AIPerf run: a shape at one concurrency. repetition: counted from 1."""

    load: PublishedBenchmark
    repetition: int

    @property
    def name(self) -> str:
        """The point's folder."""
        return f"c{self.load.concurrency:05d}-r{self.repetition}"


@dataclass(frozen=True)
class ResultsClaim:
    """The claim that keeps a benchmark's results."""

    size: str = "10Gi"
    storage_class: str | None = None
    """None for the cluster's default class."""


@dataclass(frozen=True, kw_only=True)
class JobSpec:
    """How the Job runs. ready_seconds: for the graph to answer; limit_seconds: for all measurements after that.

    telemetry: addresses of DCGM exporters. graph: its frontend is what is measured. name: of the objects.
    weights: the claim with the model.
    fetched_in: image in which the tokenizer is copied from a bucket, None where that claim holds it.
    """

    namespace: str
    graph: str
    points: tuple[LoadPoint, ...]
    ready_seconds: int
    limit_seconds: int
    image: str = AIPERF_IMAGE
    pull_secret: str | None = None
    telemetry: tuple[str, ...] = ()
    results: ResultsClaim = ResultsClaim()
    name: str = NAME
    weights: str = CACHE_CLAIM
    fetched_in: str | None = None

    @property
    def claim(self) -> str:
        """The claim that keeps the results."""
        return f"{self.name}-results"

    @property
    def reader(self) -> str:
        """The pod that results are copied from."""
        return f"{self.name}-reader"


def shape_name(shape: PublishedBenchmark) -> str:
    """Tokens in / tokens out, as the published shapes are called: `8192/1024`."""
    return f"{shape.isl}/{shape.osl}"


def published_shapes() -> dict[str, PublishedBenchmark]:
    """The published shapes by name; of those that differ in concurrency alone the first."""
    return {shape_name(target.benchmark): target.benchmark for target in reversed(TARGETS.values())}


def per_gpu(target: Target, shape: PublishedBenchmark, gpus: int) -> PublishedBenchmark:
    """The shape at the published concurrency per GPU times the GPUs that the graph really has."""
    counted = PUBLISHED_GPUS.get(target.name, sum(worker.replicas * worker.gpus for worker in target.workers))
    return at(shape, max(1, round(shape.concurrency / counted * gpus)))


def at(shape: PublishedBenchmark, concurrency: int) -> PublishedBenchmark:
    """The shape at another concurrency: requests, warm-up and data set in proportion, 10 requests at least."""

    def scale(count: int, least: int) -> int:
        return max(min(least, count), math.ceil(count * concurrency / shape.concurrency))

    return replace(
        shape,
        concurrency=concurrency,
        requests=scale(shape.requests, 10),
        warmup=scale(shape.warmup, 1),
        dataset_entries=scale(shape.dataset_entries, 10),
    )


def points(shape: PublishedBenchmark, sweep: Sequence[int], repetitions: int) -> tuple[LoadPoint, ...]:
    """The runs of a sweep, whole sweeps after one another, so that slow drift shows as noise of every point."""
    return tuple(
        LoadPoint(load=at(shape, concurrency), repetition=repetition)
        for repetition in range(1, repetitions + 1)
        for concurrency in (sweep or (shape.concurrency,))
    )


def run_plan(
    points: Sequence[LoadPoint],
    *,
    url: str,
    tokenizer: str,
    results: str,
    ready_seconds: int,
    limit_seconds: int,
    telemetry: Sequence[str] = (),
) -> dict[str, Any]:
    """What run_benchmark.py reads: where to measure, until when, and each point's command line."""
    return {
        "url": url,
        "model": MODEL_ID,
        "aiperfVersion": AIPERF_VERSION,
        "readySeconds": ready_seconds,
        "limitSeconds": limit_seconds,
        "results": results,
        "points": [
            {
                "name": point.name,
                "requests": point.load.warmup + point.load.requests,
                "argv": aiperf(
                    point.load,
                    url=url,
                    tokenizer=tokenizer,
                    artifacts=f"{results}/{point.name}",
                    telemetry=telemetry,
                ),
            }
            for point in points
        ],
    }


def results_claim(spec: JobSpec) -> dict[str, Any]:
    """The claim that results stay on when the Job is gone."""
    asked = objects.claim_spec(spec.results.size, "ReadWriteOnce", spec.results.storage_class)
    return objects.claim(spec.claim, spec.namespace, asked)


def config_map(spec: JobSpec) -> dict[str, Any]:
    """The script and its plan."""
    plan = run_plan(
        spec.points,
        url=f"http://{frontend_service(spec.graph)}.{spec.namespace}.svc:{HTTP_PORT}",
        tokenizer=MODEL_PATH,
        results=RESULTS_PATH,
        ready_seconds=spec.ready_seconds,
        limit_seconds=spec.limit_seconds,
        telemetry=spec.telemetry,
    )
    data = {SCRIPT: pod_scripts.text(SCRIPT), PLAN: json.dumps(plan, indent=1)}
    return objects.config_map(spec.name, spec.namespace, data)


def job(spec: JobSpec) -> dict[str, Any]:
    """The Job: waits until the graph answers, runs every point, never twice: a repeated load measures another state.

    Another plan makes another Job, because its pods carry the plan's digest.
    """
    container = objects.container(
        NAME,
        spec.image,
        [AIPERF_PYTHON, f"{pod_scripts.PATH}/{SCRIPT}", f"{pod_scripts.PATH}/{PLAN}"],
        volumeMounts=[
            pod_scripts.mount(),
            {"name": CACHE_CLAIM, "mountPath": CACHE_PATH, "readOnly": True},
            {"name": "results", "mountPath": RESULTS_PATH},
        ],
        # AIPerf starts a process for three of four CPUs; too few of them measure AIPerf instead of the graph.
        resources={"requests": {"cpu": "8", "memory": "16Gi"}, "limits": {"memory": "48Gi"}},
    )
    fetched: dict[str, Any] = {}
    if spec.fetched_in is not None:
        served = Weights(model=MODEL_ID, revision=MODEL_REVISION, tokenizer_only=True)
        fetched["initContainers"] = bucket.fetch_containers(spec.fetched_in, [served], None)
        fetched["serviceAccountName"] = bucket.NAME
    volumes = [pod_scripts.volume(spec.name), *_model_volumes(spec), _results_volume(spec)]
    digest = hashlib.sha256(json.dumps(config_map(spec)["data"]).encode()).hexdigest()[:16]
    return objects.job(
        spec.name,
        spec.namespace,
        _pod(container, spec, volumes=volumes, **fetched),
        labels={"app": spec.name},
        annotations={PLAN_ANNOTATION: digest},
        backoffLimit=0,
        activeDeadlineSeconds=spec.ready_seconds + spec.limit_seconds + 60,
    )


def _model_volumes(spec: JobSpec) -> list[dict[str, Any]]:
    if spec.fetched_in is not None:
        return bucket.volumes(None)
    return [{"name": CACHE_CLAIM, "persistentVolumeClaim": {"claimName": spec.weights, "readOnly": True}}]


def reader(spec: JobSpec) -> dict[str, Any]:
    """A pod that holds the results' claim open for a copy, and ends by itself."""
    container = objects.container(
        "reader",
        spec.image,
        [AIPERF_PYTHON, "-c", f"import time; time.sleep({_READER_SECONDS})"],
        volumeMounts=[{"name": "results", "mountPath": RESULTS_PATH, "readOnly": True}],
        resources={"requests": {"cpu": "1", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
    )
    ends = {"restartPolicy": "Never", "activeDeadlineSeconds": _READER_SECONDS}
    pod = _pod(container, spec, volumes=[_results_volume(spec)], **ends)
    return objects.manifest("v1", "Pod", spec.reader, spec.namespace, spec=pod)


def copy_command() -> list[str]:
    """What to run in the reader: the results as a compressed tar on standard output (its image has no tar)."""
    code = f"import sys, tarfile; tarfile.open(fileobj=sys.stdout.buffer, mode='w|gz').add('{RESULTS_PATH}', '.')"
    return [AIPERF_PYTHON, "-c", code]


def _pod(container: dict[str, Any], spec: JobSpec, **more: Any) -> dict[str, Any]:
    """Off GPU nodes: load generation on a node that is measured takes CPU from what is measured."""
    return objects.pod(
        [spec.pull_secret],
        containers=[container],
        automountServiceAccountToken=False,
        affinity=node_affinity(off_gpus=True),
        **more,
    )


def _results_volume(spec: JobSpec) -> dict[str, Any]:
    return {"name": "results", "persistentVolumeClaim": {"claimName": spec.claim}}
