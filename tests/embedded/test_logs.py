"""Log files as they are read: their last lines, and each further one as it is written."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from embedded.logs import follow, last_lines


def test_the_last_lines_of_each_behind_its_name(tmp_path: Path) -> None:
    (tmp_path / "one.log").write_text("a\nb\nc\n")
    (tmp_path / "two.log").write_text("d\n")
    files = {name: tmp_path / f"{name}.log" for name in ("two", "one", "none")}
    assert list(last_lines(files, 2)) == ["[one] b", "[one] c", "[two] d"]
    assert list(last_lines(files, 0)) == []


def test_what_is_written_meanwhile_follows_line_by_line(tmp_path: Path) -> None:
    log, new = tmp_path / "one.log", tmp_path / "new.log"
    log.write_text("before\n")
    files = {"one": log}

    def append(text: str) -> None:
        with log.open("a") as opened:
            opened.write(text)

    def born() -> None:
        new.write_text("born\n")
        files["new"] = new

    happens: Iterator[Callable[[], object]] = iter(
        [
            lambda: append("half"),
            lambda: append(" a line\nwhole\n"),
            born,
            lambda: log.write_text("anew\n"),
            log.unlink,
            lambda: log.write_text("again\n"),
        ]
    )

    def sleep(_: float) -> None:
        next(happens)()

    lines = follow(lambda: dict(files), 5, sleep)
    assert list(islice(lines, 6)) == [
        "[one] before",
        "[one] half a line",
        "[one] whole",
        "[new] born",
        "[one] anew",
        "[one] again",
    ]
