"""The benchmark runs that a page shows."""

from pathlib import Path

from ops.report.benchmarks import COMPARED, Benchmarks, benchmarks
from tests.ops.report import projects

RUNS = Path("out", "bench")


def found(project: Path) -> Benchmarks:
    shown = benchmarks("s", project / RUNS, project / "out" / "s")
    assert shown is not None
    return shown


def test_nothing_on_disk_is_nothing_to_show(tmp_path: Path) -> None:
    projects.run(tmp_path, "01T10", {1: 100}, stack="another")
    assert benchmarks("s", tmp_path / RUNS, tmp_path) is None


def test_the_newest_is_first_and_its_figures_are_large(tmp_path: Path) -> None:
    projects.run(tmp_path, "01T10", {1: 100, 4: 400})
    projects.run(tmp_path, "02T10", {1: 110, 4: 440})
    shown = found(tmp_path)
    assert [run.time for run in shown.runs] == ["2026-11-02 10:00 UTC", "2026-11-01 10:00 UTC"]
    assert (shown.tiles[0].label, shown.tiles[0].value) == ("Most output", "440")
    assert [run.best[0] for run in shown.runs] == ["440", "400"]


def test_runs_alike_share_curves_and_are_compared(tmp_path: Path) -> None:
    projects.run(tmp_path, "01T10", {1: 100, 4: 400})
    projects.run(tmp_path, "02T10", {1: 110, 4: 440})
    shown = found(tmp_path)
    assert shown.labels == ("A, 2026-11-01 10:00 UTC", "B, 2026-11-02 10:00 UTC")
    assert len(shown.curves) == 4
    assert [each.concurrency for each in shown.comparisons] == [1, 4]
    throughput = shown.comparisons[1].rows[0]
    assert [value for value, _ in throughput.values] == ["400", "440", "+10.0 %"]


def test_what_is_not_alike_is_listed_alone(tmp_path: Path) -> None:
    projects.run(tmp_path, "01T10", {1: 100, 4: 400}, simulated="")
    projects.run(tmp_path, "02T10", {1: 100, 4: 400}, isl=8192)
    projects.run(tmp_path, "03T10", {1: 110, 4: 440})
    shown = found(tmp_path)
    assert [run.label for run in shown.runs] == ["A", "", ""]
    assert [run.simulated for run in shown.runs] == [True, True, False]
    assert shown.comparisons == ()


def test_a_run_that_ended_early_is_listed_and_gives_no_figures(tmp_path: Path) -> None:
    projects.run(tmp_path, "01T10", {1: 100, 4: 400})
    folder = projects.run(tmp_path, "02T10", {1: 100}, problem="ended by SIGTERM")
    for path in folder.rglob("*.json"):
        if path.name != "run.json":
            path.unlink()
    shown = found(tmp_path)
    assert (shown.runs[0].problem, shown.runs[0].best[0]) == ("ended by SIGTERM", "–")
    assert shown.tiles[0].value == "400"


def test_curves_of_more_runs_than_one_tells_apart_are_left_out(tmp_path: Path) -> None:
    for day in range(1, COMPARED + 3):
        projects.run(tmp_path, f"{day:02d}T10", {1: 100, 4: 400})
    shown = found(tmp_path)
    assert len(shown.labels) == COMPARED
    assert len(shown.runs) == COMPARED + 2


def test_links_lead_to_files_from_the_pages_folder(tmp_path: Path) -> None:
    projects.run(tmp_path, "01T10", {1: 100})
    [(name, address)] = found(tmp_path).runs[0].links
    assert (name, address) == ("run.json", "../bench/01T10/run.json")


def test_what_another_version_wrote_is_left_out(tmp_path: Path) -> None:
    projects.run(tmp_path, "01T10", {1: 100})
    odd = tmp_path / RUNS / "odd"
    odd.mkdir()
    (odd / "run.json").write_text("{}")
    assert len(found(tmp_path).runs) == 1
