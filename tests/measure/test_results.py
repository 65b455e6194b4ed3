"""Figures are AIPerf's own: read, never computed again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from measure.results import EXPORT, METRIC, Results
from measure.results import load as load_results
from measure.run import RAW, RunsError, read
from tests.measure import measured as runs


def test_every_figure_equals_the_one_in_aiperfs_json(measured: Results) -> None:
    assert [point.name for point in measured.points] == ["c00001-r1", "c00004-r1"]
    for point in measured.points:
        export = runs.raw(measured, point.name)
        assert point.tokens_per_second == export["output_token_throughput"]["avg"]
        assert point.requests.per_second == export["request_throughput"]["avg"]
        for spread, key in (
            (point.ttft, "time_to_first_token"),
            (point.itl, "inter_token_latency"),
            (point.latency, "request_latency"),
            (point.per_user, "output_token_throughput_per_user"),
        ):
            found = {
                name: getattr(spread, name) for name in ("avg", "p50", "p90", "p95", "p99", "min", "max")
            }
            assert found == {name: export[key][name] for name in found}


def test_tokens_are_counted_by_the_server_and_all_requests_answered(measured: Results) -> None:
    for point in measured.points:
        export = runs.raw(measured, point.name)
        assert export["input_config"]["endpoint"]["use_server_token_count"] is True
        assert point.output_tokens == export["total_usage_completion_tokens"]["avg"]
        assert point.output_tokens == point.load.requests * point.load.osl
        done = point.requests
        assert (done.ok, done.failed, done.errors) == (point.load.requests, 0, ())


def test_throughput_per_gpu_divides_by_the_graphs_gpus_and_cost_counts_the_node(measured: Results) -> None:
    point = measured.points[1]
    assert METRIC["throughput-per-gpu"].value(measured.run, point) == point.tokens_per_second / 8
    usd = METRIC["cost"].value(measured.run, point)
    assert usd == pytest.approx(113.9328 / 3600 / point.tokens_per_second * 1e6)


def test_an_unknown_price_gives_an_unknown_cost(measured: Results, tmp_path: Path) -> None:
    hardware = replace(measured.run.hardware, usd_per_hour=None)
    unpriced = runs.copied(measured, tmp_path / "run", {}, hardware=hardware)
    assert unpriced.band(METRIC["cost"], 4) is None


def test_energy_is_read_where_dcgm_gave_it_and_unknown_elsewhere(measured: Results, tmp_path: Path) -> None:
    assert measured.band(METRIC["energy"], 4) is None
    copy = runs.copied(measured, tmp_path / "run", {})
    path = copy.folder / RAW / "c00004-r1" / EXPORT
    export = json.loads(path.read_text()) | {"nvidia_total_gpu_energy": {"unit": "J", "avg": 768.0}}
    path.write_text(json.dumps(export))
    energy = METRIC["energy"].value(copy.run, load_results(copy.folder).points[1])
    assert energy == 768.0 / (24 * 16)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("was_cancelled", True, "AIPerf did not complete this point"),
        ("is_complete", False, "AIPerf did not complete this point"),
        (
            "total_usage_completion_tokens",
            {"unit": "tokens", "avg": 1.0},
            "the output tokens are not the server's own count",
        ),
        (
            "time_to_first_token",
            {"unit": "s", "avg": 1.0},
            "time_to_first_token is in s, not ms",
        ),
        (
            "request_throughput",
            {"unit": "requests/sec", "avg": float("nan")},
            "request_throughput is nan",
        ),
    ],
)
def test_what_is_not_a_measurement_is_refused(
    measured: Results, tmp_path: Path, key: str, value: object, says: str
) -> None:
    copy = runs.copied(measured, tmp_path / "run", {})
    path = copy.folder / RAW / "c00001-r1" / EXPORT
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(RunsError) as refused:
        load_results(copy.folder)
    assert str(refused.value) == f"{path}: {says}"


def test_a_point_that_was_not_measured_is_missing(measured: Results, tmp_path: Path) -> None:
    partial = runs.without(measured, tmp_path / "run", "c00004-r1")
    assert partial.missing == ("c00004-r1",)
    assert partial.concurrencies == (1,)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunsError) as refused:
        load_results(tmp_path)
    assert str(refused.value) == f"{tmp_path} is no benchmark run: it has no run.json"


def test_a_run_s_file_has_no_groups(tmp_path: Path) -> None:
    """Files of earlier versions are read, and programs of others read ours."""
    run = runs.described()
    run.write(tmp_path)
    written = json.loads((tmp_path / "run.json").read_text())
    assert {
        "load",
        "points",
        "target",
        "gpus",
        "usd_per_hour",
        "price",
        "versions",
        "commands",
    } <= written.keys()
    assert not {"traffic", "subject", "hardware"} & written.keys()
    assert read(tmp_path) == run
