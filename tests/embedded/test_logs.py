"""Log files as they are read: their last lines, and each further one as it is written."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from embedded.logs import follow, last_lines, last_words


def test_last_words_are_the_reason_and_no_stack_trace(tmp_path: Path) -> None:
    log = tmp_path / "etcd.log"
    log.write_text(
        "before\n"
        '{"level":"panic","msg":"failed to create WAL","error":"no space left on device","stacktrace":"a"}\n'
        "panic: failed to create WAL\n\n"
        "goroutine 1 [running]:\n"
        "go.etcd.io/etcd/server/v3/embed.StartEtcd(0x3369cb614808)\n"
        "\tgo.etcd.io/etcd/server/v3@v3.6.4/embed/etcd.go:262 +0x11c8\n"
        "main.main()\n"
        "\tdynamo-gpt-oss/embedded/controlplane/main.go:30 +0xc2\n"
    )
    assert last_words(log, 2) == [
        "failed to create WAL: no space left on device",
        "panic: failed to create WAL",
    ]


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
