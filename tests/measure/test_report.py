"""What a reader of a report sees."""

import re
import shutil
import struct
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser

from measure import plots, report
from measure.results import Results
from measure.results import load as load_results
from tests.browser import VIEWS, look
from tests.measure import measured as runs

LABELS = {
    "pareto": ("Output speed per user, mean [tokens/s/user]", "Output throughput per GPU [tokens/s/GPU]"),
    "throughput": ("Concurrency [requests at once]", "Output throughput [tokens/s]"),
    "ttft": ("Concurrency [requests at once]", "Time to first token [ms]"),
    "itl": ("Concurrency [requests at once]", "Inter-token latency [ms]"),
}


def words(svg: Path) -> list[str]:
    """The texts of a plot."""
    found = ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()).strip() for text in found]


def written(results: Results, folder: Path, simulated: str) -> Results:
    """A copy of the run with its report."""
    shutil.copytree(results.folder, folder)
    replace(load_results(folder).run, simulated=simulated).write(folder)
    copy = load_results(folder)
    report.write(copy)
    return copy


@pytest.fixture(scope="module")
def simulated(measured: Results, tmp_path_factory: pytest.TempPathFactory) -> Results:
    return written(measured, tmp_path_factory.mktemp("report") / "run", "engines (scripted)")


@pytest.fixture(scope="module")
def real(measured: Results, tmp_path_factory: pytest.TempPathFactory) -> Results:
    return written(measured, tmp_path_factory.mktemp("report") / "run", "")


@pytest.mark.parametrize("name", LABELS)
def test_axes_have_names_with_units(simulated: Results, name: str) -> None:
    texts = words(simulated.folder / "plots" / f"{name}.svg")
    assert set(LABELS[name]) <= set(texts)


@pytest.mark.parametrize("name", LABELS)
def test_what_is_simulated_is_watermarked_and_what_is_real_is_not(
    simulated: Results, real: Results, name: str
) -> None:
    marks = {plots.WATERMARK, plots.FOOTNOTE}
    assert marks <= set(words(simulated.folder / "plots" / f"{name}.svg"))
    assert not marks & set(words(real.folder / "plots" / f"{name}.svg"))


def test_plots_are_png_too(simulated: Results) -> None:
    for name in LABELS:
        header = (simulated.folder / "plots" / f"{name}.png").read_bytes()[:24]
        assert header[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", header[16:24]) == (1200, 750)


def test_concurrencies_label_the_pareto_curve(simulated: Results) -> None:
    assert {"c1", "c4"} <= set(words(simulated.folder / "plots" / "pareto.svg"))


@pytest.mark.parametrize("name", ["report.md", "report.html"])
def test_the_report_says_what_is_simulated_and_only_then(
    simulated: Results, real: Results, name: str
) -> None:
    assert "Simulated: engines (scripted)." in (simulated.folder / name).read_text()
    assert plots.FOOTNOTE in (simulated.folder / name).read_text()
    assert "imulated" not in (real.folder / name).read_text()


def test_figures_in_the_report_are_aiperfs_own(real: Results) -> None:
    text = (real.folder / "report.md").read_text()
    for point in real.points:
        export = runs.raw(real, point.name)
        section = text.partition(f"### {point.name}\n")[2].partition("###")[0]
        for label, key in (
            ("Time to first token [ms]", "time_to_first_token"),
            ("Inter-token latency [ms]", "inter_token_latency"),
            ("Request latency [ms]", "request_latency"),
            ("Output speed per user [tokens/s]", "output_token_throughput_per_user"),
        ):
            shown = [report.number(export[key][name]) for name in ("avg", "p50", "p90", "p95", "p99")]
            assert f"| {label} | {' | '.join(shown)} |" in section
    throughput = [runs.raw(real, point.name)["output_token_throughput"]["avg"] for point in real.points]
    assert f"| Output throughput [tokens/s] | {' | '.join(map(report.number, throughput))} |" in text


def test_inputs_versions_hardware_and_price_are_in_the_report(real: Results) -> None:
    text = (real.folder / "report.md").read_text()
    for said in (
        "| Target | trtllm-disagg-b200: prefill and decode |",
        "| Graph | gpt-oss-disagg on 8 × B200 of 1 × p6-b200.48xlarge |",
        "| Price | 113.93 USD an hour (list price) |",
        "| Load | 64 tokens in, 16 out, seed 100 |",
        "| AIPerf | 0.13.0 |",
        "Unknown here: GPU energy per output token.",
    ):
        assert said in text


def test_the_html_needs_no_other_file_and_links_to_those_beside_it(simulated: Results) -> None:
    text = (simulated.folder / "report.html").read_text()
    assert text.count('<svg class="figure"') == len(LABELS)
    assert "src=" not in text
    assert "http" not in re.sub(r"<code>.*?</code>", "", text)
    linked = re.findall(r'<a href="([^"]*)"', text)
    assert {"run.json", "report.md", "raw/c00001-r1/profile_export_aiperf.json"} <= set(linked)
    assert all((simulated.folder / path).is_file() for path in linked)


def test_results_come_before_facts(simulated: Results) -> None:
    text = (simulated.folder / "report.html").read_text()
    order = ("Simulated:", "Most output", "Summary", "Curves", "What was measured")
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def test_tiles_show_the_best_of_each_and_where(real: Results) -> None:
    found = {tile.label: tile for tile in report.tiles(real)}
    throughputs = {p.load.concurrency: p.tokens_per_second for p in real.points}
    best = max(throughputs, key=lambda concurrency: throughputs[concurrency])
    assert found["Most output"].value == report.number(throughputs[best])
    assert found["Most output"].note.startswith(f"at {best} request")
    fastest = min(point.ttft.p50 for point in real.points)
    assert found["Shortest time to first token, p50"].value == report.number(fastest)
    assert (found["Failed requests"].value, found["Failed requests"].warning) == ("0", False)


def test_p50_and_p99_have_markers_of_their_own(real: Results) -> None:
    for name in ("ttft", "itl"):
        axes = plots._figure(next(p for p in plots._plots([("dev", real)]) if p.name == name), (8, 5)).axes[0]
        looks = [(line.get_linestyle(), line.get_marker()) for line in axes.lines]
        assert len(looks) == len(set(looks)) == 2


def test_one_concurrency_is_no_curve(measured: Results, tmp_path: Path) -> None:
    single = runs.without(measured, tmp_path / "run", "c00004-r1")
    report.write(single)
    assert list((single.folder / "plots").iterdir()) == []
    text = (single.folder / "report.html").read_text()
    assert "One concurrency was measured" in text
    assert "<svg" not in text


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_in_a_browser(simulated: Results, browser: Browser, width: int, scheme: str) -> None:
    with look(browser, (simulated.folder / "report.html").as_uri(), width, scheme) as seen:
        assert seen.faults == {}


def test_words_of_a_server_are_no_markup(measured: Results, tmp_path: Path) -> None:
    copy = written(measured, tmp_path / "run", "<script>alert(1)</script>")
    assert "<script>" not in (copy.folder / "report.html").read_text()


def test_a_run_that_ended_early_reports_what_it_has(measured: Results, tmp_path: Path) -> None:
    partial = runs.without(measured, tmp_path / "run", "c00004-r1")
    replace(partial.run, problem="ended by SIGTERM").write(partial.folder)
    report.write(load_results(partial.folder))
    text = (partial.folder / "report.md").read_text()
    assert "> **Ended early:** ended by SIGTERM (not measured: c00004-r1)" in text
    assert "### c00001-r1" in text


def test_a_run_without_any_point_has_a_report_too(tmp_path: Path) -> None:
    runs.described().write(tmp_path)
    report.write(load_results(tmp_path))
    assert not (tmp_path / "plots").exists()
    assert "## Summary" not in (tmp_path / "report.md").read_text()


def test_the_same_run_gives_the_same_files(measured: Results, tmp_path: Path) -> None:
    one, two = (written(measured, tmp_path / name, "") for name in ("one", "two"))
    for path in ("report.md", "report.html", "plots/pareto.svg", "plots/pareto.png"):
        assert (one.folder / path).read_bytes() == (two.folder / path).read_bytes()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (0.01234, "0.0123"), (1.234, "1.23"), (12.34, "12.3"), (123.4, "123"), (36000.4, "36,000")],
)
def test_numbers_are_rounded_for_reading(value: float, shown: str) -> None:
    assert report.number(value) == shown
