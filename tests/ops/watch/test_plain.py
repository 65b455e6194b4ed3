"""A view as lines: each once."""

from datetime import timedelta

from ops.watch.plain import PlainView
from ops.watch.reasons import Reason
from ops.watch.view import Mark, Row, View
from tests.ops.watch.seen import AT

ROW = Row(subject="worker w", mark=Mark.GOING, text="loads", since=AT)


def test_a_line_comes_when_something_is_new_and_never_for_a_clock() -> None:
    said: list[str] = []
    plain = PlainView(said.append)
    late = Reason("claim c", "unbound")
    for seconds, detail in enumerate(("1 GB", "2 GB")):
        row = Row(subject="weights", mark=Mark.GOING, text="Running", detail=detail)
        plain(View(at=AT + timedelta(seconds=seconds), rows=(row, ROW), reasons=(late,)))
    plain(View(at=AT, rows=(Row(subject="worker w", mark=Mark.DONE, text="ready"),), reasons=()))
    plain(View(at=AT, rows=(), reasons=(late, Reason("worker w", "no GPU", final=True))))
    assert said == [
        "weights: Running",
        "worker w: loads",
        "waits: claim c: unbound",
        "worker w: ready",
        "cannot go on: worker w: no GPU",
    ]


def test_how_far_the_weights_are_is_told_in_steps() -> None:
    said: list[str] = []
    plain = PlainView(said.append)
    for amount in ("1.0", "3.0", "7.0", "7.5", "65.0"):
        detail = f"{amount} of 65.2 GB, 31 MB/s"
        plain(
            View(
                at=AT,
                rows=(Row(subject="weights", mark=Mark.GOING, text="Running", detail=detail),),
                reasons=(),
            )
        )
    assert said == [
        "weights: Running",
        "weights: 7.0 of 65.2 GB, 31 MB/s",
        "weights: 65.0 of 65.2 GB, 31 MB/s",
    ]


def test_what_was_spent_is_told_at_the_beginning_and_at_the_end() -> None:
    said: list[str] = []
    plain = PlainView(said.append)
    plain.end()
    for usd in (0, 1, 2):
        spent = Row(subject="spent", mark=Mark.PLAIN, text="", detail=f"{usd} USD")
        plain(
            View(at=AT, rows=(spent, Row(subject="made", mark=Mark.GOING, text="", detail="x")), reasons=())
        )
    plain.end()
    plain.end()
    assert said == ["spent: 0 USD", "spent: 2 USD"]
