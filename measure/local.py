"""The benchmark Job's own script on this machine, for clusters whose pods run nothing."""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from embedded.paths import PROJECT
from embedded.processes import Report
from manifests.benchmark import job as benchmark
from measure.run import BenchmarkError


def run_script(python: Path, plan: Mapping[str, Any], report: Report) -> None:
    """Run the Job's script on this machine, reporting its lines; it ends with this process, however that ends.

    python: the interpreter that has AIPerf; plan: see benchmark.run_plan. Raises BenchmarkError with the script's
    last words.
    """
    # AIPerf leaves folders in its home and among temporary files. Its sockets are below too: the path has to be short.
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / benchmark.PLAN
        path.write_text(json.dumps(plan))
        _follow([str(python), str(PROJECT / "pods" / benchmark.SCRIPT), str(path)], home, report)


def _follow(script: Sequence[str], home: str, report: Report) -> None:
    process = subprocess.Popen(
        [*script, "--end-with-stdin"],
        env={"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "TMPDIR": home},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # Ctrl-C is for us to pass on
    )
    assert process.stdout is not None
    last = ""
    try:
        for line in process.stdout:
            last = line.strip()
            report(last)
        code = process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if code:
        raise BenchmarkError(f"the benchmark failed: {last}")
