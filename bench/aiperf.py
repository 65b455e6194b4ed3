"""The real AIPerf on this machine, in an environment of its own, from PyPI."""

import hashlib
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from embedded.paths import CACHE
from embedded.processes import Report, locked
from graphs.benchmark import AIPERF_VERSION


class AIPerfError(Exception):
    """AIPerf could not be installed here; the message has the last words of what failed."""


def install(report: Report) -> Path:
    """The interpreter that has AIPerf; installs what is missing: 1.2 GB and two minutes the first time.

    On ARM64 one of its dependencies (crick) has no wheel and takes a C compiler. Raises AIPerfError.
    """
    key = f"{AIPERF_VERSION}\0{sys.version}\0{platform.machine()}"
    folder = CACHE / f"aiperf-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    if not folder.exists():
        with locked(folder.with_suffix(".lock"), report, "another installation of AIPerf"):
            if not folder.exists():
                report(f"installing AIPerf {AIPERF_VERSION} (1.2 GB on disk) into {CACHE}")
                partial = folder.with_suffix(".partial")
                shutil.rmtree(partial, ignore_errors=True)
                _run([sys.executable, "-m", "venv", str(partial)])
                pip = [str(partial / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
                _run([*pip, "install", f"aiperf=={AIPERF_VERSION}"])
                partial.rename(folder)
    return folder / "bin" / "python"


def _run(command: Sequence[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise AIPerfError(f"{' '.join(command)} failed:\n{result.stderr.strip()[-800:]}")
