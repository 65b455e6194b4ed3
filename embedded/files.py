"""Files and folders that nobody ever sees half made."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from embedded.processes import Report, lock


def write_whole(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Write a file in one step. mode: its permissions from the first byte, as far as the umask lets."""
    partial = _partial(path)
    partial.touch(mode=mode, exist_ok=False)
    partial.write_text(text)
    partial.replace(path)


def fill(folder: Path, make: Callable[[Path], object]) -> Path:
    """The folder, or file, that `make` makes under another name beside it."""
    partial = _partial(folder)
    make(partial)
    return partial.replace(folder)


def fill_once(folder: Path, make: Callable[[Path], object], report: Report, what: str) -> Path:
    """The same unless it is there, by one process at a time. what: is waited for meanwhile, for those who wait."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with lock(folder.with_name(f"{folder.name}.lock"), report, what):
            if not folder.exists():
                fill(folder, make)
    return folder


def _partial(path: Path) -> Path:
    """The name until it is whole; what somebody who was killed left there is taken away."""
    partial = path.with_name(f"{path.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    with suppress(FileNotFoundError):
        partial.unlink()
    return partial
