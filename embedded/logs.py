"""What local processes have written to their log files, each line behind the name of its process."""

import json
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

_SECONDS_BETWEEN_LOOKS = 0.3

_GO_TRACE = re.compile(r"^(?:\S.*\n\t\S+:\d+.*|goroutine \d+ .*|)(?:\n|\Z)", re.MULTILINE)
"""Its lines: a function and its place, the name of a thread, and nothing."""

Files = Mapping[str, Path]
"""Log files by name of the process."""


def last_lines(files: Files, count: int) -> Iterator[str]:
    """The last lines of each file, at most `count`; of one that is not there, none."""
    for name, path in sorted(files.items()):
        if path.exists():
            with path.open(errors="replace") as log:
                yield from (f"[{name}] {line.rstrip()}" for line in deque(log, maxlen=count))


def last_words(path: Path, count: int) -> list[str]:
    """At most `count` last lines for somebody who asks why a process ended: no stack traces of Go, and no JSON."""
    said = _GO_TRACE.sub("", path.read_text(errors="replace")).splitlines()
    return [_plain(line) for line in said[-count:]]


def _plain(line: str) -> str:
    """etcd's message and its error; of any other line all."""
    with suppress(ValueError, TypeError, KeyError):
        entry = json.loads(line)
        return f"{entry['msg']}: {entry['error']}"
    return line


def follow(
    files: Callable[[], Files], count: int, sleep: Callable[[float], None] = time.sleep
) -> Iterator[str]:
    """The same, and then every line as it is written; it never ends. files: asked again and again.

    A file that is shorter than it was is another one, and read from its beginning.
    """
    known = files()
    read = {name: path.stat().st_size for name, path in known.items() if path.exists()}
    yield from last_lines(known, count)
    while True:
        sleep(_SECONDS_BETWEEN_LOOKS)
        for name, path in sorted(files().items()):
            text, read[name] = _written(path, read.get(name, 0))
            yield from (f"[{name}] {line}" for line in text.splitlines())


def _written(path: Path, position: int) -> tuple[str, int]:
    """Whole lines behind a position of the file, and where they end."""
    try:
        size = path.stat().st_size
        with path.open("rb") as log:
            log.seek(position if size >= position else 0)
            new = log.read()
            begin = log.tell() - len(new)
    except FileNotFoundError:
        return "", 0
    whole = new[: new.rfind(b"\n") + 1]
    return whole.decode(errors="replace"), begin + len(whole)
