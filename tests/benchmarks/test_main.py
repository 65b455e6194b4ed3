"""The command: which kinds it takes, and the history."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.figures import Figure


def test_a_run_adds_to_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    history = tmp_path / "out" / "history.jsonl"
    monkeypatch.setattr(command, "PROJECT", tmp_path)
    monkeypatch.setattr(command, "HISTORY", history)
    kinds = {kind: lambda rounds, kind=kind: iter([Figure(name=kind, value=rounds)]) for kind in ("a", "b")}
    monkeypatch.setattr(command, "KINDS", kinds)
    for arguments in (["a", "--rounds", "2"], []):
        monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
        command.main()
    kept = [json.loads(line) for line in history.read_text().splitlines()]
    assert [(each["name"], each["value"]) for each in kept] == [("a", 2), ("a", 3), ("b", 3)]
    assert {"date", "commit", "changed", "rounds", "cores", "load"} <= kept[0].keys()
    assert "kept in out/history.jsonl" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["synht"], "KIND: synht; choose of synth, scaling, diff, cluster, dataplane, make"),
        (["--rounds", "0"], "--rounds: 0: at least 1"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
    with pytest.raises(SystemExit):
        command.main()
    assert message in capsys.readouterr().err
