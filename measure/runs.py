"""Runs beside each other, as `bench compare` and `bench gate` put them."""

from collections.abc import Sequence
from pathlib import Path

from measure import compare, gate, plots
from measure.results import METRIC, Results
from measure.results import load as load_results
from measure.run import RUN_FILE, Regression, RunsError


def compare_runs(folders: Sequence[Path], out: Path | None) -> str:
    """The runs as a Markdown table; also written to `out`, with plots of all of them. Raises RunsError."""
    if len(folders) < 2:
        raise RunsError("compare takes two runs or more")
    runs = [load_results(folder) for folder in folders]
    table = compare.table(runs)
    if out:
        named = list(zip(compare.labels(runs), runs, strict=True))
        drawn = plots.write(named, out / "plots")
        images = "".join(f"\n![{name}](plots/{name}.png)\n" for name in drawn)
        (out / "compare.md").write_text(f"# Benchmark runs compared\n\n{table}{images}")
    return table


def gate_runs(folder: Path | None, against: Path, tolerances: Sequence[str]) -> list[str]:
    """A line for each metric. Raises Regression if any is worse beyond tolerance and noise, RunsError."""
    baseline = load_results(against)
    candidate = load_results(folder) if folder else _after(baseline)
    findings = gate.findings(candidate, baseline, {**gate.TOLERANCES, **_tolerances(tolerances)})
    failed = gate.failures(candidate, baseline)
    regressed = [str(finding) for finding in findings if finding.regressed]
    if failed or regressed:
        raise Regression("\n".join([*failed, *regressed]))
    return [*map(str, findings), f"{candidate.folder} is not behind {baseline.folder}"]


def _after(baseline: Results) -> Results:
    """The newest other run of the baseline's stack in its folder. Raises RunsError."""
    others = [
        candidate
        for path in baseline.folder.resolve().parent.glob(f"*/{RUN_FILE}")
        if path.parent != baseline.folder.resolve()
        and (candidate := load_results(path.parent)).run.stack == baseline.run.stack
    ]
    if not others:
        raise RunsError(
            f"beside {baseline.folder} there is no other run of {baseline.run.stack}; say which one"
        )
    return max(others, key=lambda results: (results.run.started, results.folder))


def _tolerances(asked: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in asked:
        name, _, percent = text.partition("=")
        if name not in METRIC or not percent.replace(".", "", 1).isdigit():
            raise RunsError(f"--tolerance: {text!r}: METRIC=PERCENT with one of {', '.join(METRIC)}")
        found[name] = float(percent)
    return found
