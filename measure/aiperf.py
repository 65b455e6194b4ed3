"""The real AIPerf on this machine, in an environment of its own, from PyPI."""

import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from embedded.files import fill_once
from embedded.packages import digest, locked, read_lock
from embedded.paths import CACHE
from embedded.processes import Report, watch
from facts.versions import AIPERF_VERSION
from targets.errors import UserError

LOCK = "aiperf"
PACKAGE = f"aiperf=={AIPERF_VERSION}"
SECONDS_BETWEEN_LINES = 15.0


class AIPerfError(UserError):
    """AIPerf could not be installed here; the message has the last words of what failed."""


def install(report: Report) -> Path:
    """The interpreter that has AIPerf; installs what is missing: 1.2 GB and two minutes the first time.

    One of its dependencies (crick) has no wheel for Linux on ARM64, macOS on Intel and Python 3.14: there pip compiles
    it, with build tools that the lock does not hold. Raises AIPerfError.
    """
    name = f"aiperf-{digest(read_lock(LOCK), sys.version, platform.machine())}"

    def fill(folder: Path) -> None:
        report(f"installing AIPerf {AIPERF_VERSION} once (1.2 GB on disk, minutes) into {CACHE / name}")
        run([sys.executable, "-m", "venv", str(folder)], folder, report)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        run([*pip, "install", *locked(LOCK)], folder, report)
        report(f"AIPerf {AIPERF_VERSION} is installed ({_megabytes(folder)} MB)")

    folder = fill_once(CACHE / name, fill, report, "another installation of AIPerf")
    return folder / "bin" / "python"


def run(
    command: Sequence[str],
    folder: Path,
    report: Report,
    *,
    seconds_between_lines: float = SECONDS_BETWEEN_LINES,
) -> None:
    """Run a command that fills a folder, and say again and again how full it is. Raises AIPerfError."""
    with tempfile.TemporaryFile("w+") as errors:
        code, _ = watch(
            command,
            errors,
            lambda: f"still installing AIPerf: {_megabytes(folder)} MB so far",
            report,
            seconds=seconds_between_lines,
        )
        if code:
            errors.seek(0)
            raise AIPerfError(f"{' '.join(command)} failed:\n{errors.read().strip()[-800:]}")


def _megabytes(folder: Path) -> int:
    """Of all files in the folder, as far as they do not go while they are counted."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += (Path(root) / name).lstat().st_size
    return total // 10**6
