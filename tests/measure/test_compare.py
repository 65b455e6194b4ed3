"""Runs side by side, and the gate between them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from measure import compare
from measure import runs as beside
from measure.results import METRIC, Results
from measure.run import Load, Regression, RunsError
from ops import bench
from tests.measure import measured as runs

SLOWER = {"output_token_throughput": 0.9}


@pytest.fixture
def base(measured: Results, tmp_path: Path) -> Results:
    """Three repetitions, one per cent apart."""
    return runs.copied(measured, tmp_path / "base", {"output_token_throughput": 1.0}, repetitions=3)


def test_unlike_shapes_are_refused(measured: Results, tmp_path: Path) -> None:
    load = replace(measured.run.traffic.load, isl=8192, osl=1024)
    other = runs.copied(measured, tmp_path / "other", {}, traffic=replace(measured.run.traffic, load=load))
    with pytest.raises(RunsError) as refused:
        beside.compare_runs([measured.folder, other.folder], None)
    assert str(refused.value) == (
        f"{measured.folder} and {other.folder} differ in tokens in and out: 64/16 and 8192/1024; "
        "their figures say nothing about each other"
    )


def test_simulated_engines_are_not_compared_with_real_ones(measured: Results, tmp_path: Path) -> None:
    real = runs.copied(measured, tmp_path / "real", {}, simulated="")
    with pytest.raises(compare.NotComparable, match="differ in engines: simulated and real"):
        compare.check([measured, real])


def test_runs_without_a_common_concurrency_are_refused(measured: Results, tmp_path: Path) -> None:
    one = runs.without(measured, tmp_path / "one", "c00004-r1")
    four = runs.without(measured, tmp_path / "four", "c00001-r1")
    with pytest.raises(compare.NotComparable) as refused:
        compare.check([one, four])
    assert str(refused.value) == (
        f"no concurrency was measured in every run ({one.folder}: 1; {four.folder}: 4)"
    )


def test_a_change_beyond_the_bands_is_worse_and_one_inside_them_is_noise(
    base: Results, measured: Results, tmp_path: Path
) -> None:
    slower = runs.copied(measured, tmp_path / "slower", SLOWER, repetitions=3)
    like = runs.copied(measured, tmp_path / "like", {"output_token_throughput": 0.995}, repetitions=3)
    row = "| 4 | Output throughput [tokens/s] |"
    assert next(line for line in compare.table([base, slower]).splitlines() if line.startswith(row)).endswith(
        "| -10.0 % (worse) |"
    )
    assert next(line for line in compare.table([base, like]).splitlines() if line.startswith(row)).endswith(
        "| -0.5 % (within noise) |"
    )


def test_one_measurement_each_says_that_noise_is_unknown(measured: Results, tmp_path: Path) -> None:
    copy = runs.copied(measured, tmp_path / "copy", SLOWER)
    table = compare.table([measured, copy])
    assert "Measured once each: how much of a change is noise is unknown" in table
    assert "(worse)" not in table
    assert "- **Simulated: engines (scripted).**" in table


def test_bands_show_lowest_and_highest(base: Results) -> None:
    band = base.band(METRIC["throughput"], 4)
    assert band is not None
    assert band.count == 3
    assert band.high == pytest.approx(1.02 * band.low)
    assert band.mean == pytest.approx(1.01 * band.low)


def test_compare_draws_all_runs_together(base: Results, measured: Results, tmp_path: Path) -> None:
    slower = runs.copied(measured, tmp_path / "slower", SLOWER, repetitions=3)
    table = beside.compare_runs([base.folder, slower.folder], tmp_path / "out")
    assert table in (tmp_path / "out" / "compare.md").read_text()
    svg = (tmp_path / "out" / "plots" / "pareto.svg").read_text()
    assert "A dev" in svg and "B dev" in svg


def test_the_gate_fails_on_a_made_regression_and_names_it(
    base: Results, measured: Results, tmp_path: Path
) -> None:
    slower = runs.copied(measured, tmp_path / "slower", SLOWER, repetitions=3)
    with pytest.raises(Regression) as failed:
        beside.gate_runs(slower.folder, base.folder, []).lines()
    lines = str(failed.value).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "REGRESSED c1 Output throughput",
        "REGRESSED c4 Output throughput",
    ]
    assert lines[0].endswith("tokens/s, 10.0 % worse (tolerance 5 %)")


def test_a_program_reads_the_regression_too(base: Results, measured: Results, tmp_path: Path) -> None:
    slower = runs.copied(measured, tmp_path / "slower", SLOWER, repetitions=3)
    words = ["gate", str(slower.folder), "--against", str(base.folder), "--json"]
    done = CliRunner().invoke(bench.app, words)
    found = json.loads(done.stdout)
    assert (done.exit_code, found["behind"], found["failures"]) == (1, True, [])
    behind = [each for each in found["metrics"] if each["regressed"]]
    assert [each["concurrency"] for each in behind] == [1, 4]
    assert all(each["worsePercent"] == pytest.approx(10, abs=0.1) for each in behind)


def test_the_gate_passes_on_noise(base: Results, measured: Results, tmp_path: Path) -> None:
    like = runs.copied(measured, tmp_path / "like", {"output_token_throughput": 0.99}, repetitions=3)
    lines = beside.gate_runs(like.folder, base.folder, ["throughput=0.1"]).lines()
    assert lines[-1] == f"{like.folder} is not behind {base.folder}"
    assert any(line.startswith("ok        c4 Output throughput") for line in lines)


def test_the_gate_passes_on_what_is_better(base: Results, measured: Results, tmp_path: Path) -> None:
    faster = {"output_token_throughput": 1.5, "time_to_first_token": 0.5}
    better = runs.copied(measured, tmp_path / "better", faster, repetitions=3)
    assert beside.gate_runs(better.folder, base.folder, []).lines()


def test_the_gate_sees_latency_in_its_own_direction(base: Results, measured: Results, tmp_path: Path) -> None:
    later = runs.copied(measured, tmp_path / "later", {"time_to_first_token": 1.5}, repetitions=3)
    with pytest.raises(Regression) as failed:
        beside.gate_runs(later.folder, base.folder, []).lines()
    assert "Time to first token, p50" in str(failed.value)
    assert "throughput" not in str(failed.value)


def test_the_gate_fails_on_points_that_are_gone(base: Results, measured: Results, tmp_path: Path) -> None:
    partial = runs.without(base, tmp_path / "partial", "c00004-r3")
    with pytest.raises(Regression, match="c00004-r3 was not measured"):
        beside.gate_runs(partial.folder, base.folder, []).lines()


def test_the_gate_takes_the_newest_other_run(measured: Results, tmp_path: Path) -> None:
    base = runs.copied(measured, tmp_path / "base", {}, started="2026-01-01T00:00:00+00:00")
    runs.copied(measured, tmp_path / "old", SLOWER, started="2026-01-02T00:00:00+00:00")
    newest = runs.copied(measured, tmp_path / "new", {}, started="2026-01-03T00:00:00+00:00")
    assert (
        beside.gate_runs(None, base.folder, []).lines()[-1] == f"{newest.folder} is not behind {base.folder}"
    )


def test_a_tolerance_that_makes_no_sense_is_refused(base: Results) -> None:
    with pytest.raises(RunsError, match=r"--tolerance: 'speed=5': METRIC=PERCENT with one of throughput"):
        beside.gate_runs(base.folder, base.folder, ["speed=5"]).lines()


def test_a_load_is_its_tokens_and_requests(measured: Results) -> None:
    assert measured.run.traffic.points["c00001-r1"] == Load(
        isl=64, osl=16, concurrency=1, requests=10, warmup=1, dataset_entries=10, seed=100
    )
