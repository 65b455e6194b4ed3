"""When each row of an `up` said what."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from ops.kept import Kept, last
from ops.watch.record import Record
from ops.watch.view import Mark, Row, View

BEGAN = datetime(2026, 11, 22, 10, tzinfo=UTC)


def seen(seconds: float, **texts: str) -> View:
    rows = tuple(
        Row(subject=subject, mark=Mark.DONE if text == "ready" else Mark.GOING, text=text)
        for subject, text in texts.items()
    )
    return View(at=BEGAN + timedelta(seconds=seconds), rows=rows, reasons=())


def recorded(*views: View) -> Record:
    record = Record(lambda _: None, BEGAN)
    for each in views:
        record(each)
    return record


def spans(record: Record) -> list[tuple[str, str, float, float]]:
    return [(span.subject, span.text, span.start, span.end) for span in record.spans]


def test_a_row_has_a_span_for_each_thing_that_it_said() -> None:
    record = recorded(seen(2, pod="pulls"), seen(4, pod="pulls"), seen(6, pod="loads"), seen(10, pod="ready"))
    assert spans(record) == [
        ("pod", "pulls", 2, 6),
        ("pod", "loads", 6, 10),
        ("pod", "ready", 10, 10),
    ]


def test_rows_are_in_the_order_in_which_they_came() -> None:
    record = recorded(seen(2, b="going"), seen(4, b="going", a="going"), seen(6, b="ready", a="ready"))
    assert [subject for subject, *_ in spans(record)] == ["b", "b", "a", "a"]
    assert [start for _, _, start, _ in spans(record)] == [2, 6, 4, 6]


def test_what_changes_all_the_time_is_left_out() -> None:
    assert spans(recorded(seen(2, resources=""))) == []


def test_every_view_is_shown() -> None:
    shown: list[View] = []
    record = Record(shown.append, BEGAN)
    record(seen(2, pod="pulls"))
    assert shown == [seen(2, pod="pulls")]


def test_it_is_kept_with_what_is_simulated(tmp_path: Path) -> None:
    recorded(seen(2, pod="pulls"), seen(4, pod="ready")).keep("s", "nodes", tmp_path)
    found = last(Kept.UP, "s", tmp_path)
    assert found is not None
    assert (found["seconds"], found["simulated"], len(found["spans"])) == (4, "nodes", 2)


def test_an_up_that_found_everything_there_leaves_the_timeline_before(tmp_path: Path) -> None:
    assert recorded(seen(2, pod="ready")).keep("s", "", tmp_path) is None
    assert last(Kept.UP, "s", tmp_path) is None
