"""A process that measures a stack with the real driver, guard and lease; only the site is made up.

    python -m tests.ops.bench_driver FOLDER WAY

FOLDER/deployed stands for what costs money, with a process of its own. WAY: success, failure, timeout, or hang until
somebody ends it.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from manifests.benchmark.job import LoadPoint
from measure import driver as measure
from measure import lease
from measure.guard import Ended
from targets.errors import UserError
from tests.measure.measured import POINTS, described

SECONDS = {"timeout": 5.0}


class Pretended:
    """A stack that is one file and one process."""

    stack = "pretended"
    embedded = True

    def __init__(self, folder: Path, way: str) -> None:
        self._folder, self._way = folder, way

    def is_up(self) -> bool:
        return (self._folder / "deployed").exists()

    def up(self) -> None:
        quiet = subprocess.DEVNULL
        running = subprocess.Popen(["sleep", "600"], stdout=quiet, stderr=quiet, start_new_session=True)
        (self._folder / "deployed").write_text(str(running.pid))

    def verify(self) -> None:
        """It answers."""

    def rollout(self) -> None:
        """Nothing is known."""

    def measure(self, points: Sequence[LoadPoint], folder: Path) -> None:
        (self._folder / "measuring").touch()
        if self._way == "failure":
            raise UserError("AIPerf ended with code 1")
        if self._way == "engine":
            while not (self._folder / "interrupted").exists():
                time.sleep(0.01)
            (self._folder / "finished").touch()
            raise UserError("update canceled")
        while self._way != "success":
            time.sleep(60)

    def clean(self) -> None:
        (self._folder / "cleaned").touch()

    def interrupt(self, number: int) -> bool:
        """As Pulumi's engine: told to end, it ends what it has begun first."""
        if self._way != "engine":
            return False
        (self._folder / "interrupted").touch()
        return True

    def down(self) -> None:
        (self._folder / "going down").touch()
        if self._way == "impatient":
            while not (self._folder / "signalled").exists():
                time.sleep(0.01)
        pid = int((self._folder / "deployed").read_text())
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        (self._folder / "deployed").unlink()


def main() -> None:
    folder, way = Path(sys.argv[1]), sys.argv[2]
    lease.LEASES = folder / "leases"
    try:
        measure.drive(
            Pretended(folder, way),
            described(),
            POINTS,
            folder / "run",
            teardown=way != "kept",
            seconds=SECONDS.get(way, 600.0),
            report=lambda text: print(text, flush=True),
        )
    except UserError as error:
        sys.exit(f"error: {error}")
    except Ended as ended:
        print(f"error: {ended}", file=sys.stderr)
        sys.exit(ended.code)


if __name__ == "__main__":
    main()
