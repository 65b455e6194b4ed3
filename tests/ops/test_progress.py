"""Progress of a verb: at once, and never what breaks off the work."""

import re

import pytest
import typer

from ops import progress


def refuse(*_: object, **__: object) -> None:
    raise BrokenPipeError("the terminal was closed")


def test_each_line_has_the_seconds_since_the_verb_began(capsys: pytest.CaptureFixture[str]) -> None:
    told = progress.Progress()
    before = told.seconds()
    told("created namespace/dynamo\n")
    out, err = capsys.readouterr()
    assert re.fullmatch(r" +\d+\.\d s  created namespace/dynamo\n", out)
    assert not err
    assert told.seconds() >= before >= 0


def test_what_is_said_beside_a_verbs_output_is_not_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    progress.tell("asking AWS")
    assert capsys.readouterr() == ("", "asking AWS\n")


def test_progress_of_a_verb_that_writes_json_is_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    progress.Progress(beside=True)("created")
    out, err = capsys.readouterr()
    assert (out, err.endswith("created\n")) == ("", True)


def test_a_closed_terminal_breaks_nothing_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typer, "echo", refuse)
    progress.Progress()("created")
    progress.tell("asking AWS")
