"""Where an `up` is shown."""

import sys

import pytest

from ops.watch.plain import PlainView
from ops.watch.screen import screen
from ops.watch.terminal import TerminalView


def test_lines_where_nobody_looks_at_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with screen("dev") as shown:
        assert isinstance(shown.show, PlainView)
        shown.report("create x")
    out = capsys.readouterr().out
    assert out.endswith("create x\n")
    assert "\x1b" not in out


def test_a_verb_that_writes_json_is_shown_beside_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with screen("dev", beside=True) as shown:
        shown.report("create x")
    out, err = capsys.readouterr()
    assert (out, err.endswith("create x\n")) == ("", True)


def test_rows_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with screen("dev") as shown:
        assert isinstance(shown.show, TerminalView)
