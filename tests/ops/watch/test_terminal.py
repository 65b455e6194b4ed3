"""A view on a terminal."""

import io
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from rich.console import Console

from ops.watch.reasons import Reason
from ops.watch.terminal import TerminalView, span
from ops.watch.view import Mark, Row, View

HINT = "Ctrl-C ends it."
POD = "gpt-oss-disagg-trtllmworkers-ba066914-5f7794779-pqkbz"


def drawn(*rows: Row, reasons: tuple[Reason, ...] = ()) -> str:
    console = Console(file=io.StringIO(), width=100, height=40, force_terminal=False)
    terminal = TerminalView("dev: system", HINT, console)
    terminal(View(at=datetime.now(UTC), rows=rows, reasons=reasons))
    with console.capture() as capture:
        console.print(terminal.render())
    return capture.get()


def test_a_long_name_keeps_the_end_that_tells_pods_apart_and_breaks_no_column() -> None:
    text = drawn(
        Row(subject=f"worker {POD}", mark=Mark.GOING, text="loads on b200-0"),
        Row(subject="weights", mark=Mark.DONE, text="Complete"),
    )
    lines = text.splitlines()
    assert "worker …s-ba066914-5f7794779-pqkbz" in text
    assert max(map(len, lines)) <= 100
    assert {line.index(word) for line in lines for word in ("loads on", "Complete") if word in line} == {37}


def test_clocks_go_on_for_what_goes_on_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(UTC)
    monkeypatch.setattr("ops.watch.terminal.datetime", SimpleNamespace(now=lambda _: now))
    since = now - timedelta(seconds=90)
    text = drawn(
        Row(subject="worker w", mark=Mark.GOING, text="loads", since=since),
        Row(subject="graph g", mark=Mark.DONE, text="ready", since=since),
    )
    assert "1 min 30 s" in text
    assert text.count("min") == 1


def test_why_it_waits_and_what_ctrl_c_does_stand_below() -> None:
    text = drawn(reasons=(Reason("claim c", "StorageClass x is not there", final=True),))
    assert "! claim c: StorageClass x is not there" in text
    assert text.rstrip().endswith(HINT)


def test_lines_of_what_was_done_keep_their_brackets() -> None:
    file = io.StringIO()
    TerminalView("dev", HINT, Console(file=file, width=60)).report("change [secret] x")
    assert "change [secret] x" in file.getvalue()


@pytest.mark.parametrize(
    ("seconds", "says"), [(-1, "0 s"), (59, "59 s"), (61, "1 min 01 s"), (3660, "1 h 01 min")]
)
def test_a_span(seconds: float, says: str) -> None:
    assert span(seconds) == says


def test_the_terminal_is_given_back_with_the_last_view_on_it() -> None:
    file = io.StringIO()
    terminal = TerminalView("dev", HINT, Console(file=file, width=100, force_terminal=True))
    with terminal.running():
        terminal(
            View(at=datetime.now(UTC), rows=(Row(subject="weights", mark=Mark.DONE, text="x"),), reasons=())
        )
        assert "\x1b[?25l" in file.getvalue(), "the cursor is hidden meanwhile"
    assert file.getvalue().endswith("\x1b[?25h")
    assert "Ctrl-C" not in file.getvalue().rpartition("dev")[2]
