"""Time and memory of whole commands, each beside the floor that it cannot go below on the same machine.

Absolute seconds differ between machines and hours; the ratio of two commands run in turn does not. Every command runs
once uncounted, then in rounds, all commands in each round; medians are shown.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
ROUNDS = 5
FLOOR = "import the SDKs"
COMMANDS: dict[str, tuple[str, ...]] = {
    FLOOR: ("-c", "import pulumi, pulumi_kubernetes.core.v1, pydantic"),
    "synth dev": ("-m", "ops", "synth", "--stack", "dev", "--format", "json"),
    "synth disagg-b200": ("-m", "ops", "synth", "--stack", "disagg-b200", "--format", "json"),
    "synth prod": ("-m", "ops", "synth", "--stack", "prod", "--format", "json"),
    "refuse an unknown stack": ("-m", "ops", "synth", "--stack", "nowhere"),
}
"""What is measured; each ratio is to the first."""


@dataclass(frozen=True)
class Measurement:
    """One finished command: wall-clock seconds, and peak resident memory in MiB."""

    seconds: float
    mebibytes: float


def measure(arguments: Sequence[str]) -> Measurement:
    """Run this Python with the arguments, from the project's folder, its output thrown away."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=PROJECT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    unit = 1024 if sys.platform == "linux" else 1024 * 1024  # ru_maxrss is in KiB, on macOS in bytes
    return Measurement(time.monotonic() - began, usage.ru_maxrss / unit)


def main() -> None:
    """Measure every command and print medians and ratios."""
    runs: dict[str, list[Measurement]] = {name: [] for name in COMMANDS}
    for counted in range(ROUNDS + 1):
        for name, arguments in COMMANDS.items():
            print(f"\rround {counted} of {ROUNDS}: {name:<30}", end="", file=sys.stderr, flush=True)
            run = measure(arguments)
            if counted:
                runs[name].append(run)
    print(file=sys.stderr)
    floor = runs[FLOOR]
    print(f"{'command':<26}{'seconds':>9}{'ratio':>8}{'MiB':>8}{'ratio':>8}")
    for name, own in runs.items():
        seconds = statistics.median(run.seconds for run in own)
        memory = statistics.median(run.mebibytes for run in own)
        slower = statistics.median(a.seconds / b.seconds for a, b in zip(own, floor, strict=True))
        larger = statistics.median(a.mebibytes / b.mebibytes for a, b in zip(own, floor, strict=True))
        print(f"{name:<26}{seconds:>9.2f}{slower:>7.1f}×{memory:>8.0f}{larger:>7.1f}×")


if __name__ == "__main__":
    main()
