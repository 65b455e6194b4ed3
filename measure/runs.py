"""Runs beside each other, as `bench compare` and `bench gate` put them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True)
class Gate:
    """A run beside its baseline. failures: what failed in the run alone."""

    run: Path
    against: Path
    failures: Sequence[str]
    verdicts: Sequence[gate.Verdict]

    @property
    def regressions(self) -> list[str]:
        """A line for each; none if the run is not behind."""
        return [*self.failures, *(str(each) for each in self.verdicts if each.regressed)]

    def lines(self) -> list[str]:
        """For people. Raises Regression if the run is behind."""
        if self.regressions:
            raise Regression("\n".join(self.regressions))
        return [*map(str, self.verdicts), f"{self.run} is not behind {self.against}"]

    def data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "behind": bool(self.regressions),
            "run": str(self.run),
            "against": str(self.against),
            "failures": list(self.failures),
            "metrics": [each.data() for each in self.verdicts],
        }


def gate_runs(folder: Path | None, against: Path, tolerances: Sequence[str]) -> Gate:
    """The run, by default the newest beside its baseline, held against that. Raises RunsError."""
    baseline = load_results(against)
    candidate = load_results(folder) if folder else _after(baseline)
    verdicts = gate.findings(candidate, baseline, {**gate.TOLERANCES, **_tolerances(tolerances)})
    return Gate(candidate.folder, baseline.folder, gate.failures(candidate, baseline), verdicts)


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
