"""CPU time of whole commands, of this machine in this hour: only what is measured in turn can be compared."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Spent:
    """What a finished command took, with its children: seconds of user CPU time, and peak resident memory in MiB."""

    seconds: float
    mebibytes: float


def environment() -> dict[str, str]:
    """This process's, but with bytecode kept: after its first time, no user compiles the SDKs anew."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {"PYTHONPYCACHEPREFIX": str(PROJECT / "out" / "bytecode"), **kept}


def spend(arguments: Sequence[str]) -> Spent:
    """Run this Python with the arguments in the project's folder, its output thrown away. Raises CalledProcessError."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=PROJECT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, [*arguments])
    unit = 1024 if sys.platform == "linux" else 1024 * 1024  # ru_maxrss is in KiB, on macOS in bytes
    return Spent(usage.ru_utime, usage.ru_maxrss / unit)


def in_turn(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, Spent]:
    """The least that each command took: once uncounted, then in rounds, all commands in each; says each round."""
    runs: dict[str, list[Spent]] = {name: [] for name in commands}
    for counted in range(rounds + 1):
        print(f"round {counted} of {rounds}", file=sys.stderr, flush=True)
        for name, arguments in commands.items():
            run = spend(arguments)
            if counted:
                runs[name].append(run)
    return {
        name: Spent(min(run.seconds for run in own), min(run.mebibytes for run in own))
        for name, own in runs.items()
    }
