"""What AIPerf measured, read from its own files and never computed again.

Source: `profile_export_aiperf.json` of AIPerf 0.13.0 (schema 1.4).
"""

import json
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from facts.prices import usd_per_million_tokens
from measure.run import RAW, RUN_FILE, Load, Run, RunsError, read

EXPORT = "profile_export_aiperf.json"
PERCENTILES = ("p50", "p90", "p95", "p99")


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A quantity over all requests of a point, in its unit."""

    avg: float
    p50: float
    p90: float
    p95: float
    p99: float
    min: float
    max: float


@dataclass(frozen=True, kw_only=True)
class Requests:
    """How requests ended. errors: AIPerf's summary."""

    ok: int
    failed: int
    errors: tuple[str, ...]
    per_second: float


@dataclass(frozen=True, kw_only=True)
class Energy:
    """Of all GPUs while they were measured; None without DCGM."""

    joules: float | None
    watts: float | None


@dataclass(frozen=True, kw_only=True)
class MeasuredPoint:
    """One measured point.

    tokens_per_second, input_tokens_per_second: of the whole graph, server's counts. per_user: output tokens per second
    of one request while it streams. ttft, itl, latency: milliseconds. output_tokens: in all. seconds: of measuring.
    """

    name: str
    load: Load
    tokens_per_second: float
    input_tokens_per_second: float
    per_user: Distribution
    ttft: Distribution
    itl: Distribution
    latency: Distribution
    requests: Requests
    output_tokens: int
    seconds: float
    energy: Energy


@dataclass(frozen=True)
class Band:
    """A metric over the repetitions of one concurrency: mean, lowest, highest."""

    mean: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "Band":
        """The band of one or more values."""
        known = list(values)
        return cls(statistics.fmean(known), min(known), max(known), len(known))


@dataclass(frozen=True)
class Metric:
    """One figure of a point. better: +1 if more is better, -1 if less is. value: None where it is unknown."""

    name: str
    label: str
    unit: str
    better: int
    value: Callable[[Run, MeasuredPoint], float | None]


@dataclass(frozen=True)
class Results:
    """A run with its measured points, in the order of concurrency, then repetition."""

    folder: Path
    run: Run
    points: tuple[MeasuredPoint, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Points that were wanted and not measured."""
        measured = {point.name for point in self.points}
        return tuple(name for name in self.run.traffic.points if name not in measured)

    @property
    def concurrencies(self) -> tuple[int, ...]:
        """Those that were measured, ascending."""
        return tuple(sorted({point.load.concurrency for point in self.points}))

    def at(self, concurrency: int) -> tuple[MeasuredPoint, ...]:
        """The repetitions of one concurrency."""
        return tuple(point for point in self.points if point.load.concurrency == concurrency)

    def band(self, metric: Metric, concurrency: int) -> Band | None:
        """The metric over the repetitions, None where it is unknown."""
        values = [metric.value(self.run, point) for point in self.at(concurrency)]
        known = [value for value in values if value is not None]
        return Band.of(known) if known and len(known) == len(values) else None


def _per_gpu(run: Run, point: MeasuredPoint) -> float | None:
    return point.tokens_per_second / run.hardware.gpus if run.hardware.gpus else None


def _usd_per_million(run: Run, point: MeasuredPoint) -> float | None:
    if run.hardware.usd_per_hour is None or not point.tokens_per_second:
        return None
    return usd_per_million_tokens(run.hardware.usd_per_hour, point.tokens_per_second)


def _joules_per_token(_: Run, point: MeasuredPoint) -> float | None:
    return None if point.energy.joules is None else point.energy.joules / point.output_tokens


def _failed_percent(point: MeasuredPoint) -> float:
    return 100 * point.requests.failed / (point.requests.ok + point.requests.failed)


METRICS: tuple[Metric, ...] = (
    Metric("throughput", "Output throughput", "tokens/s", 1, lambda _, p: p.tokens_per_second),
    Metric("throughput-per-gpu", "Output throughput per GPU", "tokens/s/GPU", 1, _per_gpu),
    Metric("per-user", "Output speed per user, mean", "tokens/s/user", 1, lambda _, p: p.per_user.avg),
    Metric("requests", "Requests", "1/s", 1, lambda _, p: p.requests.per_second),
    Metric("ttft-p50", "Time to first token, p50", "ms", -1, lambda _, p: p.ttft.p50),
    Metric("ttft-p99", "Time to first token, p99", "ms", -1, lambda _, p: p.ttft.p99),
    Metric("itl-p50", "Inter-token latency, p50", "ms", -1, lambda _, p: p.itl.p50),
    Metric("itl-p99", "Inter-token latency, p99", "ms", -1, lambda _, p: p.itl.p99),
    Metric("latency-p50", "Request latency, p50", "ms", -1, lambda _, p: p.latency.p50),
    Metric("cost", "Cost of a million output tokens", "USD", -1, _usd_per_million),
    Metric("energy", "GPU energy per output token", "J", -1, _joules_per_token),
    Metric("errors", "Failed requests", "%", -1, lambda _, p: _failed_percent(p)),
)
METRIC = {metric.name: metric for metric in METRICS}


def load(folder: Path) -> Results:
    """The run of a folder with what was measured. Raises RunsError."""
    run = read(folder)
    found = [
        _point(folder / RAW / name, name, wanted)
        for name, wanted in run.traffic.points.items()
        if (folder / RAW / name / EXPORT).exists()
    ]
    return Results(folder, run, tuple(sorted(found, key=lambda point: point.name)))


def newest(stack: str, folder: Path) -> Results | None:
    """The stack's last run among those in the folder that has points, None without one."""
    found = [results for results in of_stack(stack, folder) if results.points]
    return max(found, key=lambda results: results.run.started, default=None)


def of_stack(stack: str, folder: Path) -> Iterator[Results]:
    """The stack's runs among those in the folder, also those without points."""
    for path in folder.glob(f"*/{RUN_FILE}"):
        try:
            found = load(path.parent)
        except RunsError:
            continue  # written by another version, or cut short
        if found.run.stack == stack:
            yield found


def _point(folder: Path, name: str, wanted: Load) -> MeasuredPoint:
    path = folder / EXPORT
    try:
        return _parse_point(json.loads(path.read_text()), name, wanted)
    except (ValueError, LookupError, TypeError) as error:
        raise RunsError(f"{path}: {error}") from None


def _parse_point(export: Mapping[str, Any], name: str, wanted: Load) -> MeasuredPoint:
    if export["was_cancelled"] or not export.get("is_complete", True):
        raise ValueError("AIPerf did not complete this point")
    tokens = _average(export, "total_osl", "tokens")
    if tokens != _average(export, "total_usage_completion_tokens", "tokens"):
        raise ValueError("the output tokens are not the server's own count")
    return MeasuredPoint(
        name=name,
        load=wanted,
        tokens_per_second=_average(export, "output_token_throughput", "tokens/sec"),
        input_tokens_per_second=_average(export, "input_token_throughput", "tokens/sec"),
        per_user=_distribution(export, "output_token_throughput_per_user", "tokens/sec/user"),
        ttft=_distribution(export, "time_to_first_token", "ms"),
        itl=_distribution(export, "inter_token_latency", "ms"),
        latency=_distribution(export, "request_latency", "ms"),
        requests=Requests(
            ok=round(_average(export, "request_count", "requests")),
            failed=round(_optional(export, "error_request_count", "requests") or 0),
            errors=tuple(_error(entry) for entry in export["error_summary"]),
            per_second=_average(export, "request_throughput", "requests/sec"),
        ),
        output_tokens=round(tokens),
        seconds=_average(export, "benchmark_duration", "sec"),
        energy=Energy(
            joules=_optional(export, "nvidia_total_gpu_energy", "J"),
            watts=_optional(export, "nvidia_average_gpu_power", "W"),
        ),
    )


def _average(export: Mapping[str, Any], key: str, unit: str) -> float:
    return float(_in_unit(export, key, unit)["avg"])


def _optional(export: Mapping[str, Any], key: str, unit: str) -> float | None:
    return _average(export, key, unit) if key in export else None


def _distribution(export: Mapping[str, Any], key: str, unit: str) -> Distribution:
    values = _in_unit(export, key, unit)
    return Distribution(**{name: float(values[name]) for name in Distribution.__dataclass_fields__})


def _in_unit(export: Mapping[str, Any], key: str, unit: str) -> Mapping[str, Any]:
    if key not in export:
        raise ValueError(f"{key} is missing")
    values: Mapping[str, Any] = export[key]
    if values["unit"] != unit:
        raise ValueError(f"{key} is in {values['unit']}, not {unit}")
    if not math.isfinite(values["avg"]):
        raise ValueError(f"{key} is {values['avg']}")
    return values


def _error(entry: Mapping[str, Any]) -> str:
    details = entry["error_details"]
    return f"{entry['count']} × {details.get('type') or details.get('code')}: {details.get('message', '')}"[
        :300
    ]
